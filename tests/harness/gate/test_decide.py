"""Verdicts on limits: exact where the law is known, and never surer than the conversations allow."""

from typing import Literal

import numpy as np
import pytest
from scipy import stats

from harness.gate.decide import Rule, decide, overall, tail_of, verdict_of
from harness.ranking.elo_bounds import EloOverReference
from harness.ranking.leaderboard import leaderboard
from harness.statistics.bounds import NO_BOUNDS, Bounds, Percentile, Share, Worsening
from harness.store.judgment import Judgment
from harness.turns.estimate import BothEnds
from tests.harness.conftest import Simulate


def turns(values: list[float]) -> Percentile:
    return Percentile(tuple(np.array([v]) for v in values), 0.5)


def share(hits: int, of: int) -> Share:
    return Share(np.array([1.0] * hits + [0.0] * (of - hits)), np.ones(of))


@pytest.mark.parametrize("quantile", [0.5, 0.95])
@pytest.mark.parametrize("n", [8, 40, 117, 300])
@pytest.mark.parametrize("tail", [0.05, 0.0025, 0.0005])
def test_ranks_of_single_turns_are_the_tightest_that_keep_the_error(n: int, quantile: float, tail: float) -> None:
    found = Percentile(tuple(np.array([float(k)]) for k in range(1, n + 1)), quantile).bounds(tail)
    low, high = (0 if np.isinf(found[0]) else int(found[0])), (n + 1 if np.isinf(found[1]) else int(found[1]))
    law = stats.binom(n, quantile)
    assert low == 0 or law.cdf(low - 1) <= tail, "fewer than `low` values under the quantile is rare enough"
    assert low == n or law.cdf(low) > tail
    assert high == n + 1 or law.sf(high - 1) <= tail
    assert law.sf(high - 2) > tail


def test_a_p95_has_no_upper_bound_before_the_law_allows_one() -> None:
    def upper(n: int) -> float:
        return Percentile(tuple(np.array([float(k)]) for k in range(n)), 0.95).bounds(0.0025)[1]

    assert np.isinf(upper(116))
    assert upper(117) == 116.0


def test_no_reply_ranks_last_and_a_median_can_still_be_told() -> None:
    values = [400.0] * 30 + [float("inf")] * 5
    decision = decide(turns(values), "at_most", 500, 0.01)
    assert decision.verdict == "pass"
    lost = decide(turns([float("inf")] * 12), "at_most", 500, 0.01)
    assert (lost.verdict, lost.value) == ("fail", float("inf"))


def test_under_eight_conversations_nothing_is_told() -> None:
    assert decide(turns([100.0] * 7), "at_most", 500, 0.05).verdict == "cannot tell"
    assert decide(turns([100.0] * 8), "at_most", 500, 0.05).verdict == "pass"
    assert decide(turns([100.0] * 8), "at_least", 500, 0.05).verdict == "fail"


@pytest.mark.parametrize(("rule", "fails_at"), [("at_most", 0), ("at_least", 1)])
def test_only_the_failing_end_is_surer_where_a_fail_has_two_looks(rule: Rule, fails_at: int) -> None:
    found = turns([10.0 * k for k in range(60)])
    once, twice = (decide(found, rule, 300, 0.01, fails_twice=twice).interval for twice in (False, True))
    assert twice[fails_at] == found.bounds(0.005)[fails_at] != once[fails_at]
    assert twice[1 - fails_at] == once[1 - fails_at]


def test_the_further_conversations_that_are_named_settle_it_about_as_often_as_is_said() -> None:
    rng = np.random.default_rng(3)
    tail, limit, true = tail_of(5, None), 0.5, 0.65
    for_that = decide(share(26, 40), "at_least", limit, tail)
    assert for_that.verdict == "cannot tell"
    assert for_that.more_needed is not None
    n = 40 + for_that.more_needed
    told = sum(decide(share(int(rng.binomial(n, true)), n), "at_least", limit, tail).verdict == "pass" for _ in range(300))
    assert 0.65 < told / 300 < 0.95


