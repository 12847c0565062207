"""Time at which a talking agent falls silent: the end of its speech, and not the end of its sentence.

Synthesisers leave 200–400 ms between sentences, so a short quiet after an interruption proves nothing: an agent that talks on
would be credited with stopping at its next full stop. The following sound decides. A quiet longer than any between sentences
is the end, and so is a short one in which the agent took back audio that it had sent; if its speech goes on after a short quiet
without that, it has not stopped.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.timing.utterances import AUDIBLE_POWER, UTTERANCE_GAP_S

SILENT_S: Final = 0.2
"""Longer than the gaps between words, shorter than the quickest new answer. It is enough only where the agent cleared."""


def silent_from(track: HeardTrack, at: int, clears: Sequence[int]) -> int:
    """One past the last audible sample of the speech that is heard at a sample; `at` itself where nothing is heard from there.

    `clears`: samples at which the agent dropped audio that it had sent.
    """
    loud = at + np.flatnonzero(track.samples[at:] ** 2 > AUDIBLE_POWER)
    if not len(loud):
        return at
    for k in np.flatnonzero(np.diff(loud) > SILENT_S * HEARD_RATE_HZ):
        quiet, again = int(loud[k]), int(loud[k + 1])
        if again - quiet > UTTERANCE_GAP_S * HEARD_RATE_HZ or any(quiet <= c <= again for c in clears):
            return quiet + 1
    return int(loud[-1]) + 1
