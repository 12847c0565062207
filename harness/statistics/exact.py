"""Exact intervals, for figures where a bootstrap has too little data.

A resample never contains a value beyond the slowest turn seen, so the bootstrap interval of a p95 of 60 turns covers the truth
far too seldom (docs/performance.md, "Ranking"). Order statistics do not have this fault: the number of n turns below the true
p95 is binomial, whatever the distribution of latencies. And where no cut-in was seen in twelve turns, every resample gives
none, as if it were certain; Wilson's interval does not.
"""

from typing import Final

import numpy as np
from scipy import stats

from harness.statistics.arrays import Floats
from harness.statistics.interval import Interval

TURNS_FOR_P95: Final = 60
"""A 95th percentile of fewer turns rests on fewer than three of them."""


def quantile_interval(values: Floats, share: float, level: float = 0.95) -> Interval | None:
    """Distribution-free interval of the `share` quantile of independent values (infinite ones allowed).

    Ends are order statistics: of all pairs that cover with at least `level`, the one with the fewest values between, then
    the one whose tails are most equal. None where the values are too few for any (under 59 for a p95).
    """
    ranked = np.sort(values)
    n = ranked.size
    below = stats.binom.cdf(np.arange(-1, n + 1), n, share)  # below[k] = P(fewer than k values under the quantile)
    best: tuple[int, float, int, int] | None = None
    for low in range(1, n + 1):
        # The least upper rank u with P(low ≤ count < u) ≥ level.
        high = int(np.searchsorted(below, below[low] + level - 1e-12))
        if high > n:
            break
        tails = abs(below[low] - (1 - below[high]))
        if best is None or (high - low, tails) < best[:2]:
            best = high - low, float(tails), low, high
    if best is None:
        return None
    return float(ranked[best[2] - 1]), float(ranked[best[3] - 1])


def share_interval(hits: int, of: int, level: float = 0.95) -> Interval:
    """Wilson's interval (1927) of a share."""
    found = stats.binomtest(hits, of).proportion_ci(level, method="wilson")
    return float(found.low), float(found.high)