def test_a_check_of_one_limit_may_err_in_one_of_a_hundred() -> None:
    assert tail_of(1, None) == 0.01
    assert tail_of(20, None) == 0.0005
    assert [tail_of(1, look) for look in (1, 2, 3)] == pytest.approx([0.005, 0.01 / 6, 0.01 / 12])
    assert tail_of(0, None) == 0.01, "without a limit nothing is divided"
    # Eight of eight at 1 % and no sooner, as the page on gates says: 0.5 ** 8 < 0.01 < 0.5 ** 6.
    assert Percentile(tuple(np.array([400.0]) for _ in range(8)), 0.5).bounds(tail_of(1, None)) == (400.0, 400.0)
    assert Percentile(tuple(np.array([400.0]) for _ in range(10)), 0.5).bounds(tail_of(20, None)) == NO_BOUNDS
    assert Percentile(tuple(np.array([400.0]) for _ in range(11)), 0.5).bounds(tail_of(20, None)) == (400.0, 400.0)


def test_one_miss_fails_and_one_doubt_leaves_it_open() -> None:
    assert overall(["pass", "pass"]) == "pass"
    assert overall(["pass", "cannot tell"]) == "cannot tell"
    assert overall(["pass", "cannot tell", "fail"]) == "fail"


def test_worse_than_a_baseline_is_worse_whichever_way_the_figure_points() -> None:
    slow, fast = turns([900.0 + k for k in range(60)]), turns([400.0 + k for k in range(60)])
    assert Worsening(slow, fast, lower_is_better=True).value == 500
    assert verdict_of(Worsening(slow, fast, lower_is_better=True).bounds(0.01), "at_most", 100) == "fail"
    assert verdict_of(Worsening(fast, slow, lower_is_better=True).bounds(0.01), "at_most", 100) == "pass"
    worse, better = share(20, 100), share(80, 100)
    assert Worsening(worse, better, lower_is_better=False).value == pytest.approx(0.6)
    assert verdict_of(Worsening(worse, better, lower_is_better=False).bounds(0.01), "at_most", 0.1) == "fail"
    assert verdict_of(Worsening(worse, worse, lower_is_better=False).bounds(0.01), "at_most", 0.1) == "cannot tell"


def test_elo_over_another_narrows_with_the_error_allowed(simulate: Simulate) -> None:
    board = leaderboard(simulate(contexts=40, systems=3))
    above = EloOverReference(board, "s2", "s0", 40)
    ordinary, strict = above.bounds(0.025), above.bounds(0.0005)
    assert board.difference("s2", "s0").interval == pytest.approx(ordinary)
    assert strict[0] < ordinary[0] < above.value < ordinary[1] < strict[1]


@pytest.mark.parametrize("contexts", [8, 20, 60])
@pytest.mark.parametrize(("judges", "strength"), [(1, 2), (3, 2), (3, 5)])
@pytest.mark.parametrize("tail", [0.01, 0.0005])
def test_no_lead_with_a_loss_is_surer_than_one_without(contexts: int, judges: int, strength: int, tail: float) -> None:
    def row(c: int, k: int, one: str, two: str, winner: Literal["a", "b"], strong: int) -> Judgment:
        return Judgment(
            context=f"c{c}", subset="regular", system_a=one, system_b=two, source="judge", judge=f"j{k}", winner=winner,
            strength=strong, shown_first="a" if c % 2 else "b",
        )  # fmt: skip

    pairs = [(c, k) for c in range(contexts) for k in range(judges)]
    others = [row(c, k, "good", "plain", "a" if c % 3 else "b", 2) for c, k in pairs]
    perfect = [row(c, k, "agent", "good", "a", strength) for c, k in pairs]
    one_lost = [row(0, 0, "agent", "good", "b", 1), *perfect[1:]]
    boards = [leaderboard([*rows, *others]) for rows in (perfect, one_lost)]
    without, with_one = (EloOverReference(board, "agent", "good", contexts).bounds(tail)[0] for board in boards)
    assert with_one <= without
    behind = EloOverReference(boards[1], "good", "agent", contexts).bounds(tail)[1]
    assert behind == pytest.approx(-with_one)


def test_elo_of_two_that_hardly_met_has_no_bound(simulate: Simulate) -> None:
    board = leaderboard(simulate(contexts=40, systems=3))
    assert EloOverReference(board, "s2", "s0", 7).bounds(0.05) == NO_BOUNDS


