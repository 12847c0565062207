"""The last half second of a phrase: level, a little up, or down to the bottom of the speaker's range.

A listener takes the pitch before a silence as a sign of what comes next, so it is set where it is heard: over the last
voiced frames, blended in so that no step is heard. Frames are whatever the voice works in; F0 is in log2 Hz.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

REACH_S = 0.45
"""Length of a boundary tone: the last stressed syllable and what follows it, in English at these rates."""
BLEND_S = 0.15
RISE_SEMITONES = 2.0
"""A continuation rise (L-H%) is small; 4 semitones and more are heard as a question."""
PLATEAU_ABOVE_LOW_SEMITONES = 4.0
"""The middle of a range of eight semitones: level pitch in the middle of the range means that the speaker goes on, at its
bottom it is the end of a fall (studies reviewed by Heldner, Edlund, Laskowski and Pelcé 2009)."""
HEARD_DB = 25.0
"""Level below the loudest frame of a phrase. In hibari's ends Praat's tracker finds no pitch below about that."""
FALL_BELOW_SEMITONES = 1.0
"""Distance of the end of a final fall below the turn's low (5th percentile)."""


def with_tone(
    log2_f0: Float64, voiced: NDArray[np.bool_], frame_s: float, tone: Literal["own", "plateau", "rise", "fall"], low: float
) -> Float64:
    """`log2_f0` of one phrase with its end moved; `low` is the bottom of the speaker's range in this turn (log2 Hz).

    `voiced` are the frames in which pitch is heard (`audibly_voiced`). Others are moved along, and what dies away after the
    last of them stays where the tone ends. A phrase that is not voiced is left alone.
    """
    if tone == "own" or not voiced.any():
        return log2_f0
    end = int(np.flatnonzero(voiced)[-1]) + 1
    start = max(0, end - round(REACH_S / frame_s))
    blend = max(1, round(BLEND_S / frame_s))
    inside = np.flatnonzero(voiced[start:end]) + start
    level = float(np.median(log2_f0[inside[: max(1, inside.size // 3)]]))
    moved = log2_f0.copy()
    k = np.arange(start, end)
    share = np.clip((k - start + 1) / blend, 0.0, 1.0)
    run = np.clip((k - start - blend) / max(1, end - start - blend), 0.0, 1.0)
    if tone == "fall":
        # Never up: a voice that falls lower by itself is not changed.
        target = np.minimum(log2_f0[k], level + (low - FALL_BELOW_SEMITONES / 12 - level) * run)
    elif tone == "rise":
        target = max(level, low + PLATEAU_ABOVE_LOW_SEMITONES / 12) + RISE_SEMITONES / 12 * run
    else:
        target = np.full(k.size, max(level, low + PLATEAU_ABOVE_LOW_SEMITONES / 12))
    moved[k] = log2_f0[k] * (1 - share) + target * share
    moved[end:] = moved[end - 1]
    return moved


def audibly_voiced(voiced: NDArray[np.bool_], level_db: Float64) -> NDArray[np.bool_]:
    """The audible voiced frames of a phrase: within `HEARD_DB` of its loudest; all of them if none is.

    A voice dies away over 100 ms and more, in which a network still has an F0 and nobody hears one.
    """
    if not voiced.any():
        return voiced
    heard = voiced & (level_db >= level_db[voiced].max() - HEARD_DB)
    return heard if heard.any() else voiced
