"""Two channels sent as one: the sound of an agent in which each pair of samples belongs together.

A stereo file sent as mono PCM plays at half speed, an octave lower, and is speech all the same: no detector of speech notices.
But its samples come in pairs (left, right), and a pair that starts at an even sample is alike where one that starts at an odd
sample is not. In sound of one channel both are equally alike, because neighbours are neighbours.

Samples that were repeated to raise a rate look the same and play at the right speed, so that the words name both.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import AUDIBLE_RMS
from harness.audio.pcm import Int16

Floats = NDArray[np.float64]

ENOUGH_S: Final = 1.0
"""Audible sound that is looked at."""
MOST_UNLIKE: Final = 0.5
"""Largest ratio of the unexplained power within pairs to that between them. Speech of one channel has .91–1.13 (twelve
recordings of flite, espeak-ng and Piper at 8 to 48 kHz, through μ-law too), noise and tones 1.0; two equal channels have 0, and
with −6 dB and noise of −40 dB in one of them at most .02, of −20 dB .08–.65."""

TWICE: Final = (
    "each sample comes twice: two channels sent as one are heard at half speed, so send one channel "
    "(samples repeated to raise the rate do no harm)"
)
ONE_EMPTY: Final = "every other sample is zero: two channels sent as one are heard at half speed, so send one channel"


def paired(samples: Int16) -> str:
    """The reason to take sound for two channels sent as one; empty if it is one."""
    signal = samples[: len(samples) // 2 * 2].astype(np.float64)
    if not (signal[0::2].any() and signal[1::2].any()):
        return ONE_EMPTY if signal.any() else ""
    # An offset, and code that fills with one value, are alike in any two samples.
    signal -= signal.mean()
    first, second = signal[0::2], signal[1::2]
    if len(first) < 2 or not signal.any():
        return ""
    return TWICE if _unexplained(first, second) <= MOST_UNLIKE * _unexplained(second[:-1], first[1:]) else ""


def _unexplained(given: Floats, other: Floats) -> float:
    """Share of the power of one signal that is no multiple of the other."""
    return 1.0 - float(given @ other) ** 2 / max(float(given @ given) * float(other @ other), 1e-9)


class TwoChannels:
    """A look at the first second of an agent's audible sound."""

    def __init__(self) -> None:
        self._pieces: list[Int16] = []
        self._audible_s = 0.0
        self._over = False

    def take(self, pcm: bytes, rate_hz: int) -> str:
        """The reason to take the sound for two channels, once, when enough has come; otherwise empty."""
        if self._over:
            return ""
        samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.int16)
        if not len(samples) or np.std(samples.astype(np.float64)) <= AUDIBLE_RMS:
            return ""
        # A piece of odd length would turn the pairs round.
        self._pieces.append(samples[: len(samples) // 2 * 2])
        self._audible_s += len(samples) / rate_hz
        if self._audible_s < ENOUGH_S:
            return ""
        self._over = True
        return paired(np.concatenate(self._pieces))
