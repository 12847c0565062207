"""What Linux counts of its scheduler, for the machine and for the processes of an agent.

Taken from `/proc` (proc(5); Documentation/accounting/psi.rst and Documentation/scheduler/sched-stats.rst of the kernel):

* `/proc/stat`: processor time of everybody, and what a hypervisor took. In ticks of 10 ms.
* `/proc/PID/task/*/schedstat`: of each thread, time on a processor and time *ready but waiting* for one. In nanoseconds.
* `/proc/pressure/cpu`: how long some thread of the machine waited.
* `thermal_throttle/core_throttle_count` and `cpufreq/scaling_cur_freq` below `/sys/devices/system/cpu/cpu*`, where a machine
  shows them; most virtual ones do not.

A thread that ends takes its counters with it, so what was last seen of every thread is kept and the sums never fall.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import psutil

PROC: Final = Path("/proc")
CPUS: Final = Path("/sys/devices/system/cpu")
_NS_PER_MS: Final = 1e6
_US_PER_MS: Final = 1e3
_BUSY: Final = ("user", "nice", "system", "irq", "softirq")
_STAT: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""The order of the columns in /proc/stat."""


@dataclass(frozen=True, slots=True)
class MachineCounters:
    """Of the whole machine, over all cores."""

    busy_ms: float
    stolen_ms: float


def machine_counters() -> MachineCounters:
    """Processor time of everybody, and stolen time.

    Raises:
        OSError: this system has no `/proc/stat`.
    """
    with (PROC / "stat").open(encoding="ascii") as lines:
        ticks = dict(zip(_STAT, map(int, lines.readline().split()[1:]), strict=False))
    ms = 1000 / os.sysconf("SC_CLK_TCK")
    return MachineCounters(sum(ticks[name] for name in _BUSY) * ms, ticks.get("steal", 0) * ms)


def stalled_ms() -> float | None:
    """How long some thread waited for a processor, since the machine started; None where the kernel does not say."""
    with suppress(OSError, ValueError, IndexError):
        some = (PROC / "pressure" / "cpu").read_text(encoding="ascii").splitlines()[0]
        return int(some.rpartition("total=")[2]) / _US_PER_MS
    return None


def throttled() -> int | None:
    """How often cores were slowed down for heat, since the machine started; None where it does not say."""
    counts = _numbers(_every_core("thermal_throttle/core_throttle_count"))
    return int(sum(counts)) if counts else None


def slowest_mhz() -> float | None:
    """The lowest frequency of any core; None where the machine does not say."""
    khz = _numbers(_every_core("cpufreq/scaling_cur_freq"))
    return min(khz) / 1000 if khz else None


class ProcessCounters:
    """Processor time, and time ready but waiting, of some processes, from `look` to `look`. `roots` are followed with all
    their children, `alone` without."""

    def __init__(self, roots: Sequence[int] = (), alone: Sequence[int] = ()) -> None:
        self._roots = roots
        self._alone = alone
        self._threads: dict[tuple[int, int], tuple[float, float]] = {}
        self._processes: dict[int, float] = {}
        self._pids: list[int] = []
        self.find_children()

    def find_children(self) -> None:
        """Look for new children. This reads the whole process table, so it is not done at every look."""
        found = [*self._alone, *self._roots]
        for root in self._roots:
            with suppress(psutil.Error):
                found += [child.pid for child in psutil.Process(root).children(recursive=True)]
        self._pids = found

    def look(self) -> tuple[float, float | None]:
        """(time on a processor, time waiting for one) in ms of everything ever seen; None where waiting is not counted."""
        for pid in self._pids:
            self._look_at(pid)
        if not self._threads:
            return sum(self._processes.values()), None
        ran, waited = zip(*self._threads.values(), strict=True)
        return sum(ran), sum(waited)

    def _look_at(self, pid: int) -> None:
        with suppress(OSError):
            for thread in os.listdir(f"{PROC}/{pid}/task"):
                # A thread may end between the listing and the reading.
                with suppress(OSError, ValueError), open(f"{PROC}/{pid}/task/{thread}/schedstat", "rb", 0) as file:
                    ran, waited, _ = file.read().split()
                    self._threads[pid, int(thread)] = int(ran) / _NS_PER_MS, int(waited) / _NS_PER_MS
        if not self._threads:
            with suppress(psutil.Error):
                times = psutil.Process(pid).cpu_times()
                self._processes[pid] = 1000 * (times.user + times.system)


@cache
def _every_core(name: str) -> tuple[Path, ...]:
    return tuple(CPUS.glob(f"cpu[0-9]*/{name}"))


def _numbers(paths: Iterable[Path]) -> list[float]:
    found = []
    for path in paths:
        with suppress(OSError, ValueError):
            found.append(float(path.read_text("ascii")))
    return found
