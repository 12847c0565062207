"""Check of an onset by an independent detector; a turn on which they disagree gives no figure, with the reason.

The speech model and the energy pass share one mistake: where the model wakes up late, the energy pass searches in the wrong
place. Pitch depends on neither (`harness.audio.voicing`). Two disagreements make an onset unfit for an average: nothing
with a pitch follows it, or a pitch was sounding clearly before it. Both reasons are counted in the report.
"""

from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.voicing import FRAME, HOP_S, RATE_HZ, VOICED, voicing
from harness.recording.playout import HEARD_RATE_HZ

NO_PITCH: Final = "no pitch in what the speech model accepted"
EARLIER_PITCH: Final = "a pitch sounds before the onset"
LOOK_BEFORE_S: Final = 0.4
LOOK_AFTER_S: Final = 0.6
"""A fricative or a breathy beginning lasts up to 0.3 s; a sound without pitch for longer is no voice."""
RUN: Final = 4
"""Frames in a row, 47 ms of sound: about the shortest voiced sound of speech."""
AGREEMENT_S: Final = 0.045
"""A frame is 32 ms long and may be voiced with its last third alone; the rest is the error allowed in noise."""
QUIETER_DB: Final = 30.0
"""A pitch this far below the speech is an echo or a tone behind it, not the beginning."""


def disagreement(samples: NDArray[np.float32], onset: int, previous_end: int) -> str | None:
    """Reason why the second detector rejects an onset, or None. Sample numbers at 48 kHz; `previous_end` is where the
    utterance before it ended."""
    begin = max(0, previous_end, onset - round(LOOK_BEFORE_S * HEARD_RATE_HZ))
    stop = min(len(samples), onset + round(LOOK_AFTER_S * HEARD_RATE_HZ))
    narrow = soxr.resample(samples[begin:stop], HEARD_RATE_HZ, RATE_HZ, quality="HQ").astype(np.float32)
    voiced = voicing(narrow) >= VOICED
    level = np.array([np.mean(narrow[k : k + FRAME] ** 2) for k in range(0, len(narrow) - FRAME + 1, FRAME)] or [0.0])
    frames = np.lib.stride_tricks.sliding_window_view(narrow, FRAME)[:: round(RATE_HZ * HOP_S)]
    loud = (frames**2).mean(axis=1) > level.max() * 10 ** (-QUIETER_DB / 10)
    runs = _runs(voiced & loud)
    at_s = (onset - begin) / HEARD_RATE_HZ
    if not any((end * HOP_S + FRAME / RATE_HZ) > at_s for _, end in runs):
        return NO_PITCH
    starts_s = runs[0][0] * HOP_S + FRAME / RATE_HZ / 2
    return EARLIER_PITCH if starts_s < at_s - AGREEMENT_S else None


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Stretches of at least `RUN` set frames, as (first, last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    pairs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [(start, end - 1) for start, end in pairs if end - start >= RUN]
