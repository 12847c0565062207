"""What else works on this machine before the first call, said while it can still be helped.

An agent that shares two cores with a compiler is measured with the compiler. Turns that lost time are found afterwards
(harness/timing/contention.py), but by then the run has been waited for. So other programs are looked at for a moment before
anything is loaded, while whatever runs is not ours.

Others' share is what the processors that this process may use did beyond this process's own work. Programs are named by what
each of them ran between two looks at *it*, over the time between these: walking the process table takes as long as the look
itself on a busy machine, and one length for all would divide more work by less time than it was done in.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from harness.agents.printable import printable
from harness.machine.cpu_times import allowed_cpus, busy_ms, cpu_times
from harness.machine.kernel_counters import ProcessCounters

LOOK_S: Final = 0.3
"""Thirty ticks of each core: enough to tell a quarter of a core from none."""
BUSY_CORES: Final = 0.25
BETWEEN_LOOKS_S: Final = 2.0
QUIET_LOOKS: Final = 3
"""A compiler rests between two files: one quiet second is no quiet machine."""
MOST_NAMED: Final = 3
LEAST_NAMED_CORES: Final = 0.05


@dataclass(frozen=True, slots=True)
class OtherWork:
    """What programs other than this one kept busy, in cores."""

    cores: float
    """A host's other machines are no programs here: what they took is not in it."""
    of_cores: int
    """The processors that this process may use, and so what it starts."""
    programs: tuple[tuple[str, float], ...]
    """The busiest: name, cores."""

    @property
    def too_much(self) -> bool:
        """Whether latencies would suffer."""
        return self.cores > BUSY_CORES

    def in_words(self) -> str:
        """One line for people."""
        names = ", ".join(f"{name} {cores * 100:.0f} %" for name, cores in self.programs)
        told = f" ({names})" if names else ""
        all_of_it = f"the {self.of_cores * 100} % of processor that an agent may use here"
        return f"other programs use {self.cores * 100:.0f} % of {all_of_it}{told}"


def other_work(look_s: float = LOOK_S) -> OtherWork:
    """Look for so many seconds at what everybody else does. Nothing, where the system does not say."""
    try:
        cpus = allowed_cpus(os.getpid()) & cpu_times().keys() or frozenset(cpu_times())
        own, programs = ProcessCounters(alone=(os.getpid(),)), _seen()
        own_ms, _ = own.look()
        began, began_s = cpu_times(), time.monotonic()
        time.sleep(look_s)
        ended, lasted_ms = cpu_times(), 1000 * (time.monotonic() - began_s)
        others_ms = busy_ms(began, ended, cpus, lasted_ms) - (own.look()[0] - own_ms)
    except OSError:
        return OtherWork(0.0, psutil.cpu_count() or 1, ())
    ran = [
        (now.name, (now.ran_s - before.ran_s) / (now.at_s - before.at_s))
        for key, now in _seen().items()
        if (before := programs.get(key)) is not None
    ]
    most = sorted((p for p in ran if p[1] >= LEAST_NAMED_CORES), key=lambda p: -p[1])[:MOST_NAMED]
    return OtherWork(max(0.0, others_ms / lasted_ms), len(cpus), tuple(most))


def wait_until_quiet(longest_s: float, tell: Callable[[OtherWork], None]) -> bool:
    """Wait until other programs rest, at most so long; False if they did not. `tell` hears of every look."""
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


@dataclass(frozen=True, slots=True)
class _Seen:
    """A program at one instant."""

    name: str
    ran_s: float
    at_s: float


def _seen() -> dict[tuple[int, float], _Seen]:
    """(process id, start) → every other process."""
    me, found = os.getpid(), {}
    for process in psutil.process_iter(("pid", "create_time", "name")):
        with suppress(psutil.Error, AttributeError, TypeError):
            facts = process.info
            if facts["pid"] != me:
                name = printable(facts["name"], one_line=True)
                times = process.cpu_times()
                found[facts["pid"], facts["create_time"]] = _Seen(name, times.user + times.system, time.monotonic())
    return found
