"""The types of a line condition's stages and of their input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.audio.pcm import Float32


@dataclass(frozen=True, slots=True)
class OnLine:
    """The input of a stage: samples, rate, the level of the dry caller's speech, and the stage's own random generator."""

    signal: Float32
    rate_hz: int
    speech_dbfs: float
    chance: np.random.Generator


Stage = Callable[[OnLine], Float32]
"""A function that returns as many samples as it got, none of them shifted in time."""
