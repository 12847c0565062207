"""The error that every figure of a session carries, and when it is too much."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import make_recording
from harness.timing.pacing import errors_ms, out_of_bounds, pacing


def test_lateness_is_departure_minus_deadline() -> None:
    caller = make_recording().recording.caller
    late = replace(caller, departures_ns=caller.departures_ns + 3_000_000)
    assert errors_ms(late) == pytest.approx(np.full(400, 3.0))
    paced = pacing(late)
    assert paced is not None
    assert (paced.p99_error_ms, paced.realtime_ratio) == pytest.approx((3, 1))


def test_audio_sent_too_fast_shows_in_the_ratio() -> None:
    caller = make_recording().recording.caller
    fast = caller.t0_ns + ((caller.departures_ns - caller.t0_ns) / 1.44).astype(np.int64)
    paced = pacing(replace(caller, departures_ns=fast))
    assert paced is not None
    assert paced.realtime_ratio == pytest.approx(1.44)


def test_one_late_frame_is_an_error_and_no_drift() -> None:
    caller = make_recording().recording.caller
    departures = caller.departures_ns.copy()
    departures[-1] += 15_000_000
    paced = pacing(replace(caller, departures_ns=departures))
    assert paced is not None
    assert paced.max_error_ms == pytest.approx(15)
    assert paced.realtime_ratio == pytest.approx(1, abs=5e-4)


def test_a_session_that_sent_nothing_has_no_pacing() -> None:
    caller = make_recording().recording.caller
    assert pacing(replace(caller, departures_ns=caller.departures_ns[:1])) is None


def test_bounds_say_what_was_wrong() -> None:
    assert out_of_bounds(1.0, 1.0, 1.0) == ()
    assert out_of_bounds(None, None, None) == ()
    problems = out_of_bounds(6.0, 1.002, 25.0)
    assert len(problems) == 3
    assert "6.0 ms" in problems[0]
