"""The detection of pitch in a sound, which shares only the samples with the speech model.

A voice repeats itself every 2.5–14 ms; noise, breath and clicks do not. The normalised autocorrelation of 32 ms frames
measures how well a frame repeats, independent of training data and levels. It cannot separate a voice from music, and a whisper
has none, so it never decides alone: it tells a whisper from a note where the speech model is in doubt, a breath from a
word, and where in noise a voice may have begun.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

RATE_HZ: Final = 8_000
FRAME: Final = 256
HOP_S: Final = 0.005
HOP: Final = round(RATE_HZ * HOP_S)
PITCH_HZ: Final = (70.0, 400.0)
VOICED: Final = 0.55
"""Threshold: a periodic frame at 5 dB of signal to noise reaches 0.76, white noise 0.3 once in a thousand frames."""
_QUIETEST: Final = 1e-8


def voicing(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """The strength of repetition (0–1) of each 32 ms frame, one every 5 ms, of mono float at 8 kHz.

    Frame k begins with sample `k * HOP`. Rumble below the voice is removed first: it repeats by being slow.

    >>> hum = np.sin(np.arange(RATE_HZ) * 2 * np.pi * 200 / RATE_HZ).astype(np.float32)
    >>> bool(voicing(hum).min() > VOICED), bool(voicing(np.zeros(RATE_HZ, np.float32)).max() > VOICED)
    (True, False)
    """
    from scipy.signal import butter, sosfilt  # as in audio.onset: half a second to load, only for measurements

    if len(samples) < FRAME:
        return np.zeros(0)
    high = sosfilt(butter(4, 100, "highpass", fs=RATE_HZ, output="sos"), samples.astype(np.float64))
    frames = np.lib.stride_tricks.sliding_window_view(high, FRAME)[::HOP]
    frames = frames - frames.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(frames, 2 * FRAME, axis=1)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :FRAME]
    energy = np.cumsum(frames**2, axis=1)
    shortest, longest = round(RATE_HZ / PITCH_HZ[1]), round(RATE_HZ / PITCH_HZ[0])
    lags = np.arange(shortest, longest + 1)
    head = energy[:, FRAME - 1 - lags]
    tail = energy[:, -1:] - energy[:, lags - 1]
    strength = correlation[:, lags] / np.sqrt(np.maximum(head * tail, _QUIETEST))
    best: NDArray[np.float64] = np.clip(strength.max(axis=1), 0, 1)
    return best
