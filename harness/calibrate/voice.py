"""A synthetic voice, made from formants: the speech model accepts it, and every sample of it is known.

Measuring an analyser needs sounds whose beginning is known to the sample and can be shaped at will: attack, level, leading
silence, noise. Recorded or neural speech cannot give that, since its own beginning is the unknown. So vowels are
made from glottal pulses through five formant resonators (the classic cascade synthesiser of Klatt, 1980), gliding from one
vowel to the next as speech does. The speech model gives it 0.5–1.0 within two windows at 100–210 Hz of pitch.
"""

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

Colour = Literal["white", "pink"]
_FRAMES_HZ: Final = 200
_VOWELS: Final = np.array(
    [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410), (660, 1720, 2410)]
)
"""First three formants of six vowels (Peterson and Barney, 1952, men)."""
_BANDWIDTHS_HZ: Final = (80.0, 100.0, 140.0, 200.0, 250.0)
_UPPER_FORMANTS_HZ: Final = (3500.0, 4500.0)
_ASPIRATION: Final = 0.01
_ACCENTS_HZ: Final = 5.0
"""Syllables a second, each with a pitch of its own: the speech model takes a voice that never changes for music."""


def synthetic_voice(duration_s: float, rate_hz: int, rng: np.random.Generator, pitch_hz: float = 120.0) -> NDArray[np.float64]:
    """Continuous vowels with an RMS of 1, starting at full strength with the first sample."""
    n = int(duration_s * rate_hz)
    t = np.arange(n) / rate_hz
    syllables = int(duration_s * _ACCENTS_HZ) + 3
    accents = rng.uniform(0.06, 0.2, syllables) * (-1.0) ** np.arange(syllables)
    pitch = pitch_hz * (1 + PchipInterpolator(np.arange(len(accents)) / _ACCENTS_HZ, accents)(t))
    source = _glottal_flow(np.cumsum(pitch) / rate_hz, rate_hz) + _ASPIRATION * rng.standard_normal(n)
    formants, loudness = _articulation(int(np.ceil(duration_s * _FRAMES_HZ)), rng)
    sound = _resonate(source, formants, rate_hz)
    frame_middles = (np.arange(len(loudness)) + 0.5) * rate_hz / _FRAMES_HZ
    sound *= np.interp(np.arange(n), frame_middles, loudness)
    normal: NDArray[np.float64] = sound / np.sqrt(np.mean(sound**2))
    return normal


def attack(samples: int, attack_s: float, rate_hz: int) -> NDArray[np.float64]:
    """A gain that rises from 0 to 1 in `attack_s` (half a cosine) and stays there."""
    rise = np.clip(np.arange(1, samples + 1) / max(1.0, attack_s * rate_hz), 0, 1)
    gain: NDArray[np.float64] = 0.5 - 0.5 * np.cos(np.pi * rise)
    return gain


def coloured_noise(samples: int, db: float, rng: np.random.Generator, colour: Colour = "white") -> NDArray[np.float64]:
    """Noise with an RMS of `db` of full scale. Pink: −3 dB an octave, by Paul Kellet's filter. Generated noise
    needs no licence and can have any length and level."""
    white = rng.standard_normal(samples + 4_000)
    if colour == "pink":
        white = lfilter(
            [0.049922035, -0.095993537, 0.050612699, -0.004408786],
            [1, -2.494956002, 2.017265875, -0.522189400],
            white,
        )
    sound = white[4_000:]
    out: NDArray[np.float64] = sound / np.sqrt(np.mean(sound**2)) * 10 ** (db / 20)
    return out


def _glottal_flow(phase: NDArray[np.float64], rate_hz: int) -> NDArray[np.float64]:
    """The derivative of Rosenberg's pulse: opening for 60 % of a period, closing for 15 %."""
    x = phase % 1
    opening, closing = 0.5 - 0.5 * np.cos(np.pi * x / 0.6), np.cos(np.pi / 2 * (x - 0.6) / 0.15)
    flow = np.where(x < 0.6, opening, np.where(x < 0.75, closing, 0))
    derivative: NDArray[np.float64] = np.diff(flow, prepend=0) * rate_hz / 1000
    return derivative


def _articulation(frames: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    formants, loudness = np.zeros((frames, 3)), np.zeros(frames)
    at = 0
    while at < frames:
        length = int(rng.uniform(0.1, 0.2) * _FRAMES_HZ)
        part = np.sin(np.pi * (np.arange(length) + 0.5) / length) ** 0.7
        formants[at : at + length] = _VOWELS[rng.integers(len(_VOWELS))]
        loudness[at : at + length] = (0.35 + 0.65 * part)[: frames - at]
        at += length
    return gaussian_filter1d(formants, 4, axis=0), loudness


def _resonate(source: NDArray[np.float64], formants: NDArray[np.float64], rate_hz: int) -> NDArray[np.float64]:
    frame = rate_hz // _FRAMES_HZ
    memory = [np.zeros(2) for _ in _BANDWIDTHS_HZ]
    out = np.zeros(len(source))
    for k, first_three in enumerate(formants):
        part = source[k * frame : (k + 1) * frame]
        for q, (centre, width) in enumerate(zip((*first_three, *_UPPER_FORMANTS_HZ), _BANDWIDTHS_HZ, strict=True)):
            if centre > 0.47 * rate_hz or not len(part):
                continue
            radius = np.exp(-np.pi * width / rate_hz)
            feedback = [1.0, -2 * radius * np.cos(2 * np.pi * centre / rate_hz), radius**2]
            part, memory[q] = lfilter([sum(feedback)], feedback, part, zi=memory[q])
        out[k * frame : (k + 1) * frame] = part
    return out
