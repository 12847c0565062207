"""A voice that hums a vowel for every word. It shows the shape: text in, signals out, the same for the same seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.calibrate.voice import synthetic_voice


class Hummer:
    """A caller of no words. A real voice would load its model here, once a process."""

    identity = "hummer:1"
    """Renderings are kept under it: it must differ wherever a sample could."""
    rate_hz = 16_000

    def speak(self, texts: Sequence[str], seed: int) -> list[list[NDArray[np.float32]]]:
        """For each text its sentences; here each text is one."""
        return [[hum(0.3 * max(1, len(text.split())), self.rate_hz, 150.0 + seed % 20)] for text in texts]


def hum(seconds: float, rate_hz: int, pitch_hz: float) -> NDArray[np.float32]:
    """Vowels of a synthetic voice, the same for the same pitch."""
    return (0.1 * synthetic_voice(seconds, rate_hz, np.random.default_rng(1), pitch_hz)).astype(np.float32)
