"""The rate at which an agent really sends, from when its sound came."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import T0_NS, make_recording
from harness.agent_check.wrong_sound import paced_rate_hz
from harness.recording.record import Arrival, Recording


def sent(
    stated_hz: int, paced_hz: float, seconds: float = 3.0, piece_ms: int = 40, ahead: int = 0, jitter_ms: float = 4.0
) -> Recording:
    """Pieces of `piece_ms` by the clock of `paced_hz`, the first `ahead` of them at once."""
    rng = np.random.default_rng(2)
    size = round(paced_hz * piece_ms / 1_000)
    arrivals = [
        Arrival(T0_NS + round((max(0, k - ahead) * piece_ms + abs(rng.normal(0, jitter_ms))) * 1e6), k * size, size)
        for k in range(round(seconds * 1_000 / piece_ms))
    ]
    return replace(make_recording().recording, arrivals=tuple(arrivals), agent_rate_hz=stated_hz)


@pytest.mark.parametrize(("stated_hz", "paced_hz"), [(16_000, 24_000), (24_000, 16_000), (16_000, 8_000), (24_000, 22_050)])
@pytest.mark.parametrize("ahead", [0, 8])
def test_an_agent_that_speaks_by_another_clock_is_found(stated_hz: int, paced_hz: int, ahead: int) -> None:
    assert paced_rate_hz(sent(stated_hz, paced_hz, ahead=ahead)) == paced_hz


@pytest.mark.parametrize(
    "fair",
    [
        sent(24_000, 24_000),
        sent(24_000, 23_500),  # it sleeps a little too long after each piece
        sent(24_000, 48_000),  # twice the speed of speech
        sent(16_000, 27_000),  # as fast as it is made
        sent(24_000, 16_000, seconds=1.0),
        sent(24_000, 16_000, jitter_ms=250.0),
        make_recording().recording,
    ],
)
def test_one_that_sends_ahead_or_on_time_is_not_accused(fair: Recording) -> None:
    assert paced_rate_hz(fair) is None
