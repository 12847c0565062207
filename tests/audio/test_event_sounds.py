"""A cough and a door: the same from the same seed, loud enough to be heard, and no voice."""

import numpy as np
import pytest

from harness.audio.event_sounds import PEAK, EventSound, event_sound
from harness.audio.pcm import resample, to_float
from harness.audio.voicing import RATE_HZ, VOICED, voicing


@pytest.mark.parametrize("kind", ["cough", "door"])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 48_000])
def test_a_seed_makes_one_sound_and_another_seed_another(kind: EventSound, rate_hz: int) -> None:
    first = event_sound(kind, rate_hz, 1)
    assert np.array_equal(first, event_sound(kind, rate_hz, 1))
    assert not np.array_equal(first, event_sound(kind, rate_hz, 2))
    assert np.max(np.abs(to_float(first))) == pytest.approx(PEAK, abs=1e-3)
    assert 0.3 * rate_hz < len(first) < 1.0 * rate_hz


def test_an_unknown_sound_and_a_rate_too_low_are_refused() -> None:
    with pytest.raises(ValueError, match="take cough or door"):
        event_sound("sneeze", 16_000, 0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="8,000 Hz"):
        event_sound("door", 4_000, 0)


@pytest.mark.parametrize("kind", ["cough", "door"])
@pytest.mark.parametrize("seed", range(5))
def test_it_has_no_pitch_of_a_voice(kind: EventSound, seed: int) -> None:
    sound = to_float(resample(event_sound(kind, 16_000, seed), 16_000, RATE_HZ))
    assert np.mean(voicing(sound) > VOICED) < 0.1
