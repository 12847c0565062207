"""All steps of a load test, with their result: the highest number of callers within bounds, what limits it, and its search.

The search doubles until a step fails, then halves the distance. A step costs minutes, because a p95 needs 60 turns; doubling
finds the size in a few steps, and halving the distance makes it exact to a tenth. A failed step is not tried again: the
ceiling is what this machine could do at this hour, not the best of several tries.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from harness.figures.load_knee import CurveStep, OnCurve, calls_within, knee
from harness.load.arrivals import Arrivals
from harness.load.isolated import Isolated
from harness.load.limits import Limit, limit_of
from harness.load.result import LoadStep
from harness.statistics.interval import TURNS_FOR_P95

FIRST: Final = 4
"""Callers of the first step: with fewer a p95 takes more than fifteen rounds. If it fails, fewer are tried."""
MOST: Final = 1_000
"""Most callers of a search: no step has paced as many."""
CLOSE: Final = 0.1
"""Precision, as a share of the ceiling: nobody plans for a finer figure, and it varies more than that from hour to hour."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """All steps, in the order played. `ceiling` is the most offered load (callers at once, or calls a second) with all bounds
    met up to there; None if no step met them.

    Met means: callers, frames and answers on time, no call failed, at most one in twenty without reply, and with a budget
    also TTFA within it at p95.
    """

    steps: tuple[LoadStep, ...]
    priority: str
    budget_ms: float | None = None
    arrivals: Arrivals | None = None
    """The arrivals of the last step of an open loop; None for a closed one."""
    isolated: Isolated | None = None
    """Who slows whom among a cascade's stages; None where that was not asked."""

    @property
    def ceiling(self) -> float | None:
        kept = None
        for step in self._sorted:
            if limit_of(step, self.budget_ms) is not None:
                break
            kept = step.offered
        return kept

    @property
    def limit(self) -> tuple[float, Limit] | None:
        """The least offered load over a bound, with the reason; None if all steps met their bounds."""
        found = ((step.offered, limit_of(step, self.budget_ms)) for step in self._sorted)
        return next(((offered, limit) for offered, limit in found if limit is not None), None)

    @property
    def knee(self) -> OnCurve | None:
        """The rate at which the curve of an open loop bends; None for a closed one, or under three steps that have a p95."""
        return knee(self._curve) if self.arrivals is not None else None

    @property
    def within_budget(self) -> OnCurve | None:
        """The highest rate with a p95 within the budget; None for a closed loop, without a budget, or without a p95."""
        if self.arrivals is None or self.budget_ms is None:
            return None
        return calls_within(self._curve, self.budget_ms)

    @property
    def _curve(self) -> list[CurveStep]:
        """The steps that say something about the agent."""
        return [
            CurveStep(step.rate, step.calls_at_once or 0.0, step.ttfa_by_stretch)
            for step in self.steps
            if step.rate is not None and step.says_of_agent
        ]

    @property
    def _sorted(self) -> list[LoadStep]:
        return sorted(self.steps, key=lambda step: step.offered)

    def to_json(self) -> dict[str, Any]:
        """The object that `harness load --json` prints."""
        limit, arrivals = self.limit, self.arrivals
        offered = "callers" if arrivals is None else "rate"
        knee, within = self.knee, self.within_budget
        return {
            "schema": 1,
            "arrivals": arrivals.law if arrivals is not None else None,
            "for_s": arrivals.lasts_s if arrivals is not None else None,
            "steps": [step.to_json() for step in self.steps],
            "ceiling": self.ceiling,
            "limit": {offered: limit[0], **asdict(limit[1])} if limit is not None else None,
            "knee": knee.to_json() if knee is not None else None,
            "within_budget": within.to_json() if within is not None else None,
            "isolated": self.isolated.to_json() if self.isolated is not None else None,
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
    return -(-TURNS_FOR_P95 // callers)
