"""The pauses inside an utterance of the agent, which part a murmur from the answer that follows it.

An utterance ends after half a second, so that a pause between two sentences does not end it. A murmur and the answer behind
it may be nearer than that, and are two things (`harness.replies.kinds`). The speech model answers too late to part them to the
millisecond; the level does, if it is compared with the sound's own noise.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import block_power, speech_power
from harness.recording.playout import HEARD_RATE_HZ
from harness.replies.kinds import PARTED_MS

BLOCK_S: Final = 0.01
QUIET_DB: Final = 30.0
"""So far under its own level fluent speech is for 100 ms at most, in closures and at the ends of words."""
OVER_NOISE_DB: Final = 6.0
LEAST_DB: Final = 10.0
"""With less between voice and noise nothing is parted."""
NOISE_PERCENTILE: Final = 5
"""A pause of a quarter of a second is this share of five seconds."""


def inner_pauses(samples: NDArray[np.float32], start: int, end: int) -> list[tuple[int, int]]:
    """The pauses of `PARTED_MS` and more between two samples, as (first sample that is quiet, first that is not)."""
    block = round(BLOCK_S * HEARD_RATE_HZ)
    level = block_power(samples[start:end], block)
    speech = speech_power(samples[start:end], HEARD_RATE_HZ)
    if not len(level) or speech <= 0:
        return []
    noise = float(np.percentile(level, NOISE_PERCENTILE)) * 10 ** (OVER_NOISE_DB / 10)
    quiet = max(speech * 10 ** (-QUIET_DB / 10), min(noise, speech * 10 ** (-LEAST_DB / 10)))
    loud = np.flatnonzero(level > quiet)
    gaps = np.flatnonzero(np.diff(loud) > PARTED_MS / 1000 / BLOCK_S)
    return [(start + (int(loud[k]) + 1) * block, start + int(loud[k + 1]) * block) for k in gaps]
