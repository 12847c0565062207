"""What a measurement under load found, step by step."""

from dataclasses import dataclass
from typing import Any, Final

from harness.ranking.percentiles import Quantiles

MOST_SILENT: Final = 0.05


@dataclass(frozen=True, slots=True)
class LoadStep:
    """One concurrency. Times in ms."""

    callers: int
    sessions: int
    failed: int
    no_reply: int
    pacing_p99_error_ms: float
    pacing_max_error_ms: float
    realtime_ratio: float
    """Of the caller furthest from 1."""
    loop_lag_max_ms: float
    ttfa_ms: Quantiles
    out_of_bounds: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """One entry of `steps`."""
        return {
            "callers": self.callers,
            "pacing_p99_error_ms": self.pacing_p99_error_ms,
            "realtime_ratio": self.realtime_ratio,
            "ttfa_ms": {"p50": self.ttfa_ms.p50, "p95": self.ttfa_ms.p95},
            "sessions": self.sessions,
            "failed": self.failed,
            "no_reply": self.no_reply,
            "pacing_max_error_ms": self.pacing_max_error_ms,
            "loop_lag_max_ms": self.loop_lag_max_ms,
            "out_of_bounds": list(self.out_of_bounds),
        }


@dataclass(frozen=True, slots=True)
class LoadResult:
    """All steps. `ceiling` is the most callers with every bound kept up to there; None when the first step broke one.

    Kept means: pacing and lag within bounds, no call failed, and at most one in twenty without reply.
    """

    steps: tuple[LoadStep, ...]
    priority: str

    @property
    def ceiling(self) -> int | None:
        kept = None
        for step in self.steps:
            if step.out_of_bounds or step.failed or step.no_reply > step.sessions * MOST_SILENT:
                break
            kept = step.callers
        return kept

    def to_json(self) -> dict[str, Any]:
        """The object that `harness load --json` prints."""
        return {
            "schema": 1,
            "steps": [step.to_json() for step in self.steps],
            "ceiling": self.ceiling,
            "priority": self.priority,
        }
