"""The golden numbers: what the paper's printed tables themselves say."""

import numpy as np
import pytest
from scipy.special import expit

from harness.ranking.ranking import printed_table
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.correlation import pearson, spearman, with_external
from harness.statistics.reliability import kappa
from harness.store.judgment import AXES
from tests.present import present

ROWS = printed_table()


def test_elo_and_the_aa_index_of_fifteen_models() -> None:
    linear, ranks = present(with_external({r.system: r.elo for r in ROWS}, {r.system: r.aa_index for r in ROWS}))
    assert linear.systems == 15
    assert linear.value == pytest.approx(0.704, abs=5e-4)
    assert linear.interval == pytest.approx((0.30, 0.89), abs=5e-3)
    assert linear.p_value == pytest.approx(0.003, abs=5e-4)
    assert ranks.value == pytest.approx(0.73, abs=5e-3)


def test_elo_and_the_seven_printed_latencies() -> None:
    both = [(r.elo, r.ttft_ms) for r in ROWS if r.ttft_ms is not None]
    found = spearman([elo for elo, _ in both], [ms for _, ms in both])
    assert found.systems == 7
    assert found.value == pytest.approx(-0.50, abs=5e-3)
    assert found.p_value == pytest.approx(0.25, abs=5e-3)


def test_printed_columns_have_the_means_of_a_balanced_board() -> None:
    assert np.mean([r.elo for r in ROWS]) == pytest.approx(1500.0, abs=0.05)
    assert np.mean([r.win_rate for r in ROWS]) == pytest.approx(50.0, abs=0.05)
    for axis in AXES:
        assert np.mean([r.axes[axis] for r in ROWS]) == pytest.approx(50.0, abs=0.05)


def test_three_way_agreement_follows_from_the_pairwise_ones() -> None:
    # Of binary labels two of three raters always agree, so a case on which not all three do counts in one pair.
    all_three = (0.869 + 0.859 + 0.850 - 1) / 2
    assert 100 * all_three == pytest.approx(78.9, abs=0.05)


def test_fleiss_kappa_from_agreement_and_ties() -> None:
    even = (1 - 0.174) / 2
    assert kappa(0.795, np.array([even, 0.174, even])) == pytest.approx(0.674, abs=5e-4)


def test_the_printed_axes_are_a_halo() -> None:
    table = np.array([[r.axes[axis] for axis in AXES] for r in ROWS])
    covariance, correlation = np.cov(table, rowvar=False), np.corrcoef(table, rowvar=False)
    alpha = len(AXES) / (len(AXES) - 1) * (1 - np.trace(covariance) / covariance.sum())
    assert alpha == pytest.approx(0.98, abs=5e-3)
    assert np.linalg.eigvalsh(correlation)[-1] / len(AXES) == pytest.approx(0.94, abs=5e-3)


def test_printed_elo_and_printed_win_rate_do_not_agree() -> None:
    implied = [np.mean([100 * expit((r.elo - other.elo) / ELO_PER_LOGIT) for other in ROWS if other is not r]) for r in ROWS]
    errors = np.array([r.win_rate for r in ROWS]) - implied
    assert np.sqrt((errors**2).mean()) == pytest.approx(11.7, abs=0.1)


def test_pearson_of_unrelated_numbers_has_an_interval_around_zero() -> None:
    rng = np.random.default_rng(0)
    found = pearson(rng.normal(size=200).tolist(), rng.normal(size=200).tolist())
    assert present(found.interval)[0] < 0 < present(found.interval)[1]
    assert found.p_value > 0.05
