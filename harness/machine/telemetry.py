"""Samples of the machine while agents were timed, on the clock of the turns: processor and memory at 10 Hz, GPUs at 50 Hz.

A slow turn on a GPU machine is often caused by a clock that dropped, full memory, or another program. Samples have the
monotonic time of the recordings, so each turn can be compared with them. Missing parts have no columns: without an NVIDIA GPU
(or without `nvidia-ml-py`, extra `gpu`) the GPU columns do not exist, rather than being zero.

Sampling runs in threads of the run's own process, never in the caller's; a sample of processor and memory takes under a
millisecond, and those of the GPUs (`harness.machine.gpu_sampler`) wait for nobody else's.
"""

import json
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

import psutil

from harness.clock import now_ns
from harness.machine.gpu import Sample, cards
from harness.machine.gpu_sampler import GpuSampler
from harness.machine.processes import memory_bytes, summed

PERIOD_S: Final = 0.1
TREE_PERIOD_S: Final = 2.0
"""Interval of the search for children, which reads the whole process table; at every sample it took a tenth of a core."""
_MIB: Final = 1024 * 1024


class Telemetry:
    """A sampler during a `with` block; each sample is one JSON line of `at_ns` and columns.

    Columns of this machine: `cpu_percent` (of all cores), `memory_mib` (used on the machine), for every watched process tree
    `NAME.cpu_percent` (of one core) and `NAME.memory_mib`. Lines of the GPUs have columns of their own (docs/gpu.md).
    """

    def __init__(
        self,
        path: Path,
        processes: Mapping[str, int] | None = None,
        also: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        """Watch these processes with their children. `also`: those whose work on a GPU counts under the same name."""
        self._path = path
        self._roots = dict(processes or {})
        self._also = also
        self._known: dict[int, psutil.Process] = {}
        self._trees: dict[int, tuple[float, list[psutil.Process]]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._gpus = GpuSampler(path, cards(), self._owners)

    def __enter__(self) -> Self:
        psutil.cpu_percent()
        self._thread.start()
        self._gpus.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._gpus.stop()
        self._thread.join()

    def watch(self, processes: Mapping[str, int]) -> None:
        """Watch these processes too from now on."""
        self._roots = {**self._roots, **processes}

    def _run(self) -> None:
        due = time.monotonic()
        # A disk too full for samples is too full for sessions too, and the next session reports it.
        with suppress(OSError), self._path.open("a", encoding="utf-8") as out:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                out.write(json.dumps(self._sample()) + "\n")
                due = max(due + PERIOD_S, time.monotonic())
                out.flush()

    def _sample(self) -> Sample:
        sample: Sample = {
            "at_ns": now_ns(),
            "cpu_percent": psutil.cpu_percent(),
            "memory_mib": psutil.virtual_memory().used / _MIB,
        }
        for name, pid in self._roots.items():
            tree = [process for process in self._tree(pid) if process.is_running()]
            if tree:
                sample[f"{name}.cpu_percent"] = summed(tree, lambda process: process.cpu_percent())
                sample[f"{name}.memory_mib"] = summed(tree, memory_bytes) / _MIB
        for _, pid in self._companions():
            self._tree(pid)
        return sample

    def _tree(self, pid: int) -> list[psutil.Process]:
        """A process and its children, the same objects as last time, because CPU use is counted between two samples; empty
        once it has ended."""
        looked_s, tree = self._trees.get(pid, (-math.inf, []))
        if time.monotonic() - looked_s < TREE_PERIOD_S:
            return tree
        found: list[psutil.Process] = []
        with suppress(psutil.Error):
            root = self._known.get(pid) or psutil.Process(pid)
            found = [self._known.setdefault(p.pid, p) for p in (root, *root.children(recursive=True))]
        self._trees[pid] = (time.monotonic(), found)
        return found

    def _companions(self) -> Iterator[tuple[str, int]]:
        return ((name, pid) for name, pids in self._also.items() for pid in pids)

    def _owners(self) -> dict[int, str]:
        """Process → the watched name that it belongs to, as of the last search for children."""
        roots = (*self._companions(), *self._roots.items())
        return {process.pid: name for name, pid in roots for process in self._trees.get(pid, (0.0, []))[1]}
