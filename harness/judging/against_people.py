"""A judge held against people's ratings of replies that this project did not write.

Asked are all clear pairs and as many of the closer ones as make the plan whole, each in both orders. Accuracy is of clear
pairs; its interval resamples conversations. Beside it stand what a rule without any understanding reaches on the very same
pairs (the longer reply wins, the reply with more question marks wins), and how often one rater agrees with all others: no judge
can be expected to do better. A judge below a rule of one line has not learnt what people value, whatever its accuracy.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import ValidationError
from scipy.stats import spearmanr

from harness.judging.cache import VerdictCache
from harness.judging.checks import ask_pair
from harness.judging.judge import Judge
from harness.judging.labelled import LabelledPair
from harness.judging.peoples_labels import CLEAR, PeoplesLabels, PeoplesPair, worths
from harness.ranking.clustered import clustered_share
from harness.store.judgment import PeopleCheck

MOST_PAIRS: Final = 1_000
"""Asked of one file: an interval of ±3 points at worst, were all conversations different. Drawn by lot beyond that."""
GAPS: Final = ((0.0, 1 / 6, "under a sixth"), (1 / 6, CLEAR, "a sixth to a third"), (CLEAR, 1.01, "a third and more"))
"""From, to (exclusive), of the scale."""
BASELINES: Final[dict[str, Callable[[str], int]]] = {
    "the longer reply wins": lambda text: len(text.split()),
    "more question marks win": lambda text: text.count("?"),
}


@dataclass(frozen=True, slots=True)
class _Answer:
    pair: PeoplesPair
    score: float
    """1 right, 0 wrong, ½ where the orders disagree."""


async def check_against(
    judge: Judge,
    labels: PeoplesLabels,
    seed: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    *,
    under_way: Path | None = None,
) -> PeopleCheck:
    """Ask a judge of people's pairs, in both orders, and say how far it agrees with them.

    `under_way`: a file that keeps the answers, so that a check that was stopped goes on where it was; who gave it deletes it
    once the check is done, because the next one asks anew.
    """
    asked = _drawn(labels.pairs(), seed)
    with VerdictCache(under_way) as cache:
        gate, done, answers = asyncio.Semaphore(judge.concurrency), 0, []

        async def one(pair: PeoplesPair) -> _Answer | None:
            nonlocal done
            async with gate:
                checked = await ask_pair(judge, _as_labelled(pair), cache)
            done += 1
            if progress is not None:
                progress(done, len(asked), pair.context)
            return None if checked.score is None else _Answer(pair, checked.score)

        async with judge:
            answers = [a for a in await asyncio.gather(*(one(pair) for pair in asked)) if a is not None]
    return figures(judge, labels, answers, seed, missing=len(asked) - len(answers))


def figures(judge: Judge, labels: PeoplesLabels, answers: Sequence[_Answer], seed: int, *, missing: int = 0) -> PeopleCheck:
    """The check from the answers."""
    clear = [a for a in answers if a.pair.clear]
    accuracy, interval = _share([(a.pair.context, a.score) for a in clear], seed)
    reached = {
        name: _share([(a.pair.context, _by_rule(rule, a.pair)) for a in clear], seed)[0] for name, rule in BASELINES.items()
    }
    best = max(reached, key=lambda name: reached[name] or 0.0)
    by_gap = {}
    for low, high, name in GAPS:
        share, _ = _share([(a.pair.context, a.score) for a in answers if low <= a.pair.gap < high], seed)
        by_gap[name] = share
    longer = [(a.pair, a.score) for a in answers if len(a.pair.better.split()) != len(a.pair.worse.split())]
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
        raters=len(labels.raters),
        raters_agree=raters_agree(labels, seed),
        board_correlation=_board_correlation(answers, labels),
        judge_prefers_longer=_mean([_prefers_longer(pair, score) for pair, score in longer]),
        people_prefer_longer=_mean([_prefers_longer(pair, 1.0) for pair, _ in longer]),
        missing=missing,
    )


def raters_agree(labels: PeoplesLabels, seed: int = 1) -> float | None:
    """How often one rater orders a clear pair as all the others do; None with fewer than two raters. Ties count one half."""
    each = labels.raters
    if len(each) < 2:
        return None
    agreed = []
    for rater in each:
        own = worths((r for r in labels.ratings if r.rater == rater), labels.scale)
        for pair in labels.pairs(frozenset(each) - {rater}):
            better, worse = own.get((pair.context, pair.better)), own.get((pair.context, pair.worse))
            if pair.clear and better is not None and worse is not None:
                agreed.append((pair.context, 0.5 + 0.5 * float(np.sign(better - worse))))
    return _share(agreed, seed)[0]


def keep(check: PeopleCheck, folder: Path) -> None:
    """Keep a check for later runs by the same judge on this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{check.fingerprint}.json").write_text(check.model_dump_json(indent=2), encoding="utf-8")


def kept(fingerprint: str, folder: Path) -> PeopleCheck | None:
    """What was kept of a judge in exactly this version; None without, or where the file is damaged."""
    try:
        return PeopleCheck.model_validate(json.loads((folder / f"{fingerprint}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None


def _drawn(pairs: Sequence[PeoplesPair], seed: int) -> Sequence[PeoplesPair]:
    order = np.random.default_rng(seed).permutation(len(pairs))
    shuffled = [pairs[k] for k in order]
    return sorted(shuffled, key=lambda pair: not pair.clear)[:MOST_PAIRS]


def _as_labelled(pair: PeoplesPair) -> LabelledPair:
    return LabelledPair(
        id=pair.context[:80], conversation_id=pair.context, escalation=None, turns=pair.turns, better=pair.better,
        worse=pair.worse, axis="E", difficulty="medium",
    )  # fmt: skip


def _share(values: Sequence[tuple[str, float]], seed: int) -> tuple[float | None, tuple[float, float] | None]:
    return clustered_share(values, seed=seed) if values else (None, None)


def _by_rule(rule: Callable[[str], int], pair: PeoplesPair) -> float:
    return 0.5 + 0.5 * float(np.sign(rule(pair.better) - rule(pair.worse)))


def _prefers_longer(pair: PeoplesPair, score: float) -> float:
    return score if len(pair.better.split()) > len(pair.worse.split()) else 1 - score


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _board_correlation(answers: Sequence[_Answer], labels: PeoplesLabels) -> float | None:
    """Spearman's rank correlation of the replies' share of pairs won with the judge and their worth to people."""
    won: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        pair = answer.pair
        won.setdefault((pair.context, pair.better), []).append(answer.score)
        won.setdefault((pair.context, pair.worse), []).append(1 - answer.score)
    shares = [sum(scores) / len(scores) for scores in won.values()]
    if len(set(shares)) < 2:
        return None
    worth = worths(labels.ratings, labels.scale)
    return float(spearmanr(shares, [worth[key] for key in won]).statistic)
