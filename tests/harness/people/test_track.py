"""A recording is put together from its parts in any order, and everything that is missing of it is said."""

import numpy as np
import pytest

from harness.audio.pcm import Int16
from harness.people.track import RATE_HZ, ClockPair, Part, track_of

SECOND = RATE_HZ


def sound(seconds: float, level: float = 300.0) -> Int16:
    return np.random.default_rng(0).normal(0, level, round(seconds * RATE_HZ)).astype(np.int16)


def cut(samples: Int16, first: int = 5_000) -> list[Part]:
    return [Part(first + k, samples[k : k + SECOND]) for k in range(0, len(samples), SECOND)]


def clock(seconds: int, first: int = 5_000) -> list[ClockPair]:
    return [(first + k * SECOND, 777.0 + k * 1_000) for k in range(seconds)]


def test_parts_in_any_order_and_twice_make_one_recording() -> None:
    whole = sound(4.5)
    parts = cut(whole)
    track = track_of([parts[3], parts[0], parts[1], parts[1], parts[4], parts[2]], clock(4))
    assert (track.first, track.end, track.lost) == (5_000, 5_000 + len(whole), ())
    assert np.array_equal(track.samples, whole)


def test_missing_frames_are_lost_and_nothing_moves() -> None:
    whole = sound(3)
    parts = [Part(5_000, whole[:50_000]), Part(55_240, whole[50_240:])]
    track = track_of(parts)
    assert track.lost == ((55_000, 55_240),)
    assert np.array_equal(track.samples[50_240:], whole[50_240:])


def test_a_clock_that_stood_still_is_found_and_a_busy_page_is_not() -> None:
    steady = clock(10)
    late_once = [(frame, at + 80 * (k in {4, 5})) for k, (frame, at) in enumerate(steady)]
    assert track_of(cut(sound(10)), late_once).lost == ()
    stood = [(frame, at + 15 * (k >= 6)) for k, (frame, at) in enumerate(steady)]
    assert track_of(cut(sound(10)), stood).lost == ((steady[5][0], steady[6][0]),)
    twice = [(frame, at + 300 * (k >= 3) + 40 * (k >= 7)) for k, (frame, at) in enumerate(steady)]
    assert track_of(cut(sound(10)), twice).lost == ((steady[2][0], steady[3][0]), (steady[6][0], steady[7][0]))


def test_drift_is_no_standstill() -> None:
    drifting = [(frame, at + 0.5 * k) for k, (frame, at) in enumerate(clock(60))]
    assert track_of(cut(sound(60)), drifting).lost == ()


def test_zeros_inside_sound_are_lost() -> None:
    whole = sound(2)
    whole[30_000:30_480] = 0
    assert track_of(cut(whole)).lost == ((35_000, 35_480),)


@pytest.mark.parametrize("level", [0.0, 0.3])
def test_digital_silence_and_the_faintest_noise_are_not(level: float) -> None:
    assert track_of(cut(sound(2, level))).lost == ()


def test_zeros_at_an_end_are_no_hole() -> None:
    whole = sound(2)
    whole[:4_800] = 0
    whole[-4_800:] = 0
    assert track_of(cut(whole)).lost == ()


def test_nothing_and_far_too_much_are_refused() -> None:
    with pytest.raises(ValueError, match="no part"):
        track_of([Part(0, np.zeros(0, np.int16))])
    with pytest.raises(ValueError, match="at most"):
        track_of([Part(0, sound(1)), Part(1 << 50, sound(1))])
