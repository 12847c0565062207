"""Percentiles of values that may be infinite, of all values or of many draws of them at once.

A turn without reply is an infinite value: it ranks slowest. Between two order statistics a percentile is interpolated linearly,
as numpy does by default, and is infinite if either of the two is. Intervals of a percentile are in `bounds`.
"""

import numpy as np
from numpy.typing import ArrayLike

from harness.statistics.arrays import Floats


def quantile(values: ArrayLike, share: float) -> float:
    """The `share` quantile of the values; NaN without any.

    >>> quantile([400, 500, 900, np.inf], 0.5)
    700.0
    >>> quantile([400, 500, 900, np.inf], 0.95)
    inf
    """
    given = np.asarray(values, dtype=np.float64)
    return float(weighted_quantile(given, np.ones((1, given.size)), share)[0])


def weighted_quantile(values: Floats, often: Floats, share: float) -> Floats:
    """(draws,): quantile of `values` (turns,) each taken `often` (draws, turns) times; NaN where none is.

    >>> weighted_quantile(np.array([400.0, 500.0, 900.0]), np.array([[1, 1, 1], [0, 1, 2]]), 0.5).tolist()
    [500.0, 900.0]
    """
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    if order.size == 0:
        return np.full(often.shape[0], np.nan)
    return _of_ranked(values[order], np.cumsum(often[:, order], axis=1), share)


def _of_ranked(ranked: Floats, cumulative: Floats, share: float) -> Floats:
    """`cumulative` (draws, turns): number of values in a draw up to and with each of `ranked`."""
    total = cumulative[:, -1]
    place = share * np.maximum(total - 1, 0)
    low = np.floor(place + 1e-9)
    fraction = np.clip(place - low, 0.0, 1.0)
    # Draws one after another are one ascending row, so one search finds the indices of all.
    apart = np.arange(len(total)) * (total.max() + 1)
    laid = (cumulative + apart[:, None]).ravel()

    def at(rank: Floats) -> Floats:
        found = np.searchsorted(laid, rank + apart, side="right") - np.arange(len(total)) * ranked.size
        return np.asarray(ranked[np.minimum(found, ranked.size - 1)])

    first, second = at(low), at(np.minimum(low + 1, total - 1))
    with np.errstate(invalid="ignore"):
        between = np.where(np.isinf(second), second, np.where(np.isinf(first), first, first + fraction * (second - first)))
        between = np.where(fraction < 1e-9, first, between)
    return np.where(total > 0, between, np.nan)
