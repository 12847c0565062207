"""The rendering of each emotion, and its acoustic correlates in the literature.

The acoustic correlates follow two reviews: P. N. Juslin and P. Laukka, "Communication of emotions in vocal expression and
music performance", Psychological Bulletin 129 (2003), and, for depression, N. Cummins et al., "A review of depression and
suicide risk assessment using speech analysis", Speech Communication 71 (2015). Where studies disagree no direction is
given, and that measure cannot count for the rendering. The sizes of the changes are ours, chosen to be plain to measure
without hurting intelligibility; until people have judged them these are *rendered* emotions, a label and not a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness.audio.prosody import Prosody
from harness.nearest import or_one_of

Measure = Literal["f0_mean", "f0_range", "energy", "rate", "pause_share"]
MEASURES: tuple[Measure, ...] = ("f0_mean", "f0_range", "energy", "rate", "pause_share")
Direction = Literal[-1, 1]


class UnknownEmotion(ValueError):
    """An emotion word without a rendering; the message is one line."""


@dataclass(frozen=True, slots=True)
class RenderedEmotion:
    """The prosody at full intensity, and the direction of each measure against neutral on which the literature agrees."""

    prosody: Prosody
    expected: Mapping[Measure, Direction]


RENDERED: Mapping[str, RenderedEmotion] = {
    "neutral": RenderedEmotion(Prosody(), {}),
    "anger": RenderedEmotion(
        Prosody(4.0, 1.5, 6.0, 1.14, 0.6, 2.0),
        {"f0_mean": 1, "f0_range": 1, "energy": 1, "rate": 1, "pause_share": -1},
    ),
    "frustration": RenderedEmotion(
        Prosody(2.5, 1.3, 4.0, 1.10, 0.7, 1.2),
        {"f0_mean": 1, "f0_range": 1, "energy": 1, "rate": 1, "pause_share": -1},
    ),
    # Fear short of panic: high, fast and thin.
    "fear": RenderedEmotion(
        Prosody(4.5, 0.75, -2.0, 1.14, 0.8, -0.5),
        {"f0_mean": 1, "f0_range": -1, "energy": -1, "rate": 1},
    ),
    "sadness": RenderedEmotion(
        Prosody(-2.0, 0.6, -4.0, 0.88, 1.45, -1.5),
        {"f0_mean": -1, "f0_range": -1, "energy": -1, "rate": -1, "pause_share": 1},
    ),
    "despair": RenderedEmotion(
        Prosody(-2.5, 0.45, -5.0, 0.84, 1.45, -2.0),
        {"f0_mean": -1, "f0_range": -1, "energy": -1, "rate": -1, "pause_share": 1},
    ),
    # Few studies; they agree on a soft, slow and halting voice and not on its pitch.
    "shame": RenderedEmotion(
        Prosody(-1.0, 0.7, -5.0, 0.9, 1.4, -1.5),
        {"energy": -1, "rate": -1, "pause_share": 1},
    ),
    "joy": RenderedEmotion(
        Prosody(3.5, 1.45, 3.0, 1.08, 0.7, 1.0),
        {"f0_mean": 1, "f0_range": 1, "energy": 1, "rate": 1, "pause_share": -1},
    ),
    # As tenderness in the review.
    "relief": RenderedEmotion(
        Prosody(-1.5, 0.75, -3.0, 0.92, 1.25, -1.0),
        {"f0_mean": -1, "f0_range": -1, "energy": -1, "rate": -1},
    ),
}

RENDERED_AS: Mapping[str, str] = {
    **{name: name for name in RENDERED},
    **dict.fromkeys(("anxiety", "nervousness", "worry", "overwhelm"), "fear"),
    **dict.fromkeys(("grief", "loneliness", "disappointment", "pain"), "sadness"),
    **dict.fromkeys(("depression", "hopelessness"), "despair"),
    **dict.fromkeys(("resentment", "jealousy", "disgust"), "frustration"),
    **dict.fromkeys(("guilt", "embarrassment"), "shame"),
}
"""The rendering of each emotion word of contexts."""


def rendered_emotion(word: str) -> RenderedEmotion:
    """The rendering of an emotion word.

    Raises `UnknownEmotion`.
    """
    if word not in RENDERED_AS:
        raise UnknownEmotion(f"unknown emotion {word!r}{or_one_of(word, sorted(RENDERED_AS))}")
    return RENDERED[RENDERED_AS[word]]


def prosody_for(emotion: str, intensity: float) -> Prosody:
    """The prosody of an emotion word at an intensity from 0 (neutral) to 1.

    >>> prosody_for("sadness", 0.5).energy_db
    -2.0

    Raises `UnknownEmotion`.
    """
    full = rendered_emotion(emotion).prosody
    return Prosody(
        f0_semitones=full.f0_semitones * intensity,
        f0_range_factor=1 + (full.f0_range_factor - 1) * intensity,
        energy_db=full.energy_db * intensity,
        rate_factor=1 + (full.rate_factor - 1) * intensity,
        gap_factor=1 + (full.gap_factor - 1) * intensity,
        tilt_db_per_octave=full.tilt_db_per_octave * intensity,
    )
