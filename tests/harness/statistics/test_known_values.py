"""Figures beside those of numpy, scipy and textbooks, and at the edges of what they are defined for."""

import numpy as np
import pytest
from scipy import stats

from harness.statistics import auc
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.bounds import Share
from harness.statistics.clustered_means import clustered_mean, mean_of_groups
from harness.statistics.correlation import benjamini_hochberg, pearson, spearman, with_external
from harness.statistics.drawn_quantiles import Drawn, drawn_quantile
from harness.statistics.paired import MeanChange
from harness.statistics.percentiles import quantile, weighted_quantile
from harness.statistics.reliability import coincidences, kappa, krippendorff_alpha

X, Y = [1.0, 2.0, 4.0, 3.0, 7.0, 5.0], [1.5, 2.0, 2.5, 5.0, 6.0, 4.0]
INF = np.inf


def test_a_correlation_has_fishers_interval_and_ranks_a_wider_one() -> None:
    linear, ranked = pearson(X, Y), spearman(X, Y)
    half = stats.norm.ppf(0.975) / np.sqrt(len(X) - 3)
    assert linear.interval == pytest.approx(tuple(np.tanh(np.arctanh(linear.value) + np.array([-half, half]))))
    wide = half * np.sqrt(1 + ranked.value**2 / 2)
    assert ranked.interval == pytest.approx(tuple(np.tanh(np.arctanh(ranked.value) + np.array([-wide, wide]))))
    assert (linear.p_value, ranked.p_value) == (stats.pearsonr(X, Y).pvalue, stats.spearmanr(X, Y).pvalue)
    assert pearson(X[:3], Y[:3]).interval is None
    assert pearson(X[:4], Y[:4]).interval is not None
    assert spearman([1, 2, 3, 4], [1, 2, 3, 9]).interval is None, "±1 has none"
    with pytest.raises(ValueError, match="three"):
        spearman([1, 2], [1, 2])


def test_other_scores_are_correlated_where_three_systems_have_both_and_both_vary() -> None:
    ratings = {"a": 1.0, "b": 2.0, "c": 3.0}
    found = with_external(ratings, {"a": 2.0, "b": 1.0, "c": 3.0, "d": 9.0})
    assert found is not None
    assert (found[0].systems, found[0].kind, found[1].kind) == (3, "pearson", "spearman")
    assert with_external(ratings, {"a": 2.0, "b": 1.0, "c": None}) is None
    assert with_external(ratings, dict.fromkeys("abc", 2.0)) is None
    assert with_external(dict.fromkeys("abc", 2.0), {"a": 1.0, "b": 2.0, "c": 3.0}) is None
    assert benjamini_hochberg({}) == {}


def test_the_area_under_the_curve_is_mann_and_whitneys_with_ties_as_halves() -> None:
    rng = np.random.default_rng(1)
    ends = {f"c{k}": rng.integers(2, 9, 4).astype(float).tolist() for k in range(8)}
    pauses = {f"c{k}": rng.integers(0, 7, 5).astype(float).tolist() for k in range(8)}
    found = auc.separation(ends, pauses, seed=1)
    one, other = (np.concatenate(list(part.values())) for part in (ends, pauses))
    assert found.auc == pytest.approx(stats.mannwhitneyu(one, other).statistic / (one.size * other.size))
    assert (found.ends, found.pauses) == (32, 40)
    low, high = found.interval or (0.0, 0.0)
    assert 0.5 < low < (found.auc or 0) < high < 1
    fewer = auc.separation({k: v for k, v in ends.items() if k != "c7"}, {k: v for k, v in pauses.items() if k != "c7"}, 1)
    assert fewer.interval is None
    assert auc.separation({}, pauses, 1) == auc.Separation(None, None, 0, 40)
    assert auc.separation(ends, {}, 1).auc is None
    apart = auc.separation({k: [9.0] for k in ends}, {k: [1.0] for k in ends}, 1)
    assert (apart.auc, apart.interval) == (1.0, (1.0, 1.0))


