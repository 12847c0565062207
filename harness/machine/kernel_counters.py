"""Linux's counters of its scheduler, for the machine and for an agent's processes (proc(5), psi.rst, sched-stats.rst): the
processor clock of a process, the time of each thread *ready but waiting*, the pressure on the machine, and throttling where it
is counted at all.

A thread's counters disappear when it ends, so its last values are stored and sums never fall; threads are listed anew only if
the last process id in `/proc/loadavg` has changed. A child that is found later counts with its processor time from then on and
with all its waiting: others' work may be overestimated, the agent's waiting not underestimated.
"""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import psutil

from harness.machine.control_group import pressure_ms
from harness.machine.cpu_times import PROC, allowed_cpus
from harness.machine.kernel_file import KernelFile, opened

CPUS: Final = Path("/sys/devices/system/cpu")
_NS_PER_MS: Final = 1e6
_MOST_OPEN: Final = 300
"""Files of threads that stay open: many systems allow a process 1,024 in all. Those of further threads are opened each time."""
_CHILDREN_LISTED: Final = Path("/proc/thread-self/children").exists()


def stalled_ms() -> float | None:
    """The time that some thread waited for a processor, since boot; None if the kernel does not count it."""
    return pressure_ms(PROC / "pressure" / "cpu")


def throttled() -> int | None:
    """The number of times that cores were throttled for heat, since boot; None if not counted."""
    counts = _numbers(_every_core("thermal_throttle/core_throttle_count"))
    return int(sum(counts)) if counts else None


def slowest_mhz() -> float | None:
    """The lowest frequency of any core; None if unknown."""
    khz = _numbers(_every_core("cpufreq/scaling_cur_freq"))
    return min(khz) / 1000 if khz else None


def process_ran_ms(pid: int) -> float | None:
    """The processor time of a process, by its own clock; None if it has ended."""
    with suppress(OSError):
        return time.clock_gettime_ns(~pid << 3 | 2) / _NS_PER_MS
    return None


@dataclass(frozen=True, slots=True)
class Waits:
    """The waiting of some threads for a processor, in ms."""

    all_ms: float
    """Summed, so far."""
    longest_ms: float
    """The most that any one of them has waited since the last reading."""


@dataclass(slots=True)
class _Ran:
    """The processor time of one process: when it was found, and at the last reading."""

    before_ms: float
    now_ms: float


class ProcessCounters:
    """The processor time and the waiting time of some processes. `roots` include all their children, `alone` do not."""

    def __init__(self, roots: Sequence[int] = (), alone: Sequence[int] = ()) -> None:
        self._roots = roots
        self._alone = alone
        self._living: dict[int, None] = {}
        self._ran: dict[int, _Ran] = {}
        self._waited_ns: dict[tuple[int, int], int] = {}
        self._files: dict[tuple[int, int], KernelFile | None] = {}
        self._newest = b""
        self._newest_of_children = b""
        self._last_process = opened(PROC / "loadavg")
        self._cpus: frozenset[int] = frozenset()
        self._add((*self._alone, *self._roots), all_of_it=True)
        self._search_everywhere()

    @property
    def cpus(self) -> frozenset[int]:
        """The processors that any of them could use when it was found; empty if unknown."""
        return self._cpus

    @property
    def pids(self) -> frozenset[int]:
        """Every process that was found, those that have ended included."""
        return frozenset(self._ran)

    def find_children(self) -> None:
        """Search for new children, if any process was born since the last search."""
        newest = self._born_last()
        if newest and newest == self._newest_of_children:
            return
        self._newest_of_children = newest
        if not _CHILDREN_LISTED:
            self._search_everywhere()
            return
        queue = [pid for pid in self._living if pid not in self._alone]
        for pid in queue:
            born = [child for child in _children_of(pid) if child not in self._ran]
            self._add(born, all_of_it=True)
            queue += born

    def ran_ms(self) -> float:
        """The time on a processor so far."""
        for pid in tuple(self._living):
            ran_ms = process_ran_ms(pid)
            if ran_ms is None:
                del self._living[pid]
            else:
                self._ran[pid].now_ms = ran_ms
        return sum(ran.now_ms - ran.before_ms for ran in self._ran.values())

    def waits(self) -> Waits | None:
        """The waiting for a processor so far; None if the kernel does not count it."""
        newest = self._born_last()
        if newest != self._newest or not newest:
            self._newest = newest
            self._list_threads()
        longest_ns = 0
        for thread, file in tuple(self._files.items()):
            try:
                waited_ns = int((file or KernelFile(_schedstat(thread))).read().split()[1])
            except (OSError, ValueError, IndexError):
                del self._files[thread]
                continue
            longest_ns = max(longest_ns, waited_ns - self._waited_ns.get(thread, 0))
            self._waited_ns[thread] = waited_ns
        if not self._waited_ns:
            return None
        return Waits(sum(self._waited_ns.values()) / _NS_PER_MS, longest_ns / _NS_PER_MS)

    def close(self) -> None:
        """Close all files."""
        for file in (*self._files.values(), self._last_process):
            if file is not None:
                file.close()
        self._files.clear()

    def _born_last(self) -> bytes:
        """The last process or thread id that the kernel gave; empty where it does not say."""
        with suppress(OSError):
            return self._last_process.read().rpartition(b" ")[2] if self._last_process is not None else b""
        return b""

    def _list_threads(self) -> None:
        for pid in self._living:
            with suppress(OSError):
                for name in os.listdir(f"{PROC}/{pid}/task"):
                    thread = pid, int(name)
                    if thread not in self._files:
                        self._files[thread] = opened(_schedstat(thread)) if len(self._files) < _MOST_OPEN else None

    def _search_everywhere(self) -> None:
        """Search the whole table of processes, which takes 2 ms and more."""
        for root in self._roots:
            with suppress(psutil.Error):
                found = [child.pid for child in psutil.Process(root).children(recursive=True)]
                self._add((pid for pid in found if pid not in self._ran), all_of_it=False)

    def _add(self, pids: Iterable[int], *, all_of_it: bool) -> None:
        """Add processes; `all_of_it`: with what they have used so far."""
        for pid in pids:
            ran_ms = process_ran_ms(pid)
            if ran_ms is not None:
                self._living[pid] = None
                self._ran[pid] = _Ran(0.0 if all_of_it else ran_ms, ran_ms)
                self._cpus |= allowed_cpus(pid)
        self._newest = b""


def _schedstat(thread: tuple[int, int]) -> str:
    return f"{PROC}/{thread[0]}/task/{thread[1]}/schedstat"


def _children_of(pid: int) -> list[int]:
    """The current children of a process's threads; empty if this kernel does not list them."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"{PROC}/{pid}/task"):
            with suppress(OSError, ValueError), open(f"{PROC}/{pid}/task/{thread}/children", "rb", 0) as file:
                found += map(int, file.read().split())
    return found


@cache
def _every_core(name: str) -> tuple[Path, ...]:
    return tuple(CPUS.glob(f"cpu[0-9]*/{name}"))


def _numbers(paths: Iterable[Path]) -> list[float]:
    found = []
    for path in paths:
        with suppress(OSError, ValueError):
            found.append(float(path.read_text("ascii")))
    return found
