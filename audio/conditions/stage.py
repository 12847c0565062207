"""What one stage of a line condition is handed, and what a stage is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.audio.pcm import Float32


@dataclass(frozen=True, slots=True)
class OnLine:
    """A signal on its way: samples, rate, the level of the dry caller's speech, and this stage's own chance."""

    signal: Float32
    rate_hz: int
    speech_dbfs: float
    chance: np.random.Generator


Stage = Callable[[OnLine], Float32]
"""A stage gives back as many samples as it got, none of them moved in time."""
