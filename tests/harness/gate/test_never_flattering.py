"""Verdicts on agents whose quiet latencies are known, on machines that others load: none is wrong because of others."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from harness.gate.decide import Rule, Verdict, decide, tail_of, verdict_of
from harness.statistics.arrays import Floats
from harness.timing.figures import Contention, TurnTiming
from harness.turns import TurnTable, estimate
from harness.turns.table import TurnKey

FIGURES = ("ttfa_ms.p50", "ttfa_ms.p95", "within_budget.ttfa")
BUDGET_MS = 500.0
Figure = Literal["ttfa_ms.p50", "ttfa_ms.p95", "within_budget.ttfa"]


@dataclass(frozen=True)
class Draw:
    """One agent on one machine. `quiet_ms`, `delay_ms`, `owed_ms` (turns,): what it takes alone, what others add, and the most
    that they are said to have added."""

    figure: str
    truth: float
    limit: float
    rule: Rule
    quiet_ms: Floats
    delay_ms: Floats
    owed_ms: Floats

    def table(self, *, quiet: bool = False) -> TurnTable:
        """The turns as measured, or on a machine of the agent's own."""
        heard, owed = (self.quiet_ms, self.owed_ms * 0) if quiet else (self.quiet_ms + self.delay_ms, self.owed_ms)
        return TurnTable.of(
            (TurnKey(agent="a", context=f"c{k}"), _turn(*both)) for k, both in enumerate(zip(heard, owed, strict=True))
        )


def _turn(ttfa_ms: float, owed_ms: float) -> TurnTiming:
    by = Contention(others_cores=0.3, waited_cores=0.3, stolen_cores=0.0, at_most_ms={"ttfa": float(owed_ms)})
    return TurnTiming(method="timing-7", spoken_end_ms=0.0, ttfa_ms=float(ttfa_ms), contention=by)


def drawn(rng: np.random.Generator) -> Draw:
    """An agent of one or two kinds of turns, a load, and a limit near the agent's true figure."""
    n, quick = int(rng.integers(8, 90)), float(rng.choice([1.0, 0.55, 0.9]))
    middle, spread, slow = rng.uniform(250, 900), rng.uniform(0.03, 0.4), rng.uniform(1.5, 4.0)

    def latencies(turns: int) -> Floats:
        return middle * np.exp(spread * rng.standard_normal(turns)) * np.where(rng.random(turns) < quick, 1.0, slow)

    quiet, many = latencies(n), latencies(40_000)
    kind, most = rng.integers(4), rng.uniform(0.1, 0.8)
    owed = (
        most * quiet if kind == 0  # a part of each wait: the slowest owe most
        else rng.exponential(200 * most, n) if kind == 1  # bursts, whatever the wait
        else np.where(rng.random(n) < 0.3, 400 * most, 0.0) if kind == 2  # some turns
        else np.zeros(n)  # nobody else
    )  # fmt: skip
    # From nothing to all of what others could have caused.
    delay = owed * rng.choice([0.0, 1.0, 1.0, rng.random()]) if rng.random() < 0.7 else owed * rng.random(n)
    figure = str(rng.choice(FIGURES))
    if figure == "within_budget.ttfa":
        truth = float(np.mean(many <= BUDGET_MS))
        return Draw(figure, truth, float(np.clip(truth + rng.uniform(-0.3, 0.3), 0.01, 0.99)), "at_least", quiet, delay, owed)
    truth = float(np.percentile(many, int(figure[-2:])))
    return Draw(figure, truth, truth * float(np.exp(rng.uniform(-0.3, 0.4))), "at_most", quiet, delay, owed)


def verdict(draw: Draw, table: TurnTable, *, as_measured: bool = False) -> Verdict:
    found = estimate(table, draw.figure)
    assert found is not None
    return decide(found.measured if as_measured else found, draw.rule, draw.limit, tail_of(1, None)).verdict


@pytest.mark.parametrize("draws", [250, pytest.param(20_000, marks=pytest.mark.long)])
def test_no_verdict_is_wrong_because_of_others_and_few_are_by_chance(draws: int) -> None:
    rng = np.random.default_rng(55)
    wrong = {"by chance": 0, "by others": 0, "as measured": 0}
    passes = fails = 0
    for draw in (drawn(rng) for _ in range(draws)):
        right = verdict_of((draw.truth, draw.truth), draw.rule, draw.limit)
        told = verdict(draw, draw.table())
        passes, fails = passes + (told == "pass"), fails + (told == "fail")
        wrong["as measured"] += verdict(draw, draw.table(), as_measured=True) not in ("cannot tell", right)
        if told not in ("cannot tell", right):
            # Chance alone is wrong on a machine of the agent's own too.
            wrong["by chance" if verdict(draw, draw.table(quiet=True)) == told else "by others"] += 1
    assert wrong["by others"] == 0
    assert wrong["by chance"] <= 0.025 * draws
    assert wrong["as measured"] > 0.025 * draws, f"without the low end, others fail agents within their limits: {wrong}"
    assert min(passes, fails) > draws / 20, "a gate that decides nothing is never wrong"
