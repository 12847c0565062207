"""What a manifest says of a machine: its GPUs under load, and the pacing of frames on it."""

from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict

CLOCK_DRIFTS: Final = 0.05
"""Difference between the highest and the lowest clock under load, as a share of the highest, that a reader must know. A choice:
a latency that depends on the clock alone would differ by as much."""
OFTEN: Final = 0.01
"""Share of the samples from which something is not a single moment."""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU during a run. A part is absent (None or empty) where the driver gives no figure for it."""

    samples: int
    rate_hz: float | None = None
    """The rate that was reached: of the median interval between samples."""
    sampling_ms: tuple[float, float] | None = None
    """Time that one sample of all GPUs took: median, 99th percentile."""
    loaded: int = 0
    """Samples under load."""
    sm_clock_mhz: tuple[float, ...] = ()
    """The clock under load in ten parts of equally many samples, in the order of time: the median of each; empty if there are
    too few."""
    slowed: dict[str, float] = field(default_factory=dict)
    """Cause for which the driver lowered the clock → its share of the samples under load; only where the clock was lower."""
    slowed_sm_clock_mhz: tuple[float, float] | None = None
    """The clock in these samples, their median, and the highest that the GPU had or was chosen; None where it was not lowered,
    and in runs of an older harness."""
    most_temperature_c: float | None = None
    most_power_w: float | None = None
    most_memory_mib: float | None = None
    others_share: float | None = None
    """Share of the samples of processes in which programs of no agent used the GPU; None where no process was seen."""

    @property
    def clock_range_mhz(self) -> tuple[float, float] | None:
        """The highest and the lowest clock under load if they differ by more than `CLOCK_DRIFTS`; otherwise None."""
        if not self.sm_clock_mhz:
            return None
        high, low = max(self.sm_clock_mhz), min(self.sm_clock_mhz)
        return (high, low) if high > 0 and 1 - low / high > CLOCK_DRIFTS else None


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
