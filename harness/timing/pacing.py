"""Pacing of the caller: the timing error that is part of every other figure of the session.

The error of a frame is its departure minus its deadline, both on the monotonic clock. The realtime ratio compares the audio
sent with the time it took.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.recording.record import FRAME_MS, CallerTrack
from harness.timeline import NS_PER_MS, samples_to_ns

MAX_P99_ERROR_MS: Final = 5.0
"""A quarter of a frame: with more the agent's detectors get audio that no microphone would send."""
MAX_LOOP_LAG_MS: Final = 20.0
"""A whole frame: an arrival stamped that late would show in TTFA."""
MAX_RATIO_ERROR: Final = 0.001
"""One millisecond per second; over a ten-second turn this drift is 10 ms of TTFA."""


@dataclass(frozen=True, slots=True)
class PacingFigures:
    """Pacing of one session, in ms."""

    p99_error_ms: float
    max_error_ms: float
    realtime_ratio: float | None
    """None where the frames did not leave one after another; their error is then enough."""


def errors_ms(caller: CallerTrack) -> NDArray[np.float64]:
    """Departure minus deadline of every frame."""
    frame_ns = samples_to_ns(caller.rate_hz * FRAME_MS // 1000, caller.rate_hz)
    due = caller.t0_ns + (np.arange(len(caller.departures_ns), dtype=np.int64) + 1) * frame_ns
    late: NDArray[np.float64] = (caller.departures_ns - due) / NS_PER_MS
    return late


def pacing(caller: CallerTrack) -> PacingFigures | None:
    """Pacing figures; None for a session that sent fewer than two frames."""
    if len(caller.departures_ns) < 2:
        return None
    errors = np.abs(errors_ms(caller))
    # A straight line through all departures: from the first and the last alone, one late frame would seem a drift.
    frames = np.arange(len(errors)) - (len(errors) - 1) / 2
    per_frame_ms = float(frames @ (caller.departures_ns - caller.departures_ns[0])) / float(frames @ frames) / NS_PER_MS
    ratio = FRAME_MS / per_frame_ms if per_frame_ms > 0 else None
    return PacingFigures(float(np.percentile(errors, 99)), float(errors.max()), ratio)


def out_of_bounds(p99_error_ms: float | None, realtime_ratio: float | None, loop_lag_ms: float | None) -> tuple[str, ...]:
    """Reasons why a session's figures cannot be trusted, in words; empty when they can."""
    problems = []
    if p99_error_ms is not None and p99_error_ms > MAX_P99_ERROR_MS:
        problems.append(f"pacing p99 {p99_error_ms:.1f} ms is over {MAX_P99_ERROR_MS:g} ms")
    if realtime_ratio is not None and abs(realtime_ratio - 1) > MAX_RATIO_ERROR:
        problems.append(f"realtime ratio {realtime_ratio:.4f} is not 1 ± {MAX_RATIO_ERROR:g}")
    if loop_lag_ms is not None and loop_lag_ms > MAX_LOOP_LAG_MS:
        problems.append(f"event-loop lag {loop_lag_ms:.1f} ms is over {MAX_LOOP_LAG_MS:g} ms")
    return tuple(problems)
