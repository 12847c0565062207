"""Noises around a caller, synthesised at random so that no recording has to be shipped, or taken from a user's file.

Each source fills any number of samples and is then set to its level as a whole; a signal-to-noise ratio refers to the
speech level of the dry caller (active speech, without pauses) against the RMS of the noise. Babble is hardest for end-of-turn
detectors, so it is built from voices: pulse trains with varying pitch through vowels that change at the pace
of syllables, several talkers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.audio.conditions.line import OnLine
from harness.audio.pcm import Float32, resample_float
from harness.audio.sound_file import Bounds, SoundFault, read_float

Noise = Callable[[int, int, np.random.Generator], Float32]
"""(samples, rate in Hz, random generator) → noise of any level."""

FILE_MARK = "file:"
NOISE_BOUNDS = Bounds(longest_s=600.0)
"""Longest recorded noise: ten minutes have every sound of a place, and a longer one only takes memory in every caller."""
TALKERS = 6
"""Number of talkers: fewer are heard as single voices, many more merge into steady noise."""

VOWELS_HZ = (
    (730, 1090, 2440),
    (530, 1840, 2480),
    (270, 2290, 3010),
    (570, 840, 2410),
    (300, 870, 2240),
    (640, 1190, 2390),
)
"""First three formants of six American English vowels, men's means (Peterson and Barney, 1952)."""

FORMANT_WIDTHS_HZ = (80.0, 100.0, 140.0)


def add_noise(line: OnLine, source: Noise, noise_dbfs: float) -> Float32:
    """The signal with noise whose RMS is `noise_dbfs`."""
    noise = source(line.signal.size, line.rate_hz, line.chance).astype(np.float64)
    rms = float(np.sqrt(np.mean(noise**2))) if noise.size else 0.0
    if rms <= 0:
        return line.signal
    return np.asarray(line.signal + noise * (10 ** (noise_dbfs / 20) / rms), dtype=np.float32)


def white(samples: int, rate_hz: int, chance: np.random.Generator) -> Float32:
    """White noise: a bad connection's hiss."""
    del rate_hz
    return chance.standard_normal(samples).astype(np.float32)


def hum(samples: int, rate_hz: int, chance: np.random.Generator) -> Float32:
    """50 Hz mains hum with its odd and even harmonics, falling by 6 dB an octave."""
    time_s = np.arange(samples) / rate_hz
    wave = sum(np.sin(2 * np.pi * 50 * k * time_s + chance.uniform(0, 2 * np.pi)) / k for k in range(1, 9))
    return np.asarray(wave, dtype=np.float32)


def street(samples: int, rate_hz: int, chance: np.random.Generator) -> Float32:
    """Traffic: noise falling by 6 dB an octave above 150 Hz, swelling as vehicles pass every few seconds."""
    from scipy.signal import lfilter

    rumble = lfilter([1.0], [1.0, -np.exp(-2 * np.pi * 150 / rate_hz)], chance.standard_normal(samples))
    time_s = np.arange(samples) / rate_hz
    swell = np.full(samples, 0.4)
    passing_s = chance.uniform(0, 2)
    while passing_s < samples / rate_hz + 2:
        swell += chance.uniform(0.4, 1.0) * np.exp(-0.5 * ((time_s - passing_s) / chance.uniform(0.5, 1.2)) ** 2)
        passing_s += chance.exponential(3.0)
    return np.asarray(rumble * swell, dtype=np.float32)


def babble(samples: int, rate_hz: int, chance: np.random.Generator) -> Float32:
    """Several people talking at once, none of them intelligible."""
    return np.asarray(
        sum(chance.uniform(0.6, 1.0) * _talker(samples, rate_hz, chance) for _ in range(TALKERS)), dtype=np.float32
    )


def _talker(samples: int, rate_hz: int, chance: np.random.Generator) -> Float32:
    from scipy.signal import lfilter

    pitch_hz = chance.choice([chance.uniform(90, 140), chance.uniform(170, 240)])
    out = np.zeros(samples)
    phase = 0.0
    start = 0
    while start < samples:
        count = min(round(chance.uniform(0.12, 0.3) * rate_hz), samples - start)
        if chance.random() < 0.15:  # a breath between phrases
            start += count
            continue
        contour = pitch_hz * 2 ** (np.linspace(chance.normal(0, 2), chance.normal(0, 2), count) / 12)
        turns = phase + np.cumsum(contour / rate_hz)
        voiced = np.diff(np.floor(turns), prepend=np.floor(phase)) + 0.02 * chance.standard_normal(count)
        phase = float(turns[-1] % 1.0)
        for formant_hz, width_hz in zip(VOWELS_HZ[chance.integers(len(VOWELS_HZ))], FORMANT_WIDTHS_HZ, strict=True):
            if formant_hz < rate_hz / 2:
                radius = np.exp(-np.pi * width_hz / rate_hz)
                feedback = [1.0, -2 * radius * np.cos(2 * np.pi * formant_hz / rate_hz), radius**2]
                voiced = lfilter([1 - radius], feedback, voiced)
        out[start : start + count] = voiced * np.hanning(count) * chance.uniform(0.3, 1.0)
        start += count
    return np.asarray(out / max(float(np.sqrt(np.mean(out**2))), 1e-9), dtype=np.float32)


def from_file(path: Path) -> Noise:
    """Noise from a recording, repeated as long as needed from a random position.

    Raises `ValueError` with one line for a file that cannot be read or is silent.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        channels, recorded_hz = read_float(path, NOISE_BOUNDS)
    except SoundFault as fault:
        raise ValueError(f"{path}: {fault}") from fault
    mono = np.asarray(channels.mean(axis=0), dtype=np.float32)
    if mono.size == 0 or not np.any(mono):
        raise ValueError(f"{path} holds no sound")

    def source(samples: int, rate_hz: int, chance: np.random.Generator) -> Float32:
        at_rate = resample_float(mono, recorded_hz, rate_hz)
        first = int(chance.integers(at_rate.size))
        return np.take(at_rate, np.arange(first, first + samples), mode="wrap")

    return source
