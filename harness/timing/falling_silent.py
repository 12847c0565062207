"""Time at which a talking agent falls silent: the end of its speech, and not the end of its sentence.

Synthesisers leave 200–400 ms between sentences, so a short quiet after an interruption proves nothing: an agent that talks on
would be credited with stopping at its next full stop. The following sound decides. A quiet longer than any between sentences
is the end, and so is a short one in which the agent took back audio that it had sent; if its speech goes on after a short quiet
without that, it has not stopped.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import WINDOW_S, block_power
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.timing.utterances import AUDIBLE_POWER, UTTERANCE_GAP_S

FLOOR_PERCENTILE: Final = 5.0
OVER_FLOOR: Final = 10.0
"""Power over a track's own noise from which it sounds: 10 dB, as in recordings of rooms (`harness.audio.recorded_turns`). A
line's noise above −65 dB never ends, so by that level alone an agent on such a line would never fall silent."""
SILENT_S: Final = 0.2
"""Longer than the gaps between words, shorter than the quickest new answer. It is enough only where the agent cleared."""


def silent_from(track: HeardTrack, at: int, clears: Sequence[int]) -> int:
    """One past the last audible sample of the speech that is heard at a sample; `at` itself where nothing is heard from there.

    `clears`: samples at which the agent dropped audio that it had sent.
    """
    loud = _audible(track.samples, at)
    if not len(loud):
        return at
    for k in np.flatnonzero(np.diff(loud) > SILENT_S * HEARD_RATE_HZ):
        quiet, again = int(loud[k]), int(loud[k + 1])
        if again - quiet > UTTERANCE_GAP_S * HEARD_RATE_HZ or any(quiet <= c <= again for c in clears):
            return quiet + 1
    return int(loud[-1]) + 1


def _audible(samples: NDArray[np.float32], at: int) -> NDArray[np.intp]:
    """The samples from `at` on that sound; over a noise the last of each 8 ms that do."""
    block = round(WINDOW_S * HEARD_RATE_HZ)
    floor = float(np.percentile(block_power(samples, block), FLOOR_PERCENTILE)) if len(samples) else 0.0
    if floor * OVER_FLOOR <= AUDIBLE_POWER:
        return at + np.flatnonzero(samples[at:] ** 2 > AUDIBLE_POWER)
    blocks = np.flatnonzero(block_power(samples[at:], block) > floor * OVER_FLOOR)
    return np.minimum(at + (blocks + 1) * block, len(samples)) - 1
