import numpy as np
import pytest
from scipy import stats

from tests.present import present


@pytest.mark.parametrize(("n", "share"), [(60, 0.95), (75, 0.95), (300, 0.95), (12, 0.5), (60, 0.5)])
def test_ends_cover_as_the_binomial_says(n: int, share: float) -> None:
    values = np.arange(1, n + 1, dtype=float)
    low, high = present(quantile_interval(values, share))
    # Ranks are the values themselves: the quantile lies between them when low ≤ count below < high.
    covered = stats.binom.cdf(high - 1, n, share) - stats.binom.cdf(low - 1, n, share)
    assert 0.95 <= covered < 0.98


def test_too_few_turns_have_none_and_missing_replies_are_infinite() -> None:
    assert quantile_interval(np.arange(58.0), 0.95) is None
    assert quantile_interval(np.arange(59.0), 0.95) is not None
    values = np.concatenate([np.arange(57.0), [np.inf] * 3])
    assert present(quantile_interval(values, 0.95))[1] == np.inf


def test_coverage_of_a_p95_whatever_the_distribution() -> None:
    rng = np.random.default_rng(0)
    truth = np.exp(0.8 * stats.norm.ppf(0.95))
    found = [present(quantile_interval(rng.lognormal(0, 0.8, 60), 0.95)) for _ in range(400)]
    hits = sum(low <= truth <= high for low, high in found)
    assert hits / 400 == pytest.approx(0.955, abs=0.03)


def test_no_event_seen_is_not_no_event_for_certain() -> None:
    low, high = share_interval(0, 12)
    assert low == 0
    assert 0.2 < high < 0.3
