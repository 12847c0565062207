"""Other programs that use this machine's processors, found before the first call.

An agent that shares two cores with a compiler is measured together with it. Turns that lost time are found afterwards
(harness/timing/contention.py), but by then the run has taken its time. So other programs are measured for a moment before
anything is loaded, when no other load is ours.

Their share is the busy time of the processors that this process may use, without its own. A program's share is the time that
it ran between two readings of the table of processes, divided by the time between these.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import psutil

from harness.machine.cpu_times import allowed_cpus, busy_ms, cpu_times
from harness.machine.programs import ProgramTable
from harness.timeline import NS_PER_MS
from harness.timing.contention import MOST_NAMED

LOOK_S: Final = 0.3
"""Duration of the measurement: thirty ticks of each core, enough to distinguish a quarter of a core from none."""
BUSY_CORES: Final = 0.25
BETWEEN_LOOKS_S: Final = 2.0
QUIET_LOOKS: Final = 3
"""Quiet measurements in a row: a compiler is idle between two files, so one quiet second does not prove a quiet machine."""
LEAST_NAMED_CORES: Final = 0.05


@dataclass(frozen=True, slots=True)
class OtherWork:
    """The load of programs other than this one, in cores."""

    cores: float
    """Their load in cores, without time that the host gave to other virtual machines."""
    of_cores: int
    """The number of processors that this process and its children may use."""
    programs: tuple[tuple[str, float], ...]
    """The busiest programs: name, cores."""

    @property
    def too_much(self) -> bool:
        """True if latencies would suffer."""
        return self.cores > BUSY_CORES

    def in_words(self) -> str:
        """The load in words, on one line."""
        names = ", ".join(f"{name} {cores * 100:.0f} %" for name, cores in self.programs)
        told = f" ({names})" if names else ""
        all_of_it = f"the {self.of_cores * 100} % of processor that an agent may use here"
        return f"other programs use {self.cores * 100:.0f} % of {all_of_it}{told}"


def other_work(look_s: float = LOOK_S) -> OtherWork:
    """The load of other programs, measured for this many seconds; zero if the system does not count it."""
    try:
        cpus = allowed_cpus(os.getpid()) & cpu_times().keys() or frozenset(cpu_times())
        table, own_s = ProgramTable(), time.process_time()
        named, began, began_s = table.read(but={os.getpid()}), cpu_times(), time.monotonic()
        time.sleep(look_s)
        ended, lasted_ms = cpu_times(), 1000 * (time.monotonic() - began_s)
        others_ms = busy_ms(began, ended, cpus, lasted_ms) - 1000 * (time.process_time() - own_s)
    except OSError:
        return OtherWork(0.0, psutil.cpu_count() or 1, ())
    worked = table.read(but={os.getpid()})
    named_ms = (worked.at_ns - named.at_ns) / NS_PER_MS
    cores = ((name, ms / named_ms) for name, ms in worked.ran_ms.items())
    most = sorted((p for p in cores if p[1] >= LEAST_NAMED_CORES), key=lambda p: -p[1])[:MOST_NAMED]
    return OtherWork(max(0.0, others_ms / lasted_ms), len(cpus), tuple(most))


def wait_until_quiet(longest_s: float, tell: Callable[[OtherWork], None]) -> bool:
    """Wait at most this long until other programs are idle; returns False if they are not. `tell` gets each measurement."""
    until_s, quiet = time.monotonic() + longest_s, 0
    while quiet < QUIET_LOOKS:
        if time.monotonic() > until_s:
            return False
        work = other_work()
        tell(work)
        quiet = 0 if work.too_much else quiet + 1
        if quiet < QUIET_LOOKS:
            time.sleep(BETWEEN_LOOKS_S)
    return True
