"""A caller away from the microphone, in a room: exponentially decaying noise after a direct sound (Polack's model).

The direct sound keeps its position and level, so that the end of the caller's speech does not change; what follows is
the room. The tail after the end of the signal is dropped: apply a condition to a track that includes the silence after
the turn.
"""

from __future__ import annotations

import numpy as np

from harness.audio.conditions.stage import OnLine, Stage
from harness.audio.pcm import Float32

DIRECT_TO_REVERBERANT_DB = 3.0
"""Ratio of direct to reverberant sound, as at about an arm's length from a speakerphone in a furnished room."""

FIRST_REFLECTION_S = 0.005


def reverberate(rt60_s: float) -> Stage:
    """A stage for a room whose sound falls by 60 dB in `rt60_s`."""

    def stage(line: OnLine) -> Float32:
        from scipy.signal import fftconvolve

        tail = room_tail(rt60_s, line.rate_hz, line.chance)
        reflected = np.asarray(fftconvolve(line.signal, tail)[: line.signal.size], dtype=np.float32)
        return line.signal + reflected

    return stage


def room_tail(rt60_s: float, rate_hz: int, chance: np.random.Generator) -> Float32:
    """The impulse response of a room without its direct sound."""
    time_s = np.arange(round(rt60_s * rate_hz)) / rate_hz
    tail = chance.standard_normal(time_s.size) * 10 ** (-3 * time_s / rt60_s)
    tail[time_s < FIRST_REFLECTION_S] = 0.0
    energy = float(np.sum(tail**2))
    return np.asarray(tail * np.sqrt(10 ** (-DIRECT_TO_REVERBERANT_DB / 10) / max(energy, 1e-12)), dtype=np.float32)
