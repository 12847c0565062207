"""Overlap of agent and caller: the agent's sound while the caller spoke, or inside one of the caller's pauses.

A pause counts as cut from its start until 300 ms after speech resumes, because an agent that has just decided to answer
is about to speak when the caller goes on. Only vocal sounds count: a click is not an interruption.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

RESUME_GRACE_MS: Final = 300.0
MIN_OVERLAP_MS: Final = 20.0
"""Shorter overlaps are within the error of measurement."""

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The pauses that were cut, and whether the agent talked over the caller outside them."""

    pause_was_cut: tuple[bool, ...]
    cut_in: bool


def judge_overlap(sounds: Sequence[Span], speech: Span, pauses: Sequence[Span]) -> Overlaps:
    """The overlap. All spans are in ms on one timeline: the agent's vocal sounds, the caller's speech, its marked pauses."""
    granted = [(start, min(end + RESUME_GRACE_MS, speech[1])) for start, end in pauses]
    cut = tuple(any(_overlap(sound, pause) > 0 for sound in sounds) for pause in granted)
    spoken = _without(speech, granted)
    overlap = sum(_overlap(sound, part) for sound in sounds for part in spoken)
    return Overlaps(cut, overlap >= MIN_OVERLAP_MS)


def _overlap(one: Span, other: Span) -> float:
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))


def _without(whole: Span, holes: Sequence[Span]) -> list[Span]:
    parts: list[Span] = []
    at = whole[0]
    for start, end in sorted(holes):
        if start > at:
            parts.append((at, start))
        at = max(at, end)
    if at < whole[1]:
        parts.append((at, whole[1]))
    return parts
