"""Check of a judge against people's ratings of replies that this project did not write.

The judge is asked about all clear pairs, and about closer pairs until the plan is full, each in both orders. Accuracy is of
clear pairs; its interval resamples conversations. Shown beside it are the accuracy of rules without any understanding on the
same pairs (`BASELINES`), and how often one rater agrees with all others: no judge can be expected to do better. A judge below a
one-line rule has not learnt what people value, whatever its accuracy. The share of right verdicts at each strength is of all
pairs.

Where a file has one reply a context there are no pairs. Then replies to different conversations are compared, each with its
own conversation, and only the rank correlation with people's order is reported: it can give no trust.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import ValidationError
from scipy.stats import spearmanr

from harness.judging.cache import VerdictCache, ask_all, ask_both
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.judging.validation.peoples_labels import CLEAR, PeoplesLabels, PeoplesPair, worths
from harness.ranking.clustered_means import clustered_mean, clustered_share
from harness.store.judgment import PeopleCheck, Reliability

MOST_PAIRS: Final = 1_000
"""Most pairs asked of one file: an interval of ±3 points at worst, if all conversations differ. Of more, a random part."""
GAPS: Final = ((0.0, 1 / 6, "under a sixth"), (1 / 6, CLEAR, "a sixth to a third"), (CLEAR, 1.01, "a third and more"))
"""From, to (exclusive), as shares of the scale."""
BINS: Final = ((0.5, 0.6), (0.6, 0.75), (0.75, 0.9), (0.9, 1.01))
"""Bands of the probability that the chosen reply is better, from and to (exclusive): few, so that each has enough verdicts."""
LONGER: Final = "the longer reply wins"
BASELINES: Final[dict[str, Callable[[str], float]]] = {
    LONGER: lambda text: len(text.split()),
    "more question marks win": lambda text: text.count("?"),
}
"""One-line rules without any understanding, which a judge must beat on the same pairs that it is checked on.

