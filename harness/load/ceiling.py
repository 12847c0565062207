"""All steps of a load test, with their result: the highest number of callers within bounds, and what limits it."""

from dataclasses import asdict, dataclass
from typing import Any

from harness.load.limits import Limit, limit_of
from harness.load.result import LoadStep


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
