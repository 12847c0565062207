from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from harness.errors import UserError
from harness.ranking import joint_figure
from harness.ranking.joint import Turn, best_within, on_frontier
from harness.ranking.leaderboard import leaderboard
from harness.ranking.model import Method, RatingModel
from harness.ranking.question import Measured, RatingQuestion
from harness.ranking.ranking import rank
from harness.statistics.percentiles import weighted_quantile
from harness.store.judgment import Judgment
from harness.timing.quantiles import quantiles_of
from tests.harness.conftest import Simulate
from tests.present import present


def _latencies(systems: Mapping[str, float], contexts: int, seed: int = 0) -> dict[str, dict[str, list[float]]]:
    rng = np.random.default_rng(seed)
    return {s: {f"c{c:03}": [float(m * rng.lognormal(0, 0.2))] for c in range(contexts)} for s, m in systems.items()}


def test_fast_and_good_is_on_the_frontier_and_slow_and_weak_is_not(simulate: Simulate) -> None:
    rows = simulate(80, 4, 2, seed=1)
    points = {p.system: p for p in joint_figure(rows, _latencies({"s3": 400, "s2": 300, "s0": 2000}, 80), draws=400).points}
    assert set(points) == {"s3", "s2", "s0"}
    assert points["s3"].p_frontier == 1
    assert points["s0"].p_frontier == 0
    assert present(points["s3"].p_best_within_budget) > 0.95
    assert points["s0"].p_best_within_budget == 0
    low, high = present(points["s3"].latency.p50_interval)
    p50 = present(points["s3"].latency.p50)
    assert low < p50 < high
    assert present(points["s3"].latency.p95) > p50


def test_nobody_within_budget_leaves_all_at_zero(simulate: Simulate) -> None:
    points = joint_figure(
        simulate(20, 3, 1), _latencies({"s0": 900, "s1": 900, "s2": 900}, 20), budget_ms=500, draws=200
    ).points
    assert [p.p_best_within_budget for p in points] == [0, 0, 0]


def test_missing_replies_are_slower_than_any(simulate: Simulate) -> None:
    latencies = _latencies({"s0": 300, "s1": 300}, 20)
    latencies["s1"] = {c: v if k < 8 else [np.inf] for k, (c, v) in enumerate(latencies["s1"].items())}
    points = {p.system: p for p in joint_figure(simulate(20, 2, 1), latencies, draws=300).points}
    assert points["s1"].latency.p50_over_limit
    assert points["s1"].latency.n == 20
    assert points["s1"].latency.p50_interval is None
    assert present(points["s1"].p_best_within_budget) < present(points["s0"].p_best_within_budget)


def test_thresholds_of_size(simulate: Simulate) -> None:
    few = joint_figure(simulate(7, 3, 1), _latencies({"s0": 1, "s1": 2}, 7), draws=100)
    assert all(p.elo_interval is None and p.latency.p50_interval is None and p.latency.p95 is None for p in few.points)
    assert few.slope is None
    wide = joint_figure(simulate(59, 6, 1), _latencies({f"s{k}": 100 * 2**k for k in range(6)}, 59), draws=200)
    assert wide.points[0].latency.p95 is None
    assert present(wide.slope).systems == 6
    # Ratings rise by 2 log-odds over a factor 32 in latency.
    assert present(wide.slope).elo_per_decade == pytest.approx(2 * 173.7 / np.log10(32), rel=0.25)
    low, high = present(present(wide.slope).interval)
    assert low < present(wide.slope).elo_per_decade < high


def test_the_same_seed_gives_the_same_figure_and_variants_share_conversations(simulate: Simulate) -> None:
    rows, latencies = simulate(30, 3, 1), _latencies({"s0": 300, "s1": 400}, 30)
    words = {s: {c: [v + 100 for v in turns] for c, turns in by.items()} for s, by in latencies.items()}
    asked = RatingQuestion(measured=Measured({"ttfa": latencies, "first_word": words}), draws=200, seed=5)
    one = present(rank(rows, asked).joint)
    assert one == rank(rows, asked).joint
    for p in one.points:
        assert p.others["first_word"].p50 == pytest.approx(present(p.latency.p50) + 100)
        assert p.others["first_word"].p50_interval == pytest.approx(tuple(v + 100 for v in present(p.latency.p50_interval)))


