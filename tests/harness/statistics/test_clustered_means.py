"""Means of bunches: bunches are drawn, few of them widen the interval, and nothing is ever certain."""

import numpy as np
import pytest

from harness.statistics.bootstrap import DRAWS, draw_contexts
from harness.statistics.clustered_means import SEED, clustered_mean, clustered_share
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson


def test_whole_bunches_are_drawn() -> None:
    values = [1.0] * 30 + [0.0] * 30
    low, high = clustered_mean((str(n), value) for n, value in enumerate(values))[1] or (0.0, 0.0)
    # Ten bunches of six that agree within: as much to learn from as ten values, and not sixty.
    wide_low, wide_high = clustered_mean((str(n // 6), value) for n, value in enumerate(values))[1] or (0.0, 0.0)
    assert wide_high - wide_low > 1.8 * (high - low)


def test_few_bunches_are_wider_than_plain_percentiles() -> None:
    values = np.random.default_rng(2).normal(size=9)
    interval = clustered_mean((str(n), float(value)) for n, value in enumerate(values))[1]
    assert interval is not None
    often = draw_contexts(9, DRAWS, np.random.default_rng(SEED))
    plain = np.quantile(often @ values / 9, [0.025, 0.975])
    assert interval[1] - interval[0] > 1.15 * (plain[1] - plain[0])


def test_under_eight_bunches_there_is_no_interval() -> None:
    assert clustered_mean([(str(n % 7), float(n)) for n in range(70)])[1] is None
    assert clustered_mean([(str(n % 8), float(n)) for n in range(70)])[1] is not None


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_share_of_none_or_all_is_never_certain(value: float) -> None:
    share, interval = clustered_share([(str(n // 2), value) for n in range(24)])
    assert share == value
    assert interval == pytest.approx(clopper_pearson(12 * value, 12, TAIL))
    # A signed figure that is the same throughout is no share, and has no bound to stay within.
    assert clustered_mean([(str(n), -0.5) for n in range(12)]) == (-0.5, (-0.5, -0.5))


def test_a_share_stays_between_none_and_all() -> None:
    interval = clustered_share([(str(n), float(n == 0)) for n in range(10)])[1]
    assert interval is not None
    assert 0.0 <= interval[0] < 0.1 < interval[1] <= 1.0


def test_the_share_interval_of_one_trial_each_is_the_textbooks() -> None:
    share, interval = clustered_share((str(n), float(n < 8)) for n in range(10))
    assert share == 0.8
    assert interval == pytest.approx((0.444, 0.975), abs=1e-3)


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="no values"):
        clustered_mean([])
