"""Correlation of a rating with another score, and its uncertainty.

Two-sided tests, an effect size with its interval, and Benjamini–Hochberg inside a family of tests that ask one question
(HEART, section 9.12). The interval of a correlation is Fisher's z for Pearson, and for Spearman with the variance of Bonett
and Wright (2000), since ranks are not normal. Systems are the sample: eighteen of them say little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.statistics.interval import Interval

FEWEST = 4
"""Pairs; with fewer Fisher's z has no variance."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation. `interval` (95 %) is None under four pairs, or where the coefficient is ±1."""

    kind: str
    value: float
    interval: Interval | None
    p_value: float
    systems: int


def pearson(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Linear correlation. Raises ValueError for fewer than three pairs.

    >>> round(pearson([1, 2, 3, 4], [1, 2, 3, 10]).value, 3)
    0.885
    """
    found = stats.pearsonr(x, y)
    return _correlation("pearson", float(found.statistic), float(found.pvalue), len(x), 1.0)


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Rank correlation; p-value from Student's t. Raises ValueError for fewer than three pairs.

    >>> spearman([1, 2, 3, 4], [1, 2, 3, 10]).value
    1.0
    """
    if len(x) < 3:
        raise ValueError("a correlation needs at least three pairs")
    found = stats.spearmanr(x, y)
    value = float(found.statistic)
    return _correlation("spearman", value, float(found.pvalue), len(x), 1 + value**2 / 2)


def _correlation(kind: str, value: float, p_value: float, n: int, variance: float) -> Correlation:
    interval = None
    if n >= FEWEST and abs(value) < 1:
        half = stats.norm.ppf(0.975) * np.sqrt(variance / (n - 3))
        interval = float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half))
    return Correlation(kind, value, interval, p_value, n)


def with_external(ratings: Mapping[str, float], external: Mapping[str, float | None]) -> tuple[Correlation, Correlation] | None:
    """Pearson and Spearman over the systems that have both; None under three of them, or where either does not vary.

    >>> linear, ranked = with_external({"a": 1400.0, "b": 1500.0, "c": 1600.0}, {"a": 30.0, "b": 50.0, "c": 40.0, "d": 1.0})
    >>> linear.systems, round(ranked.value, 2)
    (3, 0.5)
    """
    both = [(ratings[s], value) for s, value in external.items() if s in ratings and value is not None]
    if len(both) < 3 or any(len({pair[side] for pair in both}) == 1 for side in (0, 1)):
        return None
    x, y = [a for a, _ in both], [b for _, b in both]
    return pearson(x, y), spearman(x, y)


def benjamini_hochberg(p_values: Mapping[str, float]) -> dict[str, float]:
    """Name → adjusted p-value, inside one family of tests (Benjamini & Hochberg 1995).

    >>> benjamini_hochberg({"length": 0.01, "position": 0.04})
    {'length': 0.02, 'position': 0.04}
    """
    if not p_values:
        return {}
    adjusted = stats.false_discovery_control(list(p_values.values()), method="bh")
    return dict(zip(p_values, adjusted.tolist(), strict=True))
