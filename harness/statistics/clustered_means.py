"""Means and shares of clustered values, with an interval that resamples whole clusters.

Verdicts on one conversation share it, pairs of one conversation share its turns, votes of one rater share that person: to draw
them one by one would promise a certainty that is not there. So whole clusters (bunches) are drawn, and the percentiles are
widened where they are few (`bootstrap`). Under eight clusters there is no interval: their spread is itself a guess. A share of
none or of all has no spread to draw from, and every resample would call it certain; Wilson's interval on the number of clusters
does not.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from harness.statistics.bootstrap import DRAWS, draw_contexts, percentile_interval
from harness.statistics.exact import share_interval
from harness.statistics.interval import FEWEST_CLUSTERS, Interval

SEED: Final = 20_260_119
"""Fixed, so that the same values always give the same interval."""


def clustered_mean(
    values: Iterable[tuple[str, float]],
    *,
    weights: Sequence[float] | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    fewest: int = FEWEST_CLUSTERS,
) -> tuple[float, Interval | None]:
    """Mean over all (bunch, value), and its 95 % interval, for which `fewest` bunches are needed.

    `weights`: one for each value, all equal by default.

    Raises ValueError when there is no value.
    """
    given = list(values)
    if not given:
        raise ValueError("no values")
    names, place = np.unique([bunch for bunch, _ in given], return_inverse=True)
    weight = np.ones(len(given)) if weights is None else np.array(weights)
    sums = np.bincount(place, weights=weight * [value for _, value in given], minlength=names.size)
    counts = np.bincount(place, weights=weight, minlength=names.size)
    mean = float(sums.sum() / counts.sum())
    if sums.size < fewest:
        return mean, None
    often = draw_contexts(sums.size, draws, np.random.default_rng(seed))
    low, high = percentile_interval((often @ sums) / (often @ counts), sums.size)
    return mean, (float(low), float(high))


def clustered_share(
    values: Iterable[tuple[str, float]],
    *,
    weights: Sequence[float] | None = None,
    seed: int = SEED,
    fewest: int = FEWEST_CLUSTERS,
) -> tuple[float, Interval | None]:
    """The same for values between 0 and 1, whose interval never leaves these bounds and never shrinks to one of them.

    Raises ValueError when there is no value.
    """
    given = list(values)
    share, interval = clustered_mean(given, weights=weights, seed=seed, fewest=fewest)
    bunches = len({bunch for bunch, _ in given})
    if interval is None:
        return share, None
    # Sums of weights are rounded, so a share of all may miss 1 by its last bit.
    if min(share, 1 - share) < 1e-12:
        return share, share_interval(round(share * bunches), bunches)
    return share, (max(interval[0], 0.0), min(interval[1], 1.0))
