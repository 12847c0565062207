"""The tonality of a sound: steady pitch, as of music or a hum in a room.

A note keeps each of its partials at one frequency; a voice glides, and its fifth harmonic glides five times as far. So: how
much of the energy between 300 and 3,400 Hz lies in spectral lines that stay in place for a quarter of a second? Piper's
voice: 0.0–0.3 over ten sentences; chords of notes from 1 s down to 150 ms: 0.86–1.0. A voice of one pitch reaches 0.8, so
this finds sounds *beside* speech and never says that something is no voice.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter, uniform_filter1d

RATE_HZ: Final = 8_000
WINDOW: Final = 1024
HOP: Final = 256
STEADY_FRAMES: Final = 5
"""Five windows of 128 ms, 32 ms apart: 256 ms."""
MUSICAL: Final = 0.75
"""Threshold midway between the steadiest natural speech and the liveliest music measured."""
_BAND_HZ: Final = (300, 3_400)
_PEAK_DB: Final = 10.0
"""Least level of a spectral line over the mean of the 400 Hz around it."""
_AROUND: Final = 51


def tonality(samples: NDArray[np.float32]) -> float:
    """The share (0–1) of energy in spectral lines that stay in place; mono float at 8 kHz.

    >>> note = np.sin(np.arange(RATE_HZ) * 2 * np.pi * 880 / RATE_HZ).astype(np.float32)
    >>> tonality(note) > MUSICAL
    True
    """
    padded = np.pad(samples.astype(np.float64), (0, max(0, WINDOW - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP] * np.hanning(WINDOW)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    decibels = 10 * np.log10(power + 1e-20)
    standing_out = decibels > uniform_filter1d(decibels, _AROUND, axis=1) + _PEAK_DB
    peaks = (power == maximum_filter(power, size=(1, 5))) & standing_out
    lines = _steady(maximum_filter(peaks, size=(1, 3)))
    low, high = (round(hz * WINDOW / RATE_HZ) for hz in _BAND_HZ)
    whole = float(power[:, low:high].sum())
    kept = maximum_filter(lines, size=(1, 3))
    return float((power * kept)[:, low:high].sum()) / whole if whole > 0 else 0.0


def _steady(peaks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Peaks that belong to a run of at least `STEADY_FRAMES` frames in the same bin."""
    if len(peaks) < STEADY_FRAMES:
        return np.zeros_like(peaks)
    starts = len(peaks) - STEADY_FRAMES + 1
    runs = np.ones((starts, peaks.shape[1]), np.bool_)
    for k in range(STEADY_FRAMES):
        runs &= peaks[k : k + starts]
    steady = np.zeros_like(peaks)
    for k in range(STEADY_FRAMES):
        steady[k : k + starts] |= runs
    return steady
