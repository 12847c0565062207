"""A voice that hums a vowel for every word. It shows the shape: text in, signals out, the same for the same seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.agents.scripted_sound import voice


class Hummer:
    """A caller of no words. A real voice would load its model here, once a process."""

    identity = "hummer:1"
    """Renderings are kept under it: it must differ wherever a sample could."""
    rate_hz = 16_000

    def speak(self, texts: Sequence[str], seed: int) -> list[list[NDArray[np.float32]]]:
        """For each text its sentences; here each text is one."""
        return [[self._hum(len(text.split()), seed)] for text in texts]

    def _hum(self, words: int, seed: int) -> NDArray[np.float32]:
        pitch_hz = np.random.default_rng(seed).uniform(150.0, 170.0)
        return (0.1 * voice(0.3 * max(1, words), self.rate_hz, pitch_hz)).astype(np.float32)
