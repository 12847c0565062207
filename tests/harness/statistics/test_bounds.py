"""Bounds at the edges: a pair of which one won throughout, and figures of which one side is not known."""

from itertools import product
from typing import Final, Literal

import numpy as np
import pytest

from harness.ranking.board import Board
from harness.ranking.elo_bounds import EloOverReference
from harness.ranking.leaderboard import leaderboard
from harness.statistics.bounds import Percentile, Share, Worsening, percentile_of
from harness.store.judgment import Judgment

INF: Final = float("inf")


@pytest.fixture(scope="module")
def swept() -> Board:
    """Twelve conversations in all of which one agent beat another."""

    def row(c: int, judge: int, one: str, two: str, winner: Literal["a", "b"]) -> Judgment:
        return Judgment(
            context=f"c{c:02}", subset="regular", system_a=one, system_b=two, source="judge", judge=f"j{judge}", winner=winner,
            strength=2, shown_first="a" if c % 2 else "b",
        )  # fmt: skip

    return leaderboard([row(c, k, "agent", "weak", "a") for c, k in product(range(12), range(2))])


@pytest.mark.parametrize("tail", [0.05, 0.01, 0.0005])
def test_who_won_throughout_is_ahead_by_what_the_binomial_law_leaves_and_bounded_nowhere_above(
    swept: Board, tail: float
) -> None:
    # Twelve wins of twelve have a chance of `tail` at this share of wins.
    share = tail ** (1 / 12)
    low, high = EloOverReference(swept, "agent", "weak", 12).bounds(tail)
    assert low == pytest.approx(400 * np.log10(share / (1 - share)))
    assert high == INF
    assert EloOverReference(swept, "weak", "agent", 12).bounds(tail) == (-INF, -low)


def test_a_percentile_between_two_turns_lies_on_the_line_between_them() -> None:
    values = [700.0, 300.0, 100.0, 500.0]
    for quantile in (0.0, 0.2, 0.5, 0.95, 1.0):
        found = Percentile((np.array(values[:3]), np.array(values[3:])), quantile)
        assert found.value == pytest.approx(np.quantile(values, quantile))
    assert Percentile((np.array([100.0, INF]),), 0.5).value == INF, "between a reply and none there is no middle"
    assert Percentile((np.array([100.0, 200.0, INF]),), 0.5).value == 200.0


def test_the_trials_that_are_no_hits_are_the_rest() -> None:
    missed = Share(np.array([1.0, 0.5, 0.0]), np.array([1.0, 2.0, 3.0])).missed
    assert missed.hits.tolist() == [0.0, 1.5, 3.0]
    assert missed.of.tolist() == [1.0, 2.0, 3.0]


def test_a_percentile_of_no_turn_is_none() -> None:
    assert percentile_of({"a": []}, 0.5) is None
    found = percentile_of({"a": [300.0, 100.0], "b": [], "c": [200.0]}, 0.5)
    assert found is not None
    assert (found.value, found.contexts, found.turns) == (200.0, 2, 3)


class Known:
    """A figure of which just these bounds are known."""

    value, contexts = 0.0, 40

    def __init__(self, low: float, high: float) -> None:
        self._bounds = low, high

    def bounds(self, tail: float) -> tuple[float, float]:
        assert 0 < tail < 0.5
        return self._bounds


@pytest.mark.parametrize(
    ("measured", "baseline", "bounds"),
    [
        ((5.0, 9.0), (1.0, 2.0), (3.0, 8.0)),
        ((5.0, 9.0), (1.0, INF), (-INF, 8.0)),
        ((5.0, 9.0), (-INF, 2.0), (3.0, INF)),
        ((5.0, INF), (1.0, 2.0), (3.0, INF)),
        ((-INF, 9.0), (1.0, 2.0), (-INF, 8.0)),
        ((5.0, INF), (1.0, INF), (-INF, INF)),
        ((-INF, 9.0), (-INF, 2.0), (-INF, INF)),
        ((INF, INF), (INF, INF), (-INF, INF)),
        ((INF, INF), (1.0, 2.0), (-INF, INF)),
        ((5.0, 9.0), (INF, INF), (-INF, INF)),
    ],
)
def test_a_worsening_has_the_bounds_that_both_figures_have(
    measured: tuple[float, float], baseline: tuple[float, float], bounds: tuple[float, float]
) -> None:
    assert Worsening(Known(*measured), Known(*baseline), lower_is_better=True).bounds(0.01) == bounds
    mirrored = Worsening(Known(*measured), Known(*baseline), lower_is_better=False).bounds(0.01)
    assert mirrored == (-bounds[1], -bounds[0])
