"""Sweeps are found where they are, in noise too, and no latency is made up for a microphone that hears nothing."""

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from harness.audio.pcm import to_float, to_int16
from harness.people.loop_back import GAPS_S, LONGEST_S, PEAK, loop_back, places, sound, sweep
from harness.people.track import RATE_HZ, Track

FIRST = 9_000
AT = 33_333
"""Frames at which the recording and the sound begin."""
PLAYED = tuple(AT + place for place in places())


def heard(late: int, *, gain: float = 0.5, noise: float = 0.001, seed: int = 0, turned: bool = False) -> NDArray[np.float64]:
    """What a microphone hears of the trial `late` samples after it was played."""
    out = np.random.default_rng(seed).normal(0, noise, AT - FIRST + len(sound()) + RATE_HZ)
    start = AT - FIRST + late
    out[start : start + len(sound())] += to_float(sound()) * (-gain if turned else gain)
    return out


def track(signal: NDArray[np.float64]) -> Track:
    return Track(RATE_HZ, FIRST, to_int16(signal), ())


@pytest.mark.parametrize("late", [0, 517, 4_801, 28_000])
@pytest.mark.parametrize("turned", [False, True])
def test_the_latency_is_found_to_the_sample(late: int, turned: bool) -> None:
    found = loop_back(track(heard(late, turned=turned)), PLAYED)
    assert found is not None
    assert found.latency_samples == pytest.approx(late, abs=0.5)
    assert found.heard == found.played == len(PLAYED)
    assert found.error_p95_ms < 0.1
    assert abs(found.drift_ppm) < 5


def test_noise_as_loud_as_the_sweeps_hides_none() -> None:
    found = loop_back(track(heard(3_000, gain=0.4, noise=0.1)), PLAYED)
    assert found is not None
    assert found.latency_samples == pytest.approx(3_000, abs=3)
    assert found.error_p95_ms < 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 1e-5, 0.05])
def test_a_microphone_that_hears_nothing_has_no_latency(noise: float, seed: int) -> None:
    assert loop_back(track(heard(3_000, gain=0, noise=noise, seed=seed)), PLAYED) is None


def test_other_clicks_and_tones_have_no_latency() -> None:
    signal = heard(0, gain=0)
    signal[:: round(0.5 * RATE_HZ)] = 0.9
    assert loop_back(track(signal), PLAYED) is None
    tone = heard(0, gain=0) + 0.3 * np.sin(2 * np.pi * 2_000 * np.arange(len(signal)) / RATE_HZ)
    assert loop_back(track(tone), PLAYED) is None


def test_sweeps_of_another_place_are_not_taken_for_these() -> None:
    assert loop_back(track(heard(3_000)), sorted(2 * AT + PLAYED[-1] - frame for frame in PLAYED)) is None


def test_a_few_sweeps_may_be_drowned_but_not_most() -> None:
    signal = heard(3_000)
    for k, frame in enumerate(PLAYED[:3]):
        start = frame - FIRST
        signal[start : start + RATE_HZ // 2] += 0.8 * np.random.default_rng(k).normal(0, 1, RATE_HZ // 2)
    found = loop_back(track(signal), PLAYED)
    assert found is not None
    assert found.heard >= len(PLAYED) - 3
    assert found.latency_samples == pytest.approx(3_000, abs=2)
    assert loop_back(track(signal[: PLAYED[5] - FIRST]), PLAYED) is None


def test_drift_of_the_microphones_clock_shows() -> None:
    signal = heard(3_000)
    stretched = soxr.resample(signal, RATE_HZ, RATE_HZ * (1 + 200e-6), quality="VHQ")
    found = loop_back(track(stretched), PLAYED)
    assert found is not None
    assert found.drift_ppm == pytest.approx(200, abs=10)


def test_jitter_is_in_the_error() -> None:
    signal, jitter = np.random.default_rng(0).normal(0, 0.001, len(heard(0))), [0, 96, -96, 48, -48, 0, 144, 0, 0, 0, -144, 24]
    for frame, off in zip(PLAYED, jitter, strict=True):
        start = frame - FIRST + 3_000 + off
        signal[start : start + len(sweep())] += to_float(sweep())
    found = loop_back(track(signal), PLAYED)
    assert found is not None
    assert 2.4 < found.error_p95_ms < 3.2


def test_the_trial_is_short_and_never_loud() -> None:
    assert len(sound()) < 12 * RATE_HZ
    assert np.max(np.abs(to_float(sound()))) <= PEAK
    assert min(GAPS_S) > LONGEST_S
