"""All steps of a load test, with their result: the highest number of callers within bounds, what limits it, and its search.

The search doubles until a step fails, then halves the distance. A step costs minutes, because a p95 needs 60 turns; doubling
finds the size in a few steps, and halving the distance makes it exact to a tenth. A failed step is not tried again: the
ceiling is what this machine could do at this hour, not the best of several tries.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from harness.load.limits import Limit, limit_of
from harness.load.result import LoadStep

FIRST: Final = 4
"""Callers of the first step: with fewer a p95 takes more than fifteen rounds. If it fails, fewer are tried."""
MOST: Final = 1_000
"""Most callers: the open sockets that `select` serves in one process (harness/caller/pacer.py); no step has paced as many."""
CLOSE: Final = 0.1
"""Precision, as a share of the ceiling: nobody plans for a finer figure, and it varies more than that from hour to hour."""
TURNS: Final = 60
"""Turns that a p95 needs (harness/ranking/percentiles.py)."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """All steps, in the order played. `ceiling` is the most callers with all bounds met up to there; None if no step met them.

    Met means: pacing and lag within bounds, no call failed, at most one in twenty without reply, and with a budget
    also TTFA within it at p95.
    """

    steps: tuple[LoadStep, ...]
    priority: str
    budget_ms: float | None = None

    @property
    def ceiling(self) -> int | None:
        kept = None
        for step in self._sorted:
            if limit_of(step, self.budget_ms) is not None:
                break
            kept = step.callers
        return kept

    @property
    def limit(self) -> tuple[int, Limit] | None:
        """The least number of callers over a bound, with the reason; None if all steps met their bounds."""
        found = ((step.callers, limit_of(step, self.budget_ms)) for step in self._sorted)
        return next(((callers, limit) for callers, limit in found if limit is not None), None)

    @property
    def _sorted(self) -> list[LoadStep]:
        return sorted(self.steps, key=lambda step: step.callers)

    def to_json(self) -> dict[str, Any]:
        """The object that `harness load --json` prints."""
        limit = self.limit
        return {
            "schema": 1,
            "steps": [step.to_json() for step in self.steps],
            "ceiling": self.ceiling,
            "limit": {"callers": limit[0], **asdict(limit[1])} if limit is not None else None,
            "budget_ms": self.budget_ms,
            "priority": self.priority,
        }


def next_callers(held: Mapping[int, bool], most: int = MOST) -> int | None:
    """The next number of callers, from the steps so far (callers → within bounds); None if the ceiling is known."""
    best = max((callers for callers, kept in held.items() if kept), default=0)
    worst = min((callers for callers, kept in held.items() if not kept), default=None)
    if worst is None:
        following = min(best * 2 or FIRST, most)
        return following if following > best else None
    best = max((callers for callers, kept in held.items() if kept and callers < worst), default=0)
    if worst - best <= max(1, round(CLOSE * best)):
        return None
    return (best + worst) // 2


def rounds_for(callers: int) -> int:
    """The number of times to play a step so that it has a p95."""
    return -(-TURNS // callers)