def test_cut_ins_and_refusals(simulate: Simulate) -> None:
    rows, latencies = simulate(20, 2, 1), _latencies({"s0": 300, "s1": 400}, 20)
    cuts = {"s0": {f"c{c:03}": [c < 5] for c in range(20)}}
    asked = RatingQuestion(measured=Measured({"ttfa": latencies}, cuts), draws=200)
    by = {p.system: p for p in present(rank(rows, asked).joint).points}
    assert by["s0"].cut_in_rate == 0.25
    assert 0 < present(by["s0"].cut_in_interval)[0] < 0.25 < present(by["s0"].cut_in_interval)[1] < 0.6
    assert by["s1"].cut_in_rate is None
    with pytest.raises(UserError, match="both judgments and latencies"):
        joint_figure(rows, {"other": {"c000": [1.0]}})
    with pytest.raises(UserError, match="both axes"):
        joint_figure([r.model_copy(update={"presentation": "audio_with_delay"}) for r in rows], latencies)


def test_weighted_quantile_is_numpys_on_the_repeated_values() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=40)
    often = rng.multinomial(40, np.full(40, 1 / 40), size=50).astype(float)
    for share in (0.5, 0.95, 0.31):
        want = [np.quantile(np.repeat(values, row.astype(int)), share) for row in often]
        assert weighted_quantile(values, often, share) == pytest.approx(want, abs=1e-9)


def test_frontier_and_best_by_hand() -> None:
    elo = np.array([[1600.0, 1500.0, 1400.0, 1550.0]])
    ms = np.array([[900.0, 300.0, 200.0, 950.0]])
    assert on_frontier(elo, ms).tolist() == [[True, True, True, False]]
    assert best_within(elo, ms, 500).tolist() == [[False, True, False, False]]


def test_a_system_timed_or_judged_in_few_contexts_has_no_interval_there(simulate: Simulate) -> None:
    rows = [r for r in simulate(20, 3, 1, seed=2) if "s0" not in (r.system_a, r.system_b) or r.context < "c005"]
    latencies = _latencies({"s0": 300, "s1": 400}, 20)
    latencies["s1"] = dict(list(latencies["s1"].items())[:6])
    by = {p.system: p for p in joint_figure(rows, latencies, draws=100).points}
    assert by["s0"].elo_interval is None
    assert by["s0"].latency.p50_interval is not None
    assert by["s1"].elo_interval is not None
    assert by["s1"].latency.p50_interval is None


def test_repeats_are_replicates_of_their_context_and_the_point_is_the_tables(simulate: Simulate) -> None:
    rows, once = simulate(30, 2, 1), _latencies({"s0": 300, "s1": 400}, 30)
    thrice = {s: {c: turns * 3 for c, turns in by.items()} for s, by in once.items()}
    one, three = (joint_figure(rows, given, draws=200, seed=3) for given in (once, thrice))
    for single, triple in zip(one.points, three.points, strict=True):
        assert triple.latency.n == 3 * single.latency.n
        assert triple.elo == single.elo
        # The same turn three times is no more knowledge: the interval may shift by a place between turns, and not narrow.
        width, tripled = (high - low for low, high in (present(p.latency.p50_interval) for p in (single, triple)))
        assert tripled == pytest.approx(width, rel=0.25)
        assert triple.latency == quantiles_of(thrice[triple.system], 3)


def _cancelling(kind: str, contexts: int = 20) -> list[Judgment]:
    """Four systems of which no verdict, or no two verdicts together, prefer one."""
    rows = []
    for c, (one, other) in product(range(contexts), combinations(("s0", "s1", "s2", "s3"), 2)):
        base = Judgment.model_validate({
            "context": f"c{c:03}", "subset": "regular", "system_a": one, "system_b": other, "source": "judge", "judge": "j-1",
            "winner": "tie", "strength": 2, "shown_first": "a",
        })  # fmt: skip
        if kind == "ties":
            rows.append(base)
        elif kind == "both orders":
            rows += [base.model_copy(update={"winner": side, "shown_first": side}) for side in "ab"]
        else:
            rows += [base.model_copy(update={"winner": side, "judge": f"j-{side}"}) for side in "ab"]
    return rows


@pytest.mark.parametrize("kind", ["ties", "both orders", "opposite judges"])
@pytest.mark.parametrize("method", ["ordinal", "strength", "rao-kupper"])
def test_verdicts_that_cancel_give_no_share_made_of_rounding(kind: str, method: Method) -> None:
    rows, model = _cancelling(kind), RatingModel(method)
    latencies = _latencies({"s0": 300, "s1": 301, "s2": 299, "s3": 302}, 20)
    figure = joint_figure(rows, latencies, model)
    assert [(p.p_frontier, p.p_best_within_budget) for p in figure.points] == [(None, None)] * 4
    assert figure.slope is None
    board = leaderboard(rows, model, bootstrap_draws=200)
    assert board.unmoved == {"s0", "s1", "s2", "s3"}
    for row in board.systems:
        assert row.bootstrap_interval is None
        low, high = present(row.interval)
        assert present(low) < 1_490 < 1_510 < present(high), "independent verdicts would leave this much"
    assert any("Resampling conversations says nothing" in warning for warning in board.warnings)


