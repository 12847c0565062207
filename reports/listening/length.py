"""The length of a session in minutes, to tell people before they agree to it.

Sound must be heard to its end, so its length is certain; how often it is heard again, and how long a person reads and decides,
is not. So there are two ends: every sound once and quick decisions, or every sound twice and slow ones. Where raters of the
same test have answered before, their own times replace these assumptions: what an answer took beyond hearing everything once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np

from harness.ranking.votes_needed import READING_WORDS_PER_S
from harness.reports.listening.answers import Answer
from harness.reports.listening.design import ListeningDesign, scales
from harness.reports.listening.material import Material, seconds
from harness.reports.listening.plan import Item, deal

ASKED: Final = frozenset({"main", "gold", "attention"})
DECIDING_S: Final = {"ab": (8.0, 25.0), "acr": (4.0, 10.0)}
"""Assumed, not measured: a choice with a few typed words, and one scale of a rating."""
BESIDE_S: Final = {"level": (10.0, 30.0), "headphones": (4.0, 10.0), "break": (5.0, 60.0)}
"""Assumed as well: the steps beside the questions."""
MOST_PASSES: Final = 2.0
FEWEST_ANSWERS: Final = 30
"""Answers of earlier raters from which their times are used."""
_PLANS: Final = 5


@dataclass(frozen=True, slots=True)
class SessionLength:
    """What a session asks for. `questions`: pairs or single replies to judge; `practice`: further ones that do not count;
    `minutes`: of a quick rater and of a slow one; `answers`: earlier ones whose times were used, 0 where none were;
    `checks`: True if some of the questions check attention."""

    questions: int
    practice: int
    minutes: tuple[int, int]
    answers: int = 0
    checks: bool = True


def session_length(material: Material, design: ListeningDesign, answers: Sequence[Answer] = ()) -> SessionLength:
    """The length of a session of this test, the mean of a few that could be dealt."""
    plans = [deal(material.conversations, design, {}, seed) for seed in range(_PLANS)]
    took_s = [a.took_s for a in answers if a.item.role in ASKED]
    measured = len(took_s) >= FEWEST_ANSWERS

    def minutes(end: int, whole: Callable[[float], int]) -> int:
        of_question = float(np.percentile(took_s, (25, 75)[end])) if measured else None
        return max(whole(fmean(sum(_seconds(i, end, of_question, material, design) for i in plan) for plan in plans) / 60), 1)

    return SessionLength(
        questions=round(fmean(sum(item.role in ASKED for item in plan) for plan in plans)),
        practice=sum(item.role == "practice" for item in plans[0]),
        minutes=(minutes(0, math.floor), minutes(1, math.ceil)),
        answers=len(took_s) if measured else 0,
        checks=any(item.role == "gold" for plan in plans for item in plan),
    )


def _seconds(item: Item, end: int, of_question: float | None, material: Material, design: ListeningDesign) -> float:
    """One step for a quick rater (`end` 0) or a slow one (1). `of_question`: measured time of an answer beyond its sound."""
    sound_s = sum(seconds(path) for path in _sounds(item, material, design))
    if item.role in BESIDE_S:
        return sound_s + BESIDE_S[item.role][end]
    if of_question is not None:
        return sound_s + of_question
    questions = 1 if design.kind == "ab" else len(scales(design.medium))
    passes = (1.0, MOST_PASSES)[end]
    return passes * sound_s + _words(item, material, design) / READING_WORDS_PER_S + questions * DECIDING_S[design.kind][end]


def _sounds(item: Item, material: Material, design: ListeningDesign) -> list[Path]:
    if design.medium == "text" or item.role == "break":
        return []
    if item.role == "level":
        return [material.level()]
    if item.role == "headphones":
        return [material.headphones(item.expected or 1)]
    slots = [
        material.stimulus(s.context, s.system, gap_ms=s.gap_ms, degraded=s.degraded, after=item.context) for s in item.slots
    ]
    return [material.caller(item.context or ""), *slots]


def _words(item: Item, material: Material, design: ListeningDesign) -> int:
    """Words to read: what was said before, and in writing the caller's last turn and the replies as well."""
    history = material.by_id[item.context or ""].history
    read = [text for _, text in (history if design.medium == "text" else history[:-1])]
    if design.medium == "text":
        read += [material.by_id[slot.context].replies[slot.system].text for slot in item.slots]
    return sum(len(text.split()) for text in read)
