"""Pacing of a run's frames, or of one of its machines: a separate object, since both store one."""

from pydantic import BaseModel, ConfigDict


class Pacing(BaseModel):
    """Pacing errors of frames over all sessions of the run, written by the run itself from its own departures."""

    model_config = ConfigDict(extra="forbid")

    p99_error_ms: float
    max_error_ms: float
    realtime_ratio: float | None
    frames: int
    loop_lag_max_ms: float | None = None


def worst(each: list[Pacing]) -> Pacing | None:
    """Pacing of several runs on one machine: the worst of each figure. None where none is known."""
    if not each:
        return None
    ratios = [one.realtime_ratio for one in each if one.realtime_ratio is not None]
    lags = [one.loop_lag_max_ms for one in each if one.loop_lag_max_ms is not None]
    return Pacing(
        p99_error_ms=max(one.p99_error_ms for one in each),
        max_error_ms=max(one.max_error_ms for one in each),
        realtime_ratio=max(ratios, key=lambda ratio: abs(ratio - 1)) if ratios else None,
        frames=sum(one.frames for one in each),
        loop_lag_max_ms=max(lags) if lags else None,
    )
