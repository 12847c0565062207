"""Bounds of shares and percentiles over conversations: monotone in what was seen, and sound however alike turns are."""

from itertools import combinations
from math import lgamma
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.gate.decide import decide, tail_of
from harness.statistics.arrays import Floats
from harness.statistics.bounds import Percentile, Share
from harness.statistics.share_bounds import highest, lowest, stays_under

TAILS: Final = st.sampled_from((0.05, 0.01, 0.01 / 3, 0.0005))


@st.composite
def seen(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Hits and trials of 8 to 40 conversations of 1 to 6 turns, alike in length or not."""
    n = draw(st.integers(8, 40))
    length = st.just(draw(st.integers(1, 6))) if draw(st.booleans()) else st.integers(1, 6)
    of = draw(st.lists(length, min_size=n, max_size=n))
    return np.array([float(draw(st.integers(0, m))) for m in of]), np.array(of, dtype=float)


@settings(max_examples=40, deadline=None)
@given(seen(), TAILS, st.data())
def test_one_more_bad_event_never_lowers_a_bound(found: tuple[Floats, Floats], tail: float, data: st.DataObject) -> None:
    hits, of = found
    free = np.flatnonzero(hits < of)
    if not free.size:
        return
    worse = hits.copy()
    worse[data.draw(st.sampled_from(free.tolist()))] += 1
    assert highest(worse, of, tail) >= highest(hits, of, tail) - 1e-9
    assert lowest(worse, of, tail) >= lowest(hits, of, tail) - 1e-9
    assert lowest(hits, of, tail) <= hits.sum() / of.sum() <= highest(hits, of, tail)


@settings(max_examples=40, deadline=None)
@given(seen(), TAILS, st.floats(0.01, 0.99))
def test_the_quick_question_and_the_bound_agree(found: tuple[Floats, Floats], tail: float, share: float) -> None:
    hits, of = found
    upper = highest(hits, of, tail)
    if abs(upper - share) > 1e-6:
        assert stays_under(share, hits, of, tail) == (upper <= share)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=8, max_size=30),
    st.sampled_from((0.5, 0.95)), TAILS, st.data(),
)  # fmt: skip
def test_a_slower_turn_never_lowers_a_bound_of_a_percentile(
    groups: list[list[int]], share: float, tail: float, data: st.DataObject
) -> None:
    faster = Percentile(tuple(np.array(g, dtype=float) for g in groups), share)
    at = data.draw(st.integers(0, len(groups) - 1))
    slow = groups[at].copy()
    turn = data.draw(st.integers(0, len(slow) - 1))
    slower = [np.array(g, dtype=float) for g in groups]
    slower[at][turn] = np.inf if data.draw(st.booleans()) else slow[turn] + data.draw(st.integers(1, 20))
    before, after = faster.bounds(tail), Percentile(tuple(slower), share).bounds(tail)
    assert after[0] >= before[0]
    assert after[1] >= before[1]
    assert before[0] <= before[1]


def test_a_worse_run_does_not_pass_where_a_perfect_one_cannot() -> None:
    perfect, one_silent = np.zeros(24), np.array([1.0, *[0.0] * 23])
    tail = tail_of(3, None)
    found = [decide(Share(hits, np.full(24, 4.0)), "at_most", 0.1, tail) for hits in (perfect, one_silent)]
    assert [decision.verdict for decision in found] == ["cannot tell", "cannot tell"]
    assert found[0].interval[1] == pytest.approx(1 - tail ** (1 / 24))
    assert found[1].interval[1] > found[0].interval[1]


@pytest.mark.parametrize("hits", [0, 1, 3, 30, 59, 60])
@pytest.mark.parametrize("tail", [0.05, 0.0005, 1e-6])
def test_with_one_trial_a_conversation_it_is_clopper_and_pearsons(hits: int, tail: float) -> None:
    single = np.array([1.0] * hits + [0.0] * (60 - hits))
    exact = stats.binomtest(hits, 60).proportion_ci(1 - 2 * tail, method="exact")
    assert (lowest(single, np.ones(60), tail), highest(single, np.ones(60), tail)) == pytest.approx((exact.low, exact.high))
    # The same by the integral: one conversation a hair longer keeps it from the closed form.
    of = np.array([*[1.0] * 59, 1.0 + 1e-9])
    assert highest(np.minimum(single, of), of, tail) == pytest.approx(exact.high, abs=1e-6)


def test_it_is_the_quantile_of_the_mean_with_random_weights() -> None:
    rng = np.random.default_rng(4)
    of = rng.integers(1, 6, 40).astype(float)
    hits = rng.binomial(of.astype(int), 0.2).astype(float)
    weights = rng.exponential(size=(100_000, 41))
    drawn = (weights[:, :-1] @ hits + weights[:, -1] * of.max()) / (weights[:, :-1] @ of + weights[:, -1] * of.max())
    assert highest(hits, of, 0.01) == pytest.approx(np.quantile(drawn, 0.99), abs=0.003)


def outcomes(conversations: int, kinds: int) -> Floats:
    """Every way in which so many conversations can fall into so many kinds."""
    bars = combinations(range(conversations + kinds - 1), kinds - 1)
    ends = [(-1, *cut, conversations + kinds - 1) for cut in bars]
    return np.diff(np.array(ends, dtype=float), axis=1) - 1


@pytest.mark.parametrize(("conversations", "kinds"), [(8, (0, 1, 2)), (20, (0, 1, 2)), (14, (0, 1, 4)), (8, (0, 1, 2, 4))])
@pytest.mark.parametrize("tail", [0.05, 0.01, 0.0005])
def test_no_law_of_the_conversations_makes_it_miss_oftener(conversations: int, kinds: tuple[int, ...], tail: float) -> None:
    values = np.array(kinds, dtype=float)
    counts = outcomes(conversations, len(kinds))
    of = np.full(conversations, values.max())
    upper = np.array([highest(np.repeat(values, row.astype(int)), of, tail) for row in counts])
    ways = np.array([lgamma(conversations + 1) - sum(lgamma(k + 1) for k in row) for row in counts])
    rng = np.random.default_rng(5)
    for alike in (0.2, 0.5, 1.0, 3.0):
        laws = np.maximum(rng.dirichlet(np.full(len(kinds), alike), 2000), 1e-12)
        chance = np.exp(ways + np.log(laws) @ counts.T)
        missed = (chance * (upper < (laws @ values / values.max())[:, None] - 1e-9)).sum(axis=1)
        assert missed.max() <= tail * (1 + 1e-6)


@pytest.mark.parametrize("icc", [0.0, 0.3, 0.6, 0.9])
def test_a_limit_on_which_the_truth_lies_passes_no_oftener_than_promised(icc: float) -> None:
    rng, draws, true, passed = np.random.default_rng(6), 1500, 0.08, 0
    for _ in range(draws):
        lean = rng.beta(true * (1 / icc - 1), (1 - true) * (1 / icc - 1), 60) if icc else np.full(60, true)
        passed += stays_under(true, rng.binomial(4, lean).astype(float), np.full(60, 4.0), 0.01)
    assert passed <= stats.binom.ppf(0.999, draws, 0.01)
