"""How good a judge is, found before it is believed: pairs with known answers, asked in both orders.

Accuracy is the share of right verdicts (a judge that is asked in one order counts each order by half); the flip rate is
the share of pairs whose *single-order* verdict changes with the order. Position bias is how far its first place is
favoured, length bias how far longer replies are. Intervals resample conversations. `trusted` asks for a lower bound of
accuracy above 60 % and flips under 20 %; a judge with half or more of the pairs wrong is excluded, as people who fail
the checks are.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.judging.embedded import EmbeddedJudge, held_out_record
from harness.judging.intervals import clustered_mean
from harness.judging.judge import Judge, JudgeFailure, Question
from harness.judging.labelled import LabelledPair, load_pairs
from harness.store.judgment import JudgeCheck

_Key = TypeVar("_Key", bound=str)
TRUSTED_LOWER_BOUND = 0.60
TRUSTED_FLIPS_BELOW = 0.20
EXCLUDED_FROM_WRONG = 0.50
MISSING_TOLERATED = 0.20
"""A judge that leaves more of the gold unanswered has not been checked, whatever it answered."""


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """What a judge said of one labelled pair. Scores are 1 right, 0 wrong, ½ where the two orders disagree."""

    pair: LabelledPair
    score: float | None
    flipped: bool
    first_chosen: tuple[bool, ...]
    axes_right: int = 0
    axes_marked: int = 0


def check_judge(
    judge: Judge,
    seed: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    *,
    pairs: Sequence[LabelledPair] | None = None,
) -> JudgeCheck:
    """Put a judge through the gold pairs (or `pairs`). Blocks; see `check_judge_async`."""
    return asyncio.run(check_judge_async(judge, seed, progress, pairs=pairs))


async def check_judge_async(
    judge: Judge,
    seed: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    *,
    pairs: Sequence[LabelledPair] | None = None,
) -> JudgeCheck:
    """Put a judge through the gold pairs (or `pairs`), in both orders; `seed` is that of the intervals."""
    chosen = load_pairs("gold") if pairs is None else pairs
    return summarise(judge, await ask_pairs(judge, chosen, progress), seed)


async def ask_pairs(
    judge: Judge, pairs: Sequence[LabelledPair], progress: Callable[[int, int, str], None] | None = None
) -> list[CheckedPair]:
    """What the judge says of each pair, in the pairs' order."""
    gate, done = asyncio.Semaphore(judge.concurrency), 0

    async def one(pair: LabelledPair) -> CheckedPair:
        nonlocal done
        async with gate:
            checked = await ask_pair(judge, pair)
        done += 1
        if progress is not None:
            progress(done, len(pairs), pair.id)
        return checked

    async with judge:
        return list(await asyncio.gather(*(one(pair) for pair in pairs)))


async def ask_pair(judge: Judge, pair: LabelledPair) -> CheckedPair:
    """One labelled pair in both orders."""
    question = Question(pair.turns, pair.better, pair.worse)
    try:
        forward = await judge.compare(question)
        backward = await judge.compare(question.swapped())
    except JudgeFailure:
        return CheckedPair(pair, None, False, ())
    right = (forward.winner == "first", backward.winner == "second")
    marks = [mark.winner == "first" for axis, mark in forward.axes.items() if axis == pair.axis]
    return CheckedPair(
        pair,
        score=sum(right) / len(right),
        flipped=forward.winner == backward.winner,
        first_chosen=(forward.winner == "first", backward.winner == "first"),
        axes_right=sum(marks),
        axes_marked=len(marks),
    )


def summarise(judge: Judge, checked: Sequence[CheckedPair], seed: int) -> JudgeCheck:
    """The check as it stands beside every figure the judge makes."""
    answered = [(c, c.score) for c in checked if c.score is not None]
    missing = len(checked) - len(answered)
    if not answered:
        return JudgeCheck(
            judge=judge.id, family=judge.family, pairs=0, accuracy=0.0, accuracy_interval=None, flip_rate=1.0,
            trusted=False, excluded=True, missing=missing, note="It answered none of the pairs with known answers.",
        )  # fmt: skip
    accuracy, interval = _clustered([(c, score) for c, score in answered], seed)
    flip_rate, flip_interval = _clustered([(c, float(c.flipped)) for c, _ in answered], seed)
    position, position_interval = _clustered([(c, sum(c.first_chosen) / 2 - 0.5) for c, _ in answered], seed)
    pulls = [(c, _length_pull(c.pair, score)) for c, score in answered if _longer(c.pair) is not None]
    length, length_interval = _clustered(pulls, seed) if pulls else (None, None)
    record = held_out_record() if isinstance(judge, EmbeddedJudge) else {}
    enough = missing <= MISSING_TOLERATED * len(checked)
    trusted = enough and interval[0] > TRUSTED_LOWER_BOUND and flip_rate < TRUSTED_FLIPS_BELOW
    return JudgeCheck(
        judge=judge.id,
        family=judge.family,
        pairs=len(answered),
        accuracy=accuracy,
        accuracy_interval=interval,
        flip_rate=flip_rate,
        flip_interval=flip_interval,
        trusted=trusted,
        excluded=accuracy <= EXCLUDED_FROM_WRONG,
        position_bias=position,
        position_interval=position_interval,
        length_bias=length,
        length_interval=length_interval,
        missing=missing,
        by_axis=_share_by([(c.pair.axis, score) for c, score in answered]),
        by_difficulty=_share_by([(c.pair.difficulty, score) for c, score in answered]),
        held_out_accuracy=record.get("accuracy"),
        held_out_interval=record.get("interval"),
        note=_note(accuracy, interval, flip_rate, missing, len(checked), trusted=trusted),
    )


def _clustered(values: Sequence[tuple[CheckedPair, float]], seed: int) -> tuple[float, tuple[float, float]]:
    return clustered_mean([v for _, v in values], [c.pair.conversation_id for c, _ in values], seed=seed)


def _longer(pair: LabelledPair) -> bool | None:
    better, worse = len(pair.better.split()), len(pair.worse.split())
    return None if better == worse else better > worse


def _length_pull(pair: LabelledPair, score: float) -> float:
    """Chose the longer, less is the better one the longer: 0 on average for a judge blind to length."""
    better_is_longer = bool(_longer(pair))
    chose_longer = score if better_is_longer else 1 - score
    return chose_longer - float(better_is_longer)


def _share_by(answered: Sequence[tuple[_Key, float]]) -> dict[_Key, float]:
    groups: dict[_Key, list[float]] = defaultdict(list)
    for key, score in answered:
        groups[key].append(score)
    return {key: sum(groups[key]) / len(groups[key]) for key in sorted(groups)}


def _note(accuracy: float, interval: tuple[float, float], flips: float, missing: int, asked: int, *, trusted: bool) -> str:
    if trusted:
        return ""
    if missing > MISSING_TOLERATED * asked:
        return f"It left {missing} of {asked} pairs with known answers unanswered; it has not been checked."
    if interval[0] <= 0.5:
        return (
            f"Right on {accuracy:.0%} of pairs with known answers, which cannot be told from chance: "
            "its ratings say nothing reliable about quality."
        )
    if flips >= TRUSTED_FLIPS_BELOW:
        return f"Its verdict changes with the order shown on {flips:.0%} of pairs: treat its ratings as weak evidence."
    return f"Right on {accuracy:.0%} of pairs with known answers: better than chance, not good enough to trust alone."
