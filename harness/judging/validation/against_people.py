"""Check of a judge against people's judgements of replies that this project did not write.

The judge is asked about all clear pairs, and about closer pairs until the plan is full, each in both orders. Accuracy is of
clear pairs; its interval resamples conversations, or persons where each has conversations of their own. Shown beside it are the
accuracy of rules without any understanding on the same pairs, accuracy on the pairs whose replies are about equally long, and
how far raters agree with each other, above which no judge can be expected to come (`yardsticks`). A judge below a one-line rule
has not learnt what people value, whatever its accuracy. The share of right verdicts at each strength, and κ, are of all pairs
asked.

Where a file has one reply a context there are no pairs. Then replies to different conversations are compared, each with its
own conversation, and only the rank correlation with people's order is reported: it can give no trust.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import TypeAdapter, ValidationError
from scipy.stats import spearmanr

from harness.files import write_whole
from harness.judging.cache import VerdictCache, ask_all, ask_both
from harness.judging.embedded import EmbeddedJudge
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.judging.mend import by_kind, why_missing
from harness.judging.validation.peoples_labels import CLEAR, PeoplesLabels, PeoplesPair, worths
from harness.judging.validation.published_labels import DEVELOPMENT
from harness.judging.validation.yardsticks import (
    BASELINES,
    LONGER,
    by_rule,
    equally_long,
    kappas,
    leanings,
    raters_agree,
    reliability,
)
from harness.statistics.clustered_means import clustered_mean, clustered_share
from harness.store.judgment import PeopleCheck

MOST_PAIRS: Final = 1_000
"""Most pairs asked of one file: an interval of ±3 points at worst, if all conversations differ. Of more, a random part."""
GAPS: Final = ((0.0, 1 / 6, "under a sixth"), (1 / 6, CLEAR, "a sixth to a third"), (CLEAR, 1.01, "a third and more"))
"""From, to (exclusive), as shares of the scale."""


_SHIPPED: Final = TypeAdapter(tuple[PeopleCheck, ...])
_CHECKS: Final = resources.files("harness.judging") / "data" / "people_checks.json"
"""Checks of judges that ship, so that a first run can say what is known of its judge: each written by `harness judge check
--against FILE --json`."""


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
    answers = [answer for answer in given if isinstance(answer, _Answer)]
    failures = [answer for answer in given if isinstance(answer, JudgeFailure)]
    check = figures(judge, labels, answers if pairs else (), seed, missing=len(failures))
    check = check.model_copy(update={"missing_by_kind": by_kind(failures), "why_missing": why_missing(failures, len(answers))})
    if pairs:
        return check
    correlation, replies = _board_correlation(answers, labels)
    kept_before = sum(answer.kept for answer in answers)
    return check.model_copy(
        update={
            "one_reply_a_context": True, "board_correlation": correlation, "replies": replies, "answers_kept": kept_before,
        }
    )  # fmt: skip


async def _ask(judge: Judge, pair: PeoplesPair, cache: VerdictCache) -> _Answer | JudgeFailure:
    question = Question(pair.turns, pair.better, pair.worse, pair.worse_turns)
    try:
        both = await ask_both(judge, question, cache)
    except JudgeFailure as failure:
        return failure
    said = tuple((verdict, verdict.winner == place) for (verdict, _), place in zip(both, ("first", "second"), strict=True))
    return _Answer(pair, sum(right for _, right in said) / len(said), said, sum(was_kept for _, was_kept in both))


def figures(judge: Judge, labels: PeoplesLabels, answers: Sequence[_Answer], seed: int, *, missing: int = 0) -> PeopleCheck:
    """The check from the answers."""
    clear = [a for a in answers if a.pair.clear]
    accuracy, interval = _share([(a.pair.bunch, a.score) for a in clear])
    equal = [(a.pair.bunch, a.score) for a in clear if equally_long(a.pair.better, a.pair.worse)]
    at_equal_length, equal_interval = _share(equal)
    reached = {name: _share([(a.pair.bunch, by_rule(rule, a.pair)) for a in clear])[0] for name, rule in BASELINES.items()}
    best = max(reached, key=lambda name: reached[name] or 0.0)
    over = {
        name: _difference([(a.pair.bunch, a.score - by_rule(rule, a.pair)) for a in clear], seed)
        for name, rule in BASELINES.items()
    }
    by_gap = {}
    for low, high, name in GAPS:
        share, _ = _share([(a.pair.bunch, a.score) for a in answers if low <= a.pair.gap < high])
        by_gap[name] = share
    scored = [(a.pair, a.score) for a in answers]
    leaning, (with_rater, raters_kappa) = leanings(scored), kappas(labels, scored)
    first = [float(verdict.winner == "first") for a in answers for verdict, _ in a.said]
    correlation, replies = _board_correlation(answers, labels)
    return PeopleCheck(
        judge=judge.id,
        fingerprint=judge.fingerprint,
        source=labels.name,
        sha256=labels.sha256,
        conversations=len({a.pair.bunch for a in clear}),
        bunches=labels.bunches,
        pairs=len(clear),
        accuracy=accuracy,
        accuracy_interval=interval,
        equal_length_pairs=len(equal),
        equal_length_accuracy=at_equal_length,
        equal_length_interval=equal_interval,
        kappa=with_rater,
        raters_kappa=raters_kappa,
        by_gap=by_gap,
        baselines=reached,
        best_baseline=best,
        over_rules=over,
        raters=len(labels.raters),
        raters_agree=raters_agree(labels),
        board_correlation=correlation,
        judge_prefers_longer=leaning[LONGER][0],
        people_prefer_longer=leaning[LONGER][1],
        missing=missing,
        reliability=reliability([pair for a in answers for pair in a.said]),
        leanings=leaning,
        judge_prefers_first=sum(first) / len(first) if first else None,
        replies=replies,
        answers_kept=sum(a.kept for a in answers),
        development=isinstance(judge, EmbeddedJudge) and labels.sha256 in DEVELOPMENT,
    )


def keep(check: PeopleCheck, folder: Path) -> None:
    """Store a check for later runs by the same judge on this machine, beside all earlier ones: if somebody repeats checks until
    a file fits, that must be visible. Only a check of the same ratings that left pairs unanswered is replaced."""
    of_judge = folder / check.fingerprint
    of_judge.mkdir(parents=True, exist_ok=True)
    stem, number = check.sha256[:16], 1
    while (earlier := _read(of_judge / f"{stem}-{number}.json")) is not None and not earlier.missing:
        number += 1
    write_whole(of_judge / f"{stem}-{number}.json", check.model_dump_json(indent=2))


def kept(fingerprint: str, folder: Path) -> tuple[PeopleCheck, ...]:
    """All known checks of a judge in exactly this version: those that ship, then those stored here, the oldest first; damaged
    files are left out."""
    files = sorted((folder / fingerprint).glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    found = [_read(path) for path in (folder / f"{fingerprint}.json", *files)]
    shipped = [check for check in shipped_checks() if check.fingerprint == fingerprint]
    return (*shipped, *(check for check in found if check is not None))


def shipped_checks() -> tuple[PeopleCheck, ...]:
    """The checks against people that ship."""
    return _SHIPPED.validate_json(_CHECKS.read_bytes())


def _read(path: Path) -> PeopleCheck | None:
    try:
        return PeopleCheck.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None


def _drawn(pairs: Sequence[PeoplesPair], seed: int) -> Sequence[PeoplesPair]:
    order = np.random.default_rng(seed).permutation(len(pairs))
    shuffled = [pairs[k] for k in order]
    return sorted(shuffled, key=lambda pair: not pair.clear)[:MOST_PAIRS]


def _share(values: Sequence[tuple[str, float]]) -> tuple[float | None, tuple[float, float] | None]:
    return clustered_share(values) if values else (None, None)


def _difference(values: Sequence[tuple[str, float]], seed: int) -> tuple[float, float] | None:
    return clustered_mean(values, seed=seed)[1] if values else None


def _board_correlation(answers: Sequence[_Answer], labels: PeoplesLabels) -> tuple[float | None, int]:
    """Spearman's rank correlation of the replies' share of pairs won with the judge and their worth to people; their number."""
    won: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        better, worse = answer.pair.sides
        won.setdefault(better, []).append(answer.score)
        won.setdefault(worse, []).append(1 - answer.score)
    shares = [sum(scores) / len(scores) for scores in won.values()]
    if len(set(shares)) < 2:
        return None, len(shares)
    worth = worths(labels.ratings, labels.scale)
    return float(spearmanr(shares, [worth[key] for key in won]).statistic), len(shares)