def test_one_conversation_that_decides_is_resampled_again() -> None:
    rows = _cancelling("opposite judges")
    rows[0] = rows[0].model_copy(update={"winner": "b"})
    board = leaderboard(rows, bootstrap_draws=200)
    assert board.unmoved == frozenset()
    assert present(board["s0"].bootstrap_interval)[0] < 1_500


def test_equals_share_a_draw_whatever_the_last_digit_says(simulate: Simulate) -> None:
    elo = np.array([[1_500.0, 1_500.0 + 1e-12, 1_400.0, 1_500.0 - 1e-12], [1_500.0, 1_520.0, 1_520.0, 1_600.0]])
    ms = np.array([[300.0, 310.0, 200.0, 320.0], [300.0, 310.0, 320.0, 900.0]])
    assert best_within(elo, ms, 500).tolist() == [[1 / 3, 1 / 3, 0, 1 / 3], [0, 0.5, 0.5, 0]]
    assert on_frontier(elo, ms).tolist() == [[True, False, True, False], [True, True, False, True]]
    rows = simulate(20, 3, 2, seed=3)
    twins = [r.model_copy(update={s: "twin" for s in ("system_a", "system_b") if getattr(r, s) == "s2"}) for r in rows]
    latencies = _latencies({"s0": 300, "s2": 300}, 20)
    points = joint_figure([*rows, *twins], {**latencies, "twin": latencies["s2"]}, draws=300).points
    shares = {p.system: present(p.p_best_within_budget) for p in points}
    assert shares["s2"] == pytest.approx(shares["twin"], abs=1e-9)
    assert sum(shares.values()) == pytest.approx(1)


def test_equal_points_do_not_beat_one_another_and_a_budget_just_reached_is_kept() -> None:
    elo, ms = np.array([[1500.0, 1500.0, 1400.0, 1600.0]]), np.array([[400.0, 400.0, 400.0, np.inf]])
    assert on_frontier(elo, ms).tolist() == [[True, True, False, False]]
    assert on_frontier(np.array([[1500.0, 1500.0]]), np.array([[400.0, 500.0]])).tolist() == [[True, False]]
    assert best_within(elo, ms, 400.0).tolist() == [[0.5, 0.5, 0, 0]]


def test_a_slope_needs_six_systems_that_have_a_finite_median(simulate: Simulate) -> None:
    rows, ms = simulate(20, 6, 1), {f"s{k}": 100.0 * 2**k for k in range(6)}
    whole = joint_figure(rows, _latencies(ms, 20), draws=100)
    assert present(whole.slope).systems == 6
    five = {name: value for name, value in ms.items() if name != "s3"}
    assert joint_figure(rows, _latencies(five, 20), draws=100).slope is None
    seven = {f"s{k}": 100.0 * 2**k for k in range(7)}
    assert present(joint_figure(simulate(20, 7, 1), _latencies(seven, 20), draws=100).slope).systems == 7
    for never in (np.inf, 0.0):
        one_without = {**_latencies(ms, 20), "s3": {f"c{c:03}": [never] for c in range(20)}}
        assert joint_figure(rows, one_without, draws=100).slope is None, "no reply, or one at once, has no logarithm"
    few = joint_figure(simulate(7, 6, 1), _latencies(ms, 7), draws=100)
    assert present(few.slope).interval is None


def test_a_quantile_is_infinite_as_soon_as_one_of_its_two_values_is() -> None:
    values, once = np.array([1.0, np.inf, 2.0]), np.ones((1, 3))
    assert weighted_quantile(values, once, 0.5).tolist() == [2.0]
    assert weighted_quantile(values, once, 0.6).tolist() == [np.inf]
    assert weighted_quantile(values, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), 0.5).tolist()[:2] == [
        1,
        np.inf,
    ]
    assert np.isnan(weighted_quantile(values, np.zeros((2, 3)), 0.5)).all(), "of nothing there is none"
    assert weighted_quantile(np.array([np.nan, 3.0]), np.ones((1, 2)), 0.95).tolist() == [3.0]
    assert np.isnan(weighted_quantile(np.array([np.nan]), np.ones((1, 1)), 0.5)).all()
    two = weighted_quantile(np.array([10.0, 20.0]), np.array([[1.0, 1.0], [3.0, 1.0]]), 0.5)
    assert two.tolist() == [15.0, 10.0]


