"""Onsets of real first sounds, and over a floor that is neither silence nor loud noise, where two ways of finding them meet."""

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from harness.audio.level import first_sample
from harness.audio.onset import find_onset
from harness.audio.pcm import resample, to_float
from harness.calibrate.program import SENTENCES, sentence, voices
from harness.calibrate.voice import Colour, attack, coloured_noise, synthetic_voice
from harness.known.sounds import sound

RATE_HZ, HEARD_HZ = 24_000, 48_000
SPEECH_DB = -24.0
VOICES = voices()


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
@pytest.mark.parametrize("under_db", [30.0, 36.0, 41.0, 48.0])
def test_no_floor_is_taken_for_the_beginning_of_the_voice(colour: Colour, under_db: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        heard, begins_s = voice_in_noise(rng, colour, under_db)
        accepted = int((begins_s + rng.uniform(-0.016, 0.03)) * HEARD_HZ)
        found = find_onset(heard, HEARD_HZ, accepted, earliest=round(0.31 * HEARD_HZ))
        assert abs(found.sample / HEARD_HZ - begins_s) < 0.02


def spoken(name: str, text: str) -> tuple[NDArray[np.float32], int]:
    """A sentence as an agent sends it, after half a second of silence, at `HEARD_HZ`; and where its first sound begins."""
    sound, begins = sentence(name, text, 1.2)
    quiet = np.zeros(RATE_HZ // 2)
    sent = np.round(np.concatenate([quiet, sound * 10 ** (SPEECH_DB / 20)]) * 32768) / 32768
    heard = soxr.resample(sent, RATE_HZ, HEARD_HZ, quality="HQ").astype(np.float32)
    return heard, (len(quiet) + begins) * HEARD_HZ // RATE_HZ


@pytest.mark.parametrize("name", VOICES)
@pytest.mark.parametrize("kind", SENTENCES)
def test_a_real_first_sound_is_found_where_it_begins(name: str, kind: str) -> None:
    apart_ms = []
    for text in SENTENCES[kind]:
        heard, begins = spoken(name, text)
        for late_s in (0.0, 0.03, 0.09):
            found = find_onset(heard, HEARD_HZ, begins + round(late_s * HEARD_HZ), earliest=begins - round(0.4 * HEARD_HZ))
            apart_ms.append(abs(found.sample - begins) / HEARD_HZ * 1000)
    assert np.percentile(apart_ms, 95) < 10


@pytest.mark.parametrize("name", VOICES)
@pytest.mark.parametrize("kind", SENTENCES)
@pytest.mark.parametrize("before_ms", [70, 150])
def test_a_tick_before_a_word_is_no_part_of_it(name: str, kind: str, before_ms: int) -> None:
    rng = np.random.default_rng(before_ms)
    for text in SENTENCES[kind][::2]:
        heard, begins = spoken(name, text)
        tick_end = begins - round(before_ms / 1000 * HEARD_HZ)
        tick = rng.standard_normal(round(0.008 * HEARD_HZ)) * 10 ** (rng.uniform(-45, -20) / 20)
        heard[tick_end - len(tick) : tick_end] += tick.astype(np.float32)
        found = find_onset(heard, HEARD_HZ, begins + round(0.03 * HEARD_HZ), earliest=begins - round(0.4 * HEARD_HZ))
        assert abs(found.sample - begins) / HEARD_HZ < 0.012


@pytest.mark.parametrize("name", VOICES)
def test_a_first_fricative_in_noise_is_found_before_its_vowel(name: str) -> None:
    apart_ms = []
    for k, text in enumerate([*SENTENCES["fricative"]] * 3):
        heard, begins = spoken(name, text)
        noise = coloured_noise(len(heard), SPEECH_DB - 30, np.random.default_rng(k))
        found = find_onset((heard + noise).astype(np.float32), HEARD_HZ, begins + round(0.08 * HEARD_HZ))
        apart_ms.append(abs(found.sample - begins) / HEARD_HZ * 1000)
    assert np.median(apart_ms) < 15


@pytest.mark.parametrize("rate_hz", [8_000, 24_000])
def test_a_first_fricative_on_the_telephone_is_no_noise_under_the_voice(rate_hz: int) -> None:
    """The first sound of “Feel” is 33 dB under its vowel in the telephone's band."""
    heard = to_float(resample(sound("answer", rate_hz, 1).samples, rate_hz, HEARD_HZ))
    found = find_onset(np.pad(heard, (HEARD_HZ, HEARD_HZ)), HEARD_HZ, HEARD_HZ + round(0.08 * HEARD_HZ))
    assert abs(found.sample - HEARD_HZ) / HEARD_HZ < 0.003