def test_a_weighted_quantile_is_numpys_of_the_values_written_out() -> None:
    values, often = np.array([3.0, 1.0, INF, np.nan, 2.0]), np.array([[2.0, 1.0, 0.0, 5.0, 3.0], [0.0, 2.0, 2.0, 1.0, 0.0]])
    for share in (0.0, 0.25, 0.5, 0.8, 1.0):
        out = np.repeat([3.0, 1.0, 2.0], [2, 1, 3])
        assert weighted_quantile(values, often[:1], share)[0] == pytest.approx(np.quantile(out, share))
    assert weighted_quantile(values, often, 0.5)[1] == INF, "between a reply and none there is no middle"
    assert weighted_quantile(values, often, 1 / 3)[1] == 1.0
    assert np.isnan(weighted_quantile(values, np.zeros((1, 5)), 0.5)[0])
    assert np.isnan(quantile([], 0.5))


def test_drawn_quantiles_take_whole_stretches_and_their_differences_are_of_the_draws() -> None:
    slow, quick = ({str(k): [base + 10.0 * k, base + 20.0 * k] for k in range(9)} for base in (600.0, 400.0))
    one, other = (Drawn.quantile(values, 0.5, seed=1) for values in (slow, quick))
    assert one is not None
    assert other is not None
    assert one.value == quantile([v for group in slow.values() for v in group], 0.5)
    often = draw_contexts(9, 5, np.random.default_rng(1))
    written = [np.repeat(list(slow.values()), row.astype(int), axis=0).ravel() for row in often]
    assert drawn_quantile(slow, 0.5, seed=1, draws=5) == pytest.approx([np.median(values) for values in written])
    assert (one.less(other).value, set(one.less(other).draws)) == (200.0, {200.0})
    assert one.ratio(other).value == pytest.approx(one.value / other.value - 1)
    assert one.ratio(other).draws == pytest.approx(one.draws / other.draws - 1)
    assert one.bounds(0.025) == pytest.approx(tuple(percentile_interval(one.draws, 9)))
    assert Drawn(1.0, 7, one.draws).bounds(0.025) == (-INF, INF)
    assert Drawn(1.0, 8, one.draws).bounds(0.025) != (-INF, INF)
    assert Drawn.quantile({}, 0.5, seed=1) is None
    silent = Drawn(INF, 20, np.full(100, INF))
    assert silent.bounds(0.025) == (INF, INF)
    assert (silent.less(silent).value, silent.ratio(silent).value, silent.less(silent).draws.max()) == (0.0, 0.0, 0.0)
    assert (silent.less(other).contexts, other.ratio(silent).contexts) == (9, 9)


def test_a_mean_change_has_the_bounds_of_a_share_moved_to_both_signs() -> None:
    gained, of = np.array([1.0, -1.0, 2.0, 0.0, 0.0, 1.0, -2.0, 1.0]), np.full(8, 3.0)
    change = MeanChange(gained, of)
    assert change.value == pytest.approx(2 / 24)
    assert change.contexts == 8
    low, high = Share((gained + of) / 2, of).bounds(0.05)
    assert change.bounds(0.05) == pytest.approx((2 * low - 1, 2 * high - 1))


def test_a_mean_of_groups_is_that_of_all_values_and_has_the_same_interval() -> None:
    groups = [np.arange(k + 1.0) for k in range(9)]
    values = [(str(k), float(v)) for k, group in enumerate(groups) for v in group]
    mean, interval = mean_of_groups(groups, seed=3, draws=1_000, fewest=8)
    assert mean == pytest.approx(np.concatenate(groups).mean())
    assert interval == pytest.approx(clustered_mean(values, seed=3, draws=1_000)[1])
    assert mean_of_groups(groups, seed=3, draws=10, fewest=10)[1] is None
    weighted, _ = clustered_mean([("a", 1.0), ("b", 4.0)], weights=[3.0, 1.0])
    assert weighted == 1.75


def test_alpha_is_krippendorffs_own_example() -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", data C: four observers, twelve units, missing values."""
    data = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]  # fmt: skip
    counts = np.array([[sum(row[u] == value for row in data) for value in range(1, 6)] for u in range(12)], dtype=float)
    matrix = coincidences(counts)
    assert float(krippendorff_alpha(matrix)) == pytest.approx(0.743, abs=5e-4)
    assert float(krippendorff_alpha(matrix, "ordinal")) == pytest.approx(0.815, abs=5e-4)
    assert float(krippendorff_alpha(matrix, "interval")) == pytest.approx(0.849, abs=5e-4)
    assert float(krippendorff_alpha(matrix, "interval", np.arange(1.0, 6.0))) == pytest.approx(0.849, abs=5e-4)
    assert kappa(0.5, np.array([0.5, 0.5])) == 0.0
