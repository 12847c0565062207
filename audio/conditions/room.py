"""A caller away from the microphone, in a room: exponentially decaying noise after a direct sound (Polack's model).

The direct sound stays where it is and unchanged in level, so that the caller's speech ends where it ended; what follows is
the room. The tail that runs past the end of the signal is not kept: apply a condition to a track with the silence after
the turn in it.
"""

from __future__ import annotations

import numpy as np

from harness.audio.conditions.stage import OnLine, Stage
from harness.audio.pcm import Float32

DIRECT_TO_REVERBERANT_DB = 3.0
"""About an arm's length from a speakerphone in a furnished room."""

FIRST_REFLECTION_S = 0.005


def reverberate(rt60_s: float) -> Stage:
    """A room whose sound falls by 60 dB in `rt60_s`."""

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
