"""Intervals for shares of labelled pairs.

Pairs of one conversation share its turns and a good reply, so they are not independent: the interval of an accuracy
resamples conversations, not pairs. Where a judge makes no error at all a bootstrap would claim certainty, so the lower
bound is then the Wilson bound on the number of conversations.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DRAWS = 2_000
_Z = 1.959964


def wilson(hits: float, n: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of hits / n."""
    if n <= 0:
        raise ValueError("no trials")
    share = hits / n
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def clustered_mean(
    values: Sequence[float], clusters: Sequence[str], *, seed: int = 0, draws: int = DRAWS
) -> tuple[float, tuple[float, float]]:
    """Mean of `values` with a 95 % interval that resamples whole clusters (conversations)."""
    data = np.asarray(values, dtype=float)
    if not len(data):
        raise ValueError("no values")
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(index, weights=data, minlength=len(names))
    counts = np.bincount(index, minlength=len(names)).astype(float)
    mean = float(data.mean())
    if np.all(data == data[0]):
        low, high = wilson(mean * len(names), len(names)) if 0 <= mean <= 1 else (mean, mean)
        return mean, (low, high)
    weights: NDArray[np.float64] = (
        np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws).astype(float)
    )
    means = (weights @ sums) / (weights @ counts)
    low, high = np.quantile(means, [0.025, 0.975])
    return mean, (float(low), float(high))
