"""What else works on this machine before the first call, said while it can still be helped.

An agent that shares two cores with a compiler is measured with the compiler. Turns that lost time are found afterwards
(harness/timing/contention.py), but by then the run has been waited for. So other programs are looked at for a moment before
anything is loaded, while whatever runs is not ours.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from harness.agents.printable import printable
from harness.run.kernel_counters import ProcessCounters, machine_counters

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
    of_cores: int
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
        return f"other programs use {self.cores * 100:.0f} % of this machine's {self.of_cores * 100} % of processor{told}"


def other_work(look_s: float = LOOK_S) -> OtherWork:
    """Look for so many seconds at what everybody else does. Nothing, where the system does not say."""
    of_cores = psutil.cpu_count() or 1
    try:
        own, machine, before = ProcessCounters(roots=(psutil.Process().pid,)), machine_counters(), _times_s()
        own_ms, _ = own.look()
        began_s = time.monotonic()
        time.sleep(look_s)
        lasted_ms = 1000 * (time.monotonic() - began_s)
        busy_ms = machine_counters().busy_ms - machine.busy_ms - (own.look()[0] - own_ms)
    except OSError:
        return OtherWork(0.0, of_cores, ())
    ran = [(name, 1000 * (cpu_s - before[key][1]) / lasted_ms) for key, (name, cpu_s) in _times_s().items() if key in before]
    most = sorted((p for p in ran if p[1] >= LEAST_NAMED_CORES), key=lambda p: -p[1])[:MOST_NAMED]
    # Time that a host takes away is not in the ticks of the machine, but in a program's own clock: the larger one is the truth.
    return OtherWork(max(0.0, busy_ms / lasted_ms, sum(cores for _, cores in ran)), of_cores, tuple(most))


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


def _times_s() -> dict[tuple[int, float], tuple[str, float]]:
    """(process id, start) → name and processor time of every other process."""
    me, found = psutil.Process().pid, {}
    for process in psutil.process_iter(("pid", "create_time", "name", "cpu_times")):
        with suppress(psutil.Error, AttributeError, TypeError):
            facts = process.info
            if facts["pid"] != me:
                name = printable(facts["name"], one_line=True)
                found[facts["pid"], facts["create_time"]] = name, facts["cpu_times"].user + facts["cpu_times"].system
    return found
