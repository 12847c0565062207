"""Linux's counters of its scheduler, for the machine and for the processes of an agent.

In addition to `cpu_times` and `control_group`, read from `/proc` (proc(5); Documentation/accounting/psi.rst and
Documentation/scheduler/sched-stats.rst of the kernel):

* `/proc/PID/task/*/schedstat`: of each thread, time on a processor and time *ready but waiting* for one. In nanoseconds.
* `/proc/pressure/cpu`: the time that some thread of the machine waited.
* `thermal_throttle/core_throttle_count` and `cpufreq/scaling_cur_freq` below `/sys/devices/system/cpu/cpu*`, where a machine
  has them; most virtual ones do not.

A thread's counters disappear when it ends, so the last values of every thread are stored and the sums never fall.
Children are read at every sample if the kernel lists them (`task/*/children`). A child that is found later counts with its
processor time from then on, and with all its waiting: other programs' work may be overestimated, the agent's waiting never
underestimated.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import psutil

from harness.machine.control_group import pressure_ms
from harness.machine.cpu_times import PROC, allowed_cpus

CPUS: Final = Path("/sys/devices/system/cpu")
_NS_PER_MS: Final = 1e6
_Counts = tuple[float, float]
"""The times of one thread, in ms: on a processor, and waiting for one."""


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


class ProcessCounters:
    """The processor time and the waiting time of some processes, updated by `look`. `roots` include all their children,
    `alone` do not."""

    def __init__(self, roots: Sequence[int] = (), alone: Sequence[int] = ()) -> None:
        self._roots = roots
        self._alone = alone
        self._threads: dict[tuple[int, int], _Counts] = {}
        self._processes: dict[int, float] = {}
        self._ran_unseen_ms = 0.0
        """The processor time that processes had used before they were found."""
        self._pids: dict[int, None] = {}
        self._cpus: frozenset[int] = frozenset()
        self.find_children()

    @property
    def cpus(self) -> frozenset[int]:
        """The processors that any of them could use when it was found; empty if unknown."""
        return self._cpus

    def find_children(self) -> None:
        """Search for children that `look` did not find. It reads the whole process table, so it is not done at every sample."""
        found = dict.fromkeys((*self._alone, *self._roots))
        for root in self._roots:
            with suppress(psutil.Error):
                found |= dict.fromkeys(child.pid for child in psutil.Process(root).children(recursive=True))
        late = [pid for pid in found if pid not in self._pids] if self._pids else []
        self._ran_unseen_ms += sum(ran for pid in late for _, (ran, _) in _threads_of(pid))
        self._pids |= found
        self._cpus = self._cpus.union(*(allowed_cpus(pid) for pid in self._pids))

    def look(self) -> tuple[float, float | None]:
        """(time on a processor, time waiting for one) in ms of all threads so far; None if waiting is not counted."""
        queue = list(self._pids)
        for pid in queue:
            if not self._look_at(pid):
                del self._pids[pid]
                continue
            born = [child for child in _children_of(pid) if child not in self._pids] if pid not in self._alone else []
            self._pids |= dict.fromkeys(born)
            queue += born
        if not self._threads:
            return sum(self._processes.values()), None
        ran, waited = zip(*self._threads.values(), strict=True)
        return sum(ran) - self._ran_unseen_ms, sum(waited)

    def _look_at(self, pid: int) -> bool:
        """Read one process; returns False if it has ended."""
        alive = Path(f"{PROC}/{pid}/task").exists()
        self._threads |= {(pid, thread): counts for thread, counts in _threads_of(pid)}
        if not self._threads:
            with suppress(psutil.Error):
                times = psutil.Process(pid).cpu_times()
                self._processes[pid] = 1000 * (times.user + times.system)
        return alive


def _threads_of(pid: int) -> Iterator[tuple[int, _Counts]]:
    """(thread, its counters) for each living thread of a process."""
    with suppress(OSError):
        for thread in os.listdir(f"{PROC}/{pid}/task"):
            # A thread may end between the listing and the reading.
            with suppress(OSError, ValueError), open(f"{PROC}/{pid}/task/{thread}/schedstat", "rb", 0) as file:
                ran, waited, _ = file.read().split()
                yield int(thread), (int(ran) / _NS_PER_MS, int(waited) / _NS_PER_MS)


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
