"""Canaries: pairs with known answers mixed into every batch, so that a judge that drifts behind its name is noticed.

A hosted model may change under a fixed name between the check and the batch. Canaries are drawn from the easy and medium
gold by the batch's seed and are never cached. `drifted` compares the share of wrong canaries with what the check led to
expect, by a one-sided binomial tail, because one wrong canary of ten proves nothing.
"""

import random
from dataclasses import dataclass

from scipy.stats import binom

from harness.judging.judge import Judge, JudgeFailure, Question
from harness.judging.labelled import load_pairs

DRIFT_TAIL = 0.01
"""Chance of a false alarm per batch and judge."""


@dataclass(frozen=True, slots=True)
class CanaryWatch:
    """One judge's canaries in one batch."""

    judge: str
    asked: int
    wrong: int
    missing: int

    def drifted(self, expected_accuracy: float) -> bool:
        """Whether so many wrong answers are improbable for a judge of this accuracy."""
        if not self.asked:
            return False
        return bool(binom.sf(self.wrong - 1, self.asked, 1 - min(expected_accuracy, 0.99)) < DRIFT_TAIL)

    @classmethod
    async def ask(cls, judge: Judge, count: int, seed: int) -> "CanaryWatch":
        """Put `count` canaries to an entered judge, each in an order drawn by lot."""
        rng = random.Random(f"canaries {seed}")
        pool = [pair for pair in load_pairs("gold") if pair.difficulty != "hard"]
        asked = wrong = missing = 0
        for pair in rng.sample(pool, min(count, len(pool))):
            better_first = rng.random() < 0.5
            first, second = (pair.better, pair.worse) if better_first else (pair.worse, pair.better)
            try:
                verdict = await judge.compare(Question(pair.turns, first, second))
            except JudgeFailure:
                missing += 1
                continue
            asked += 1
            wrong += (verdict.winner == "first") != better_first
        return cls(judge.id, asked, wrong, missing)
