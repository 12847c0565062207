"""The sounds of a test: one level, exact gaps, tones that do what they are for."""

import io

import numpy as np
import pytest
import soundfile

from harness.audio.level import speech_power
from harness.reports.listening.sound import RATE_HZ, after_gap, degraded, flac, headphone_trial, level_tone, levelled


def voice(seconds: float, amplitude: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (amplitude * np.sin(2 * np.pi * 220 * at)).astype(np.float32)


@pytest.mark.parametrize("amplitude", [0.002, 0.05, 0.9])
def test_every_reply_comes_to_the_same_speech_level(amplitude: float) -> None:
    quiet_and_pause = np.concatenate([voice(1, amplitude), np.zeros(RATE_HZ, np.float32), voice(1, amplitude)])
    assert 10 * np.log10(speech_power(levelled(quiet_and_pause), RATE_HZ)) == pytest.approx(-26, abs=0.3)


def test_silence_stays_silence() -> None:
    assert not levelled(np.zeros(RATE_HZ, np.float32)).any()


@pytest.mark.parametrize("gap_ms", [0.0, 200.0, 1_234.0])
def test_the_gap_is_exact_to_the_sample(gap_ms: float) -> None:
    sound = after_gap(np.full(RATE_HZ, 0.5, np.float32), np.full(RATE_HZ, 0.5, np.float32), gap_ms)
    loud = np.flatnonzero(sound > 0.1)
    steps = np.diff(loud)
    assert (steps.max() - 1 if gap_ms else 0) == round(gap_ms * RATE_HZ / 1_000)


def test_the_antiphase_tone_cancels_on_loudspeakers_and_the_soft_one_does_not() -> None:
    for quietest in (1, 2, 3):
        trial = headphone_trial(quietest)
        third = len(trial) // 3
        mixed = [float(np.abs(trial[k * third : (k + 1) * third].sum(axis=1)).max()) for k in range(3)]
        left = [float(np.abs(trial[k * third : (k + 1) * third, 0]).max()) for k in range(3)]
        assert int(np.argmin(left)) + 1 == quietest
        assert int(np.argmin(mixed)) + 1 != quietest
        assert min(mixed) < 1e-6


def test_degraded_speech_is_as_loud_as_before_and_mostly_noise() -> None:
    clean = levelled(voice(1, 0.3))
    noisy = degraded(clean, seed=1)
    assert 10 * np.log10(speech_power(noisy, RATE_HZ)) == pytest.approx(-26, abs=0.5)
    assert abs(np.corrcoef(clean, noisy)[0, 1]) < 0.85


def test_files_carry_no_tags() -> None:
    content = flac(level_tone(0.2))
    with soundfile.SoundFile(io.BytesIO(content)) as file:
        assert file.copy_metadata() == {}