Raters of other people's data often prefer the longer reply, or the one that asks; how often they do differs from set
to set. So each rule is applied to the same pairs, and shown with how often the judge and people chose the side that the rule
chooses: a judge that follows a rule more often than people do has learnt a style.
"""


@dataclass(frozen=True, slots=True)
class _Answer:
    pair: PeoplesPair
    score: float
    """1 right, 0 wrong, ½ where the orders disagree."""
    said: tuple[tuple[Verdict, bool], ...] = ()
    """The verdict in either order, the better reply first and then second, and whether it was right."""
    kept: int = 0
    """Number of these that were stored already."""


async def check_against(
    judge: Judge,
    labels: PeoplesLabels,
    seed: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    *,
    under_way: Path | None = None,
) -> PeopleCheck:
    """Ask a judge about people's pairs, in both orders; returns how far it agrees with them.

    `under_way`: a file that stores the answers, so that a check that was stopped continues where it was; the caller deletes it
    once the check is done, because the next check asks anew.
    """
    pairs = labels.pairs()
    # Questions on one conversation follow one another, because a local model reuses what it read for the last.
    asked = sorted(_drawn(pairs or labels.across(seed), seed), key=lambda pair: pair.context)
    with VerdictCache(under_way) as cache:
        given = await ask_all(judge, asked, lambda pair: _ask(judge, pair, cache), lambda pair: pair.context, progress)
    answers = [answer for answer in given if answer is not None]
    check = figures(judge, labels, answers if pairs else (), seed, missing=len(asked) - len(answers))
    if pairs:
        return check
    correlation, replies = _board_correlation(answers, labels)
    kept_before = sum(answer.kept for answer in answers)
    return check.model_copy(
        update={
            "one_reply_a_context": True, "board_correlation": correlation, "replies": replies, "answers_kept": kept_before,
        }
    )  # fmt: skip


async def _ask(judge: Judge, pair: PeoplesPair, cache: VerdictCache) -> _Answer | None:
    question = Question(pair.turns, pair.better, pair.worse, pair.worse_turns)
    try:
        both = await ask_both(judge, question, cache)
    except JudgeFailure:
        return None
    said = tuple((verdict, verdict.winner == place) for (verdict, _), place in zip(both, ("first", "second"), strict=True))
    return _Answer(pair, sum(right for _, right in said) / len(said), said, sum(was_kept for _, was_kept in both))


def figures(judge: Judge, labels: PeoplesLabels, answers: Sequence[_Answer], seed: int, *, missing: int = 0) -> PeopleCheck:
    """The check from the answers."""
    clear = [a for a in answers if a.pair.clear]
    accuracy, interval = _share([(a.pair.context, a.score) for a in clear], seed)
    reached = {
        name: _share([(a.pair.context, by_rule(rule, a.pair)) for a in clear], seed)[0] for name, rule in BASELINES.items()
    }
    best = max(reached, key=lambda name: reached[name] or 0.0)
    over = {
        name: _difference([(a.pair.context, a.score - by_rule(rule, a.pair)) for a in clear], seed)
        for name, rule in BASELINES.items()
    }
    by_gap = {}
    for low, high, name in GAPS:
        share, _ = _share([(a.pair.context, a.score) for a in answers if low <= a.pair.gap < high], seed)
        by_gap[name] = share
    leaning = leanings([(a.pair, a.score) for a in answers])
    first = [float(verdict.winner == "first") for a in answers for verdict, _ in a.said]
    correlation, replies = _board_correlation(answers, labels)
    return PeopleCheck(
        judge=judge.id,
        fingerprint=judge.fingerprint,
        source=labels.name,
        sha256=labels.sha256,
        conversations=len({a.pair.context for a in clear}),
        pairs=len(clear),
        accuracy=accuracy,
        accuracy_interval=interval,
        kappa=None if accuracy is None else 2 * accuracy - 1,
        by_gap=by_gap,
        baselines=reached,
        best_baseline=best,
        over_rules=over,
        raters=len(labels.raters),
        raters_agree=raters_agree(labels, seed),
        board_correlation=correlation,
        judge_prefers_longer=leaning[LONGER][0],
        people_prefer_longer=leaning[LONGER][1],
        missing=missing,
        reliability=reliability([pair for a in answers for pair in a.said]),
        leanings=leaning,
        judge_prefers_first=sum(first) / len(first) if first else None,
        replies=replies,
        answers_kept=sum(a.kept for a in answers),
    )


def by_rule(rule: Callable[[str], float], pair: PeoplesPair) -> float:
    """Score of a rule on a pair: 1 right, 0 wrong, ½ where it sees no difference."""
    return 0.5 + 0.5 * float(np.sign(rule(pair.better) - rule(pair.worse)))


def leanings(scored: Sequence[tuple[PeoplesPair, float]]) -> dict[str, tuple[float | None, float | None]]:
    """Per rule: the shares of pairs on which the judge, and people, chose its side, where it sees a difference.

    `scored`: a pair and the judge's score on it, 0 to 1.
    """
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, rule in BASELINES.items():
        told = [(by_rule(rule, pair), score) for pair, score in scored]
        sided = [(people, score if people == 1.0 else 1.0 - score) for people, score in told if people != 0.5]
        found[name] = (
            (float(np.mean([judge for _, judge in sided])), float(np.mean([people for people, _ in sided])))
            if sided
            else (None, None)
        )
    return found


def reliability(said: Sequence[tuple[Verdict, bool]]) -> tuple[Reliability, ...]:
    """The reliability curve of verdicts, each with True if it was right: how often a judge is right at each strength that it
    states. Levels that no verdict is at are left out.

    A strength is useful only if it predicts being right. A judge that states 5 and is right no more often than at 4 adds
    nothing by it, but a rating that weighs by strength counts it all the same. Judges that know their own odds are grouped by
    the probability that these odds give, all others by their strength 1 to 5 (DeGroot and Fienberg 1983, "The comparison and
    evaluation of forecasters").
    """
    groups: dict[tuple[float, str], list[tuple[float | None, bool]]] = {}
    for verdict, right in said:
        if verdict.log_odds is None:
            groups.setdefault((verdict.strength, f"strength {verdict.strength}"), []).append((None, right))
            continue
        stated = 1 / (1 + math.exp(-min(abs(verdict.log_odds), 700.0)))
        low, high = next((low, high) for low, high in BINS if low <= stated < high)
        name = f"sure of {low:.0%} to {min(high, 1.0):.0%}"
        groups.setdefault((low, name), []).append((stated, right))
    return tuple(
        Reliability(
            stated=name,
            verdicts=len(group),
            right=sum(right for _, right in group) / len(group),
            expected=_mean([p for p, _ in group if p is not None]),
        )
        for (_, name), group in sorted(groups.items())
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def raters_agree(labels: PeoplesLabels, seed: int = 1) -> float | None:
    """Share of clear pairs that one rater orders as all the others do; None with fewer than two raters. Ties count one half."""
    each = labels.raters
    if len(each) < 2:
        return None
    agreed = []
    for rater in each:
        own = labels.leanings_of(rater)
        others = [pair for pair in labels.pairs(frozenset(each) - {rater}) if pair.clear]
        agreed += [(pair.context, 0.5 + 0.5 * leaning) for pair in others if (leaning := own(pair)) is not None]
    return _share(agreed, seed)[0]


def keep(check: PeopleCheck, folder: Path) -> None:
    """Store a check for later runs by the same judge on this machine, beside all earlier ones: if somebody repeats checks until
    a file fits, that must be visible. Only a check of the same ratings that left pairs unanswered is replaced."""
    of_judge = folder / check.fingerprint
    of_judge.mkdir(parents=True, exist_ok=True)
    stem, number = check.sha256[:16], 1
    while (earlier := _read(of_judge / f"{stem}-{number}.json")) is not None and not earlier.missing:
        number += 1
    (of_judge / f"{stem}-{number}.json").write_text(check.model_dump_json(indent=2), encoding="utf-8")


def kept(fingerprint: str, folder: Path) -> tuple[PeopleCheck, ...]:
    """All stored checks of a judge in exactly this version, the oldest first; damaged files are left out."""
    files = sorted((folder / fingerprint).glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    found = [_read(path) for path in (folder / f"{fingerprint}.json", *files)]
    return tuple(check for check in found if check is not None)


def _read(path: Path) -> PeopleCheck | None:
    try:
        return PeopleCheck.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None


def _drawn(pairs: Sequence[PeoplesPair], seed: int) -> Sequence[PeoplesPair]:
    order = np.random.default_rng(seed).permutation(len(pairs))
    shuffled = [pairs[k] for k in order]
    return sorted(shuffled, key=lambda pair: not pair.clear)[:MOST_PAIRS]


def _share(values: Sequence[tuple[str, float]], seed: int) -> tuple[float | None, tuple[float, float] | None]:
    return clustered_share(values, seed=seed) if values else (None, None)


def _difference(values: Sequence[tuple[str, float]], seed: int) -> tuple[float, float] | None:
    return clustered_mean(values, seed=seed)[1] if values else None


def _board_correlation(answers: Sequence[_Answer], labels: PeoplesLabels) -> tuple[float | None, int]:
    """Spearman's rank correlation of the replies' share of pairs won with the judge and their worth to people; their number."""
    won: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        pair = answer.pair
        of_worse = pair.context if pair.worse_turns is None else pair.worse_context
        won.setdefault((pair.context, pair.better), []).append(answer.score)
        won.setdefault((of_worse, pair.worse), []).append(1 - answer.score)
    shares = [sum(scores) / len(scores) for scores in won.values()]
    if len(set(shares)) < 2:
        return None, len(shares)
    worth = worths(labels.ratings, labels.scale)
    return float(spearmanr(shares, [worth[key] for key in won]).statistic), len(shares)