def test_ratings_closer_than_a_refit_is_exact_are_equal() -> None:
    ms = np.array([[300.0, 400.0]])
    assert best_within(np.array([[1500.0, 1500.009]]), ms, 500).tolist() == [[0.5, 0.5]]
    assert best_within(np.array([[1500.0, 1500.02]]), ms, 500).tolist() == [[0.0, 1.0]]
    assert on_frontier(np.array([[1500.0, 1500.009]]), ms).tolist() == [[True, False]]
    assert on_frontier(np.array([[1500.0, 1500.02]]), ms).tolist() == [[True, True]]
    assert on_frontier(np.array([[1500.0, 1500.02]]), np.array([[400.0, 400.0]])).tolist() == [[False, True]]


def test_an_elo_is_shown_where_an_end_of_it_is_known(simulate: Simulate) -> None:
    (point, *_) = joint_figure(simulate(20, 3, 1), _latencies({"s0": 300, "s1": 400}, 20), draws=50).points
    assert point.quoted == point.elo
    assert replace(point, elo_interval=(1480.0, None)).quoted == point.elo
    assert replace(point, elo_interval=None).quoted is None
    silent = point.without_chances
    assert (silent.p_frontier, silent.p_best_within_budget, silent.elo) == (None, None, point.elo)


def test_a_system_of_few_timed_conversations_leaves_nobody_a_chance(simulate: Simulate) -> None:
    rows, latencies = simulate(20, 3, 1), _latencies({"s0": 300, "s1": 400}, 20)
    for seen, known in ((7, False), (8, True)):
        short = {**latencies, "s1": {c: v if k < seen else [] for k, (c, v) in enumerate(latencies["s1"].items())}}
        points = joint_figure(rows, short, draws=50).points
        assert [p.p_frontier is not None for p in points] == [known, known]
        assert [p.p_best_within_budget is not None for p in points] == [known, known]


def _owing(
    latencies: Mapping[str, Mapping[str, Sequence[float]]], owed: Mapping[str, float]
) -> dict[str, dict[str, list[Turn]]]:
    """The same turns, of which others could have caused this much."""
    return {s: {c: [(ms - owed.get(s, 0.0), ms) for ms in turns] for c, turns in of.items()} for s, of in latencies.items()}


def test_a_busy_machine_flatters_nobody_on_the_frontier_or_within_the_budget(simulate: Simulate) -> None:
    """Each is least likely there at its high end among others at their low ones."""
    rows = simulate(40, 3, 1, seed=4)
    latencies = _latencies({"s0": 420, "s1": 460, "s2": 520}, 40)
    quiet = {p.system: p for p in joint_figure(rows, latencies, draws=200).points}
    for p in quiet.values():
        assert p.p_frontier_range == (p.p_frontier, p.p_frontier)
    owed = {"s0": 0.0, "s1": 80.0, "s2": 80.0}
    busy = {p.system: p for p in joint_figure(rows, _owing(latencies, owed), draws=200).points}
    rng = np.random.default_rng(0)
    for case in ({}, owed, *({s: float(rng.uniform(0, ms)) for s, ms in owed.items()} for _ in range(5))):
        truth = {s: {c: [ms - case.get(s, 0.0) for ms in turns] for c, turns in of.items()} for s, of in latencies.items()}
        for p in joint_figure(rows, truth, draws=200).points:
            for name in ("p_frontier", "p_best_within_budget"):
                low, high = present(getattr(busy[p.system], f"{name}_range"))
                assert low <= getattr(p, name) <= high
                assert getattr(busy[p.system], name) == low
    assert present(busy["s1"].p_frontier_range)[0] < present(busy["s1"].p_frontier_range)[1]
    assert busy["s1"].latency.p50 == quiet["s1"].latency.p50, "the point is where it was measured"


def test_the_slope_runs_from_the_least_to_the_greatest_that_others_allow(simulate: Simulate) -> None:
    rows, latencies = simulate(20, 6, 1), _latencies({f"s{k}": 100.0 * 2**k for k in range(6)}, 20)
    owed = {"s0": 20.0, "s5": 900.0}
    slope = present(joint_figure(rows, _owing(latencies, owed), draws=100).slope)
    low, high = present(slope.range)
    assert low <= slope.elo_per_decade <= high
    for case in ({}, owed, {"s0": 20.0}, {"s5": 900.0}, {"s5": 400.0}):
        truth = {s: {c: [ms - case.get(s, 0.0) for ms in turns] for c, turns in of.items()} for s, of in latencies.items()}
        found = present(joint_figure(rows, truth, draws=100).slope)
        assert low - 1e-9 <= found.elo_per_decade <= high + 1e-9
        assert present(slope.interval)[0] <= present(found.interval)[0] + 1e-9
        assert present(found.interval)[1] <= present(slope.interval)[1] + 1e-9
    starved = present(joint_figure(rows, _owing(latencies, {"s0": 500.0}), draws=100).slope)
    assert (starved.range, starved.interval) == (None, None), "a wait of nothing has no logarithm"
