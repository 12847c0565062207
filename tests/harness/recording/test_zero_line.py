"""Offsets and fills are removed before anything is detected; sound without them stays as it is."""

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.recording.playout import around_zero

RATE = 24_000


def _voice(seconds: float, level: int = 6_000) -> NDArray[np.int16]:
    t = np.arange(round(seconds * RATE)) / RATE
    harmonics = sum(np.sin(2 * np.pi * 140 * n * t) / n for n in range(1, 20))
    return (level * harmonics * np.hanning(len(t)) / 2).astype(np.int16)


def test_sound_around_zero_is_returned_to_the_bit() -> None:
    pcm = np.concatenate([np.zeros(2_400, np.int16), _voice(0.5), np.zeros(2_400, np.int16)])
    assert np.array_equal(around_zero(pcm, RATE), pcm.astype(np.float32) / 32768)
    assert not len(around_zero(np.zeros(0, np.int16), RATE))


@pytest.mark.parametrize("offset", [40, -900, 4_000, 12_000])
def test_an_offset_leaves_voice_and_silence(offset: int) -> None:
    silence, voice = np.zeros(4_800, np.int16), _voice(0.5)
    found = around_zero(np.concatenate([silence, voice, silence]) + np.int16(offset), RATE)
    assert not found[:4_800].any()
    assert not found[-4_800:].any()
    assert np.abs(found[4_800:-4_800] - voice / 32768).max() < 10 ** (-60 / 20)


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 48_000])
@pytest.mark.parametrize("fill", [-32_124, 32_124, -1, 8])
def test_a_constant_fill_is_silence(fill: int, rate_hz: int) -> None:
    voice = _voice(0.4)
    filled = np.full(round(0.1 * rate_hz), fill, np.int16)
    found = around_zero(np.concatenate([filled, voice, filled]), rate_hz)
    assert np.array_equal(found[len(filled) : -len(filled)], voice.astype(np.float32) / 32768)
    assert not found[: len(filled)].any()


def test_an_offset_in_noise_is_removed_and_the_noise_is_not() -> None:
    noise = np.random.default_rng(5).normal(0, 40, RATE)
    found = around_zero((noise + 3_000).astype(np.int16), RATE)
    assert abs(float(found.mean())) < 1e-6
    assert float(found.std()) * 32768 == pytest.approx(40, rel=0.05)


def test_a_clipped_voice_is_not_silenced() -> None:
    """Flat tops of a 60 Hz voice that clips hard: under half a period."""
    t = np.arange(RATE) / RATE
    clipped = np.clip(200_000 * np.sin(2 * np.pi * 60 * t), -32_768, 32_767).astype(np.int16)
    assert (around_zero(clipped, RATE) == 0).mean() < 0.01


def test_no_samples_have_no_offset() -> None:
    assert around_zero(np.zeros(0, np.int16), RATE).size == 0
