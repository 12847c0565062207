"""The programs that run on this machine, by name, and the processor time of each.

Every process has a processor clock that any user may read, so a reading of the whole table takes a tenth of a millisecond for a
hundred processes: no file is opened but for the names of those that worked. The name is that of the kernel (`comm`, up to 15
characters), which a process chooses itself, so it is made printable. Processes of one name count together. A program that
begins and ends between two readings is not seen.
"""

import os
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from harness.clock import now_ns
from harness.machine.cpu_times import PROC
from harness.machine.kernel_counters import process_ran_ms
from harness.printable import printable

_LEAST_MS: Final = 1.0
"""Of work between two readings, for which a name is read: a thousandth of a core between two readings a second apart."""


@dataclass(frozen=True, slots=True)
class ProgramsSeen:
    """One reading: name → processor time since the first reading, in ms, of each program that worked."""

    at_ns: int
    ran_ms: Mapping[str, float]


class ProgramTable:
    """Readings of the table of processes, one after another."""

    def __init__(self) -> None:
        self._last: dict[int, float] | None = None
        self._sums: dict[str, float] = {}

    def read(self, but: Set[int] = frozenset()) -> ProgramsSeen:
        """The work of all programs so far, without these processes; nothing on a system without such a table."""
        now: dict[int, float] = {}
        with suppress(OSError):
            for name in os.listdir(PROC):
                if name.isdigit() and (ran_ms := process_ran_ms(int(name))) is not None:
                    now[int(name)] = ran_ms
        at_ns = now_ns()
        for pid, ran_ms in now.items():
            before_ms = ran_ms if self._last is None else self._last.get(pid, 0.0)
            # A smaller time than before is another process of the same number.
            worked_ms = ran_ms - before_ms if ran_ms >= before_ms else ran_ms
            if worked_ms >= _LEAST_MS and pid not in but:
                name = _name_of(pid)
                self._sums[name] = self._sums.get(name, 0.0) + worked_ms
        self._last = now
        return ProgramsSeen(at_ns, dict(self._sums))


def _name_of(pid: int) -> str:
    with suppress(OSError):
        return printable((PROC / str(pid) / "comm").read_text("utf-8", "replace").rstrip("\n"), one_line=True) or "?"
    return "?"
