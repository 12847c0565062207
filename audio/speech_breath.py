"""A breath in as heard on a telephone: soft noise through an open mouth, rising and falling within a third of a second.

Breaths before speech carry most of their energy around and above the second formant of a neutral tract (1 to 4 kHz) and lie
far below the voice. It ends at the start of the marked pause, which stays true silence.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfilt

from harness.audio.pcm import Float32

DURATION_S = 0.3
BELOW_SPEECH_DB = 22.0
"""Level below speech: audible in a quiet room, and within the 40 dB that count as sound."""
BAND_HZ = (700.0, 4_000.0)


def breath(rate_hz: int, speech_dbfs: float, seed: int) -> Float32:
    """A breath `BELOW_SPEECH_DB` below a speech level of `speech_dbfs`; the same seed gives the same samples."""
    size = round(DURATION_S * rate_hz)
    noise = np.random.default_rng(seed).standard_normal(size)
    shaped = sosfilt(butter(2, BAND_HZ, "bandpass", fs=rate_hz, output="sos"), noise)
    time = np.linspace(0, 1, size)
    shaped *= np.sin(np.pi * time**0.8) ** 2
    level = np.sqrt(np.mean(shaped**2))
    return np.asarray(shaped / level * 10 ** ((speech_dbfs - BELOW_SPEECH_DB) / 20), dtype=np.float32)
