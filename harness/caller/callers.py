"""The caller processes of a run or of a load test: as many as its simultaneous callers need.

One scheduler paces all callers of a process. A process that fills its core sends late, and a late frame looks like a slow
agent; so callers are dealt to several processes, which all read the same clock. A call goes to the process that has the fewest,
because calls last unequally long.
"""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.caller.plan import SessionOutcome, SessionPlan
from harness.caller.process import STOP_TIMEOUT_S, CallerProcess

CALLER: Final = "harness caller"
"""The first process in the samples of a machine; others have their number too."""
CALLERS_PER_PROCESS: Final = 100
"""One process paced 100 callers within bounds on one core (docs/evidence/load.md)."""
FEWEST_PER_PROCESS: Final = 12
"""Fewest callers of a process: one that fills a core with fewer has a problem that more processes do not solve."""


class Callers:
    """Caller processes that share the calls; they are started when they are needed, and end together."""

    def __init__(self, *, log_path: Path | None = None) -> None:
        self.priority = ""
        """The priority that the system granted, in words for the manifest; known once one is started."""
        self._log_path = log_path
        self._each = CALLERS_PER_PROCESS
        self._processes: list[CallerProcess] = []
        self._open: list[int] = []
        """Number of open calls of each process."""
        self._used = 0
        self._callers = 0
        """Simultaneous callers for which the processes are enough."""

    async def enough_for(self, callers: int) -> Sequence[CallerProcess]:
        """Start the processes that this many simultaneous callers need; further calls are dealt to these.

        Raises:
            AgentError: a process does not start.
        """
        needed = max(1, math.ceil(callers / self._each))
        new = [CallerProcess(log_path=self._log_path) for _ in range(needed - len(self._processes))]
        self._processes += new
        self._open += [0] * len(new)
        await asyncio.gather(*(process.start() for process in new))
        self.priority = self._processes[0].priority
        self._used, self._callers = needed, callers
        return self._processes[:needed]

    async def play(
        self, plan: SessionPlan, folder: Path, *, at_ns: int | None = None, packed: bool = True, of: int | None = None
    ) -> SessionOutcome:
        """Play one plan, as `CallerProcess.play` does; `of`: by the process of this number instead of the least busy one.

        Raises:
            StorageError, OSError: the plan or the recording could not be written.
        """
        place = min(range(self._used), key=self._open.__getitem__) if of is None else of % self._used
        self._open[place] += 1
        try:
            return await self._processes[place].play(plan, folder, at_ns=at_ns, packed=packed)
        finally:
            self._open[place] -= 1

    @property
    def first(self) -> CallerProcess:
        """The first process; `enough_for` comes before."""
        return self._processes[0]

    @property
    def pids(self) -> tuple[int, ...]:
        """The running processes to which calls are dealt."""
        return tuple(p.pid for p in self._processes[: self._used] if p.pid is not None)

    @property
    def named(self) -> dict[str, int]:
        """The name of each of these processes in the samples of a machine → the process."""
        return {f"{CALLER} {k + 1}" if k else CALLER: pid for k, pid in enumerate(self.pids)}

    def spread(self) -> bool:
        """Halve the callers of each process from now on, because one filled its core; False if that makes no more processes."""
        each = max(FEWEST_PER_PROCESS, math.ceil(self._callers / (2 * max(self._used, 1))))
        if math.ceil(self._callers / each) <= self._used:
            return False
        self._each = each
        return True

    async def stop(self, within_s: float = STOP_TIMEOUT_S) -> None:
        """End all processes, by force after this time. Safe to call twice."""
        await asyncio.gather(*(process.stop(within_s) for process in self._processes))
