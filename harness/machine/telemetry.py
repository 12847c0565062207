"""Samples of the machine while agents were timed: processor, memory and GPU at 10 Hz, on the clock of the turns.

A slow turn on a GPU machine is often caused by a clock that dropped, full memory, or another program. Samples have the
monotonic time of the recordings, so each turn can be compared with them. Missing parts have no columns: without an NVIDIA
GPU (or without `nvidia-ml-py`, extra `gpu`) the GPU columns do not exist, rather than being zero.

Sampling runs in a thread of the run's own process, never in the caller's; a sample takes under a millisecond.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

from harness.clock import now_ns
from harness.machine.processes import memory_bytes, summed

PERIOD_S: Final = 0.1
TREE_PERIOD_S: Final = 2.0
"""Interval of the search for children, which reads the whole process table; at every sample it took a tenth of a core."""
_MIB: Final = 1024 * 1024

Sample = dict[str, float]
"""`at_ns` and the columns of this machine: `cpu_percent` (of all cores), `memory_mib` (used on the machine), for every
watched process tree `NAME.cpu_percent` (of one core) and `NAME.memory_mib`, and for every GPU `gpu0.utilisation_percent`,
`gpu0.memory_mib`, `gpu0.sm_clock_mhz`, `gpu0.memory_clock_mhz`, `gpu0.power_w`."""


class Telemetry:
    """A sampler during a `with` block; each sample is one JSON line."""

    def __init__(self, path: Path, processes: Mapping[str, int] | None = None) -> None:
        self._path = path
        self._roots = dict(processes or {})
        self._known: dict[int, psutil.Process] = {}
        self._trees: dict[int, tuple[float, list[psutil.Process]]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._gpus = _gpus()

    def __enter__(self) -> Self:
        psutil.cpu_percent()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

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
            tree = self._tree(pid)
            if tree:
                sample[f"{name}.cpu_percent"] = summed(tree, lambda process: process.cpu_percent())
                sample[f"{name}.memory_mib"] = summed(tree, memory_bytes) / _MIB
        for gpu in self._gpus:
            sample |= gpu.sample()
        return sample

    def _tree(self, pid: int) -> list[psutil.Process]:
        """A process and its children, the same objects as last time, because CPU use is counted between two samples."""
        looked_s, tree = self._trees.get(pid, (-math.inf, []))
        if time.monotonic() - looked_s < TREE_PERIOD_S:
            return tree
        with suppress(psutil.Error):
            root = self._known.get(pid) or psutil.Process(pid)
            found = [self._known.setdefault(p.pid, p) for p in (root, *root.children(recursive=True))]
            self._trees[pid] = (time.monotonic(), found)
            return found
        return []


class _Gpu:
    """One GPU, read by NVML; a column that the driver does not give is left out."""

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._name = f"gpu{index}"
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)

    def sample(self) -> Sample:
        nvml, handle = self._nvml, self._handle
        columns: dict[str, Callable[[], float]] = {
            "utilisation_percent": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
            "memory_mib": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used / _MIB,
            "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        }
        found: Sample = {}
        for column, read in columns.items():
            with suppress(nvml.NVMLError):
                found[f"{self._name}.{column}"] = float(read())
        return found


def _gpus() -> list[_Gpu]:
    try:
        import pynvml
    except ModuleNotFoundError:
        return []
    try:
        pynvml.nvmlInit()
        return [_Gpu(pynvml, k) for k in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return []