@pytest.mark.parametrize(
    ("interval", "rule", "verdict"),
    [
        ((0.0, 0.1), "at_most", "pass"),
        ((0.1, 0.2), "at_most", "cannot tell"),
        ((0.1001, 0.2), "at_most", "fail"),
        ((0.1, 0.2), "at_least", "pass"),
        ((0.0, 0.1), "at_least", "cannot tell"),
        ((0.0, 0.0999), "at_least", "fail"),
    ],
)
def test_a_limit_that_is_just_reached_is_kept(interval: Bounds, rule: Rule, verdict: str) -> None:
    assert verdict_of(interval, rule, 0.1) == verdict


@pytest.mark.parametrize(
    ("hits", "verdict", "by_figure"),
    [(0, "pass", False), (12, "pass", True), (20, "pass", True), (21, "cannot tell", False), (60, "fail", False)],
)
def test_in_doubt_a_figure_within_its_limit_passes_and_one_over_it_does_not(hits: int, verdict: str, by_figure: bool) -> None:
    found = decide(share(hits, 100), "at_most", 0.2, 0.001, passes_by_figure=True)
    assert (found.verdict, found.by_figure) == (verdict, by_figure)
    assert by_figure is (found.interval[1] > 0.2 and found.verdict == "pass")
    assert decide(share(hits, 100), "at_most", 0.2, 0.001).verdict == ("cannot tell" if by_figure else verdict)


@pytest.mark.parametrize(("high", "verdict"), [(420.0, "pass"), (600.0, "cannot tell")])
def test_in_doubt_both_ends_of_a_figure_are_within_its_limit(high: float, verdict: str) -> None:
    spread = [300.0, 700.0] * 6
    low = turns([400.0, *spread])
    ends = BothEnds("ttfa_ms.p50", low, turns([high, *spread]), low)
    assert decide(ends, "at_most", 500.0, 0.01).verdict == "cannot tell"
    assert decide(ends, "at_most", 500.0, 0.01, passes_by_figure=True).verdict == verdict


def test_in_doubt_under_eight_conversations_nothing_passes() -> None:
    assert decide(share(0, 7), "at_most", 0.2, 0.01, passes_by_figure=True).verdict == "cannot tell"


def test_how_many_more_are_named_from_the_fewest_that_tell_anything_to_the_most_that_anybody_would_play() -> None:
    few = decide(turns([100.0] * 4), "at_most", 500, 0.4)
    assert (few.verdict, few.more_needed) == ("cannot tell", 4)
    near = decide(share(26, 40), "at_least", 0.63, 0.01).more_needed
    assert near is not None
    assert 2_000 < near < 20_000
    assert decide(share(26, 40), "at_least", 0.648, 0.01).more_needed is None


def test_a_limit_that_a_share_seems_to_miss_needs_as_many_more_as_one_that_it_seems_to_keep() -> None:
    kept = decide(share(10, 40), "at_most", 0.4, 0.01).more_needed
    missed = decide(share(30, 40), "at_most", 0.6, 0.01).more_needed
    assert kept == missed
    assert kept is not None


def test_none_at_all_is_no_certainty_that_none_will_come() -> None:
    more = decide(share(0, 40), "at_most", 0.05, 0.01).more_needed
    assert more is not None
    assert 40 + more > np.log(0.01) / np.log(0.95), "even if none comes it takes so many"


@pytest.mark.parametrize(("tail", "least"), [(0.01, 1.2), (0.0005, 1.2)])
def test_the_further_conversations_of_an_elo_shrink_its_interval_as_their_root(
    simulate: Simulate, tail: float, least: float
) -> None:
    board = leaderboard(simulate(contexts=40, systems=3))
    evidence = EloOverReference(board, "s2", "s0", 40)
    low, _ = evidence.bounds(tail)
    half = evidence.value - low
    limit = evidence.value - half / 2
    decision = decide(evidence, "at_least", limit, tail)
    assert decision.verdict == "cannot tell"
    assert decision.more_needed is not None
    deviations = stats.norm.isf(tail)
    wanted = (half * (deviations + stats.norm.ppf(0.8)) / deviations / (half / 2)) ** 2
    assert 40 + decision.more_needed == pytest.approx(40 * wanted, abs=1)
    assert wanted > least
