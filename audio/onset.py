"""Where a vocal sound starts, to about a millisecond, once a speech model has said that it is one.

An energy pass looks backwards from the window that the model accepted. Over digital silence the onset is where the 8 ms
level comes within 40 dB of the speech that follows, the definition that `audio.level` gives for the end of the caller's
turn and that an editor shows. Over noise that edge is buried, so the level must rise 10 dB over the floor instead; the
floor is measured in the sound right before, never in the speech itself.

What is joined to the speech: a piece that is separated from it by less than the closure of a stop consonant (the /s/ of
"stay"). What is not: a click, which is shorter than any speech sound and stands apart.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audio.level import EDGE_DB, WINDOW_S, decibels

BLOCK_S: Final = 0.0005
"""The grid of the search: half a millisecond, half of the bias that is allowed."""
FLOOR_RISE_DB: Final = 10.0
CORE_S: Final = 0.064
"""Two windows of the model: speech is surely under way at the end of the second one it accepted."""
LOOK_BACK_S: Final = 0.25
"""How far before the accepted window the sound may begin: soft attacks of 150 ms and a fricative before the vowel."""
FLOOR_S: Final = 0.5
"""How much of the sound before that is taken for the floor."""
FLOOR_MIN_S: Final = 0.04
FLOOR_PERCENTILE: Final = 10.0
"""Low, because a soft attack may already lie in what comes before the accepted window."""
_FLOOR_BLOCKS: Final = 8
CLOSURE_S: Final = 0.09
"""The longest silence inside a word: the closure of a stop consonant."""
CLICK_S: Final = 0.03
JOIN_S: Final = 0.012
"""Dips shorter than a pitch period and a half are not gaps."""


@dataclass(frozen=True, slots=True)
class Onset:
    """Where a sound starts, in samples, and what it was judged by (dB of full scale)."""

    sample: int
    level_db: float
    floor_db: float


def find_onset(samples: NDArray[np.float32], rate_hz: int, accepted: int) -> Onset:
    """The start of the vocal sound of which the model accepted the window that begins at sample `accepted`."""
    block = round(rate_hz * BLOCK_S)
    per_window = round(WINDOW_S / BLOCK_S)
    core_end = min(len(samples), accepted + round(rate_hz * CORE_S))
    begin = max(0, accepted - round(rate_hz * (LOOK_BACK_S + FLOOR_S)))
    begin -= begin % block
    blocks = (samples[begin:core_end].astype(np.float64) ** 2)[: (core_end - begin) // block * block]
    level = blocks.reshape(-1, block).mean(axis=1)
    trailing = np.convolve(level, np.ones(per_window) / per_window)[: len(level)]
    speech = float(trailing[-round(CORE_S / BLOCK_S) :].max())
    search_from = max(0, len(level) - round((CORE_S + LOOK_BACK_S) / BLOCK_S))
    floor = _floor(level[: -round(CORE_S / BLOCK_S)])
    threshold = max(speech * 10 ** (-EDGE_DB / 10), floor * 10 ** (FLOOR_RISE_DB / 10))
    start = _walk_back(trailing >= min(threshold, speech / 2), search_from)
    return Onset(begin + start * block, decibels(speech), decibels(floor))


def _floor(level: NDArray[np.float64]) -> float:
    """Power of the sound before the accepted window: 0 where there was none."""
    before = level[level > 1e-10]
    if len(before) * BLOCK_S < FLOOR_MIN_S:
        return 0.0
    smooth = np.convolve(before, np.ones(_FLOOR_BLOCKS) / _FLOOR_BLOCKS, "valid")
    return float(np.percentile(smooth, FLOOR_PERCENTILE))


def _walk_back(loud: NDArray[np.bool_], search_from: int) -> int:
    """First block of the sound that ends with the last loud block."""
    islands = _islands(loud[search_from:])
    if not islands:
        return len(loud) - 1
    start, end = islands.pop()
    while islands:
        before_start, before_end = islands.pop()
        gap_s, length_s = (start - before_end) * BLOCK_S, (before_end - before_start) * BLOCK_S
        if gap_s > CLOSURE_S or (length_s < CLICK_S and gap_s > JOIN_S):
            break
        start, end = before_start, end
    return search_from + start


def _islands(loud: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Stretches of loud blocks, as (first, past the last), dips shorter than `JOIN_S` closed."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(np.int8)))
    islands: list[tuple[int, int]] = []
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if islands and (start - islands[-1][1]) * BLOCK_S < JOIN_S:
            islands[-1] = (islands[-1][0], end)
        else:
            islands.append((start, end))
    return islands
