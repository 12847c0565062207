"""Onsets over a floor that is neither silence nor loud noise, where two ways of finding them meet."""

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from harness.audio.level import first_sample
from harness.audio.onset import find_onset
from harness.calibrate.voice import Colour, attack, coloured_noise, synthetic_voice

RATE_HZ, HEARD_HZ = 24_000, 48_000


def voice_in_noise(rng: np.random.Generator, colour: Colour, under_db: float) -> tuple[NDArray[np.float32], float]:
    """A voice that begins a while after its noise does, as a real-time agent sends it; and where it begins, in s."""
    voice = synthetic_voice(0.25, RATE_HZ, rng, rng.uniform(95, 205)) * 10 ** (rng.uniform(-32, -14) / 20)
    voice *= attack(len(voice), rng.uniform(0, 0.02), RATE_HZ)
    dry = np.concatenate([np.zeros(round(rng.uniform(0.1, 0.25) * RATE_HZ)), voice])
    level_db = 10 * np.log10(np.mean(voice**2)) - under_db
    before = np.zeros(round(0.32 * RATE_HZ))
    sound = np.concatenate([before, dry + coloured_noise(len(dry), level_db, rng, colour)])
    first = first_sample(np.round(dry * 32768).astype(np.int16), RATE_HZ)
    assert first is not None
    heard = soxr.resample(np.round(sound * 32768) / 32768, RATE_HZ, HEARD_HZ, quality="HQ").astype(np.float32)
    return heard, (len(before) + first) / RATE_HZ


@pytest.mark.parametrize("colour", ["white", "pink"])
@pytest.mark.parametrize("under_db", [30.0, 33.0, 36.0, 38.0, 40.0, 42.0, 45.0, 48.0])
def test_no_floor_is_taken_for_the_beginning_of_the_voice(colour: Colour, under_db: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        heard, begins_s = voice_in_noise(rng, colour, under_db)
        accepted = int((begins_s + rng.uniform(-0.016, 0.03)) * HEARD_HZ)
        found = find_onset(heard, HEARD_HZ, accepted, earliest=round(0.31 * HEARD_HZ))
        assert abs(found.sample / HEARD_HZ - begins_s) < 0.02
