"""Canaries: pairs with known answers mixed into every batch, so that a judge that drifts behind its name is noticed.

A hosted model may change under a fixed name between the check and the batch. Canaries are drawn from the easy and medium
gold by the batch's seed and spread evenly through the batch. An answer is stored for the same batch only: one that is
continued after it was killed does not pay for a canary twice, and the next batch asks anew, or it would notice nothing.
`drifted` compares the share of wrong canaries with the share that the check makes likely, by a one-sided binomial tail, because
one wrong canary of ten proves nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from scipy.stats import binom

from harness.judging.cache import VerdictCache, ask, cache_key
from harness.judging.judge import Judge, JudgeFailure, Question
from harness.judging.validation.labelled import gold_pairs

DRIFT_TAIL = 0.01
"""Chance of a false alarm per batch and judge."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Canary:
    """A question whose answer is known."""

    question: Question
    better_first: bool


@dataclass(frozen=True, slots=True)
class CanaryWatch:
    """One judge's canaries in one batch."""

    judge: str
    asked: int
    wrong: int
    missing: int

    def drifted(self, expected_accuracy: float) -> bool:
        """True if so many wrong answers are improbable for a judge of this accuracy."""
        if not self.asked:
            return False
        return bool(binom.sf(self.wrong - 1, self.asked, 1 - min(expected_accuracy, 0.99)) < DRIFT_TAIL)


def draw_canaries(count: int, seed: int) -> list[Canary]:
    """`count` canaries (at most as many as gold has), each in a random order."""
    rng = random.Random(f"canaries {seed}")
    pool = [pair for pair in gold_pairs() if pair.difficulty != "hard"] if count else []
    drawn = []
    for pair in rng.sample(pool, min(count, len(pool))):
        better_first = rng.random() < 0.5
        first, second = (pair.better, pair.worse) if better_first else (pair.worse, pair.better)
        drawn.append(Canary(Question(pair.turns, first, second), better_first))
    return drawn


async def ask_canary(judge: Judge, canary: Canary, cache: VerdictCache, batch: str) -> bool | None:
    """True if the judge was right; None if it gave no answer. `batch` names the batch that the answer is stored for."""
    try:
        key = cache_key(judge.fingerprint, canary.question, purpose=f"canary of {batch}")
        verdict, _ = await ask(judge, canary.question, cache, key)
    except JudgeFailure:
        return None
    return (verdict.winner == "first") == canary.better_first


def watch(judge: Judge, results: Sequence[bool | None]) -> CanaryWatch:
    """The tally of one judge's canaries."""
    return CanaryWatch(
        judge.id,
        asked=sum(r is not None for r in results),
        wrong=sum(r is False for r in results),
        missing=sum(r is None for r in results),
    )


def spread(items: Sequence[_T], extra: Sequence[Canary]) -> list[_T | Canary]:
    """`items` with `extra` spread evenly among them."""
    mixed: list[_T | Canary] = list(items)
    for n, canary in enumerate(extra):
        mixed.insert(round((n + 0.5) * len(items) / len(extra)) + n, canary)
    return mixed
