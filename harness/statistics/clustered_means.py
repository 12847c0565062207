"""Means and shares of clustered values, with an interval for which only whole clusters are independent.

Verdicts on one conversation share it, pairs of one conversation share its turns, votes of one rater share that person: to draw
them one by one would promise a certainty that is not there. Under eight clusters (bunches) there is no interval: their spread
is itself a guess.

For a *mean* whole bunches are drawn, and the percentiles are widened where they are few (`bootstrap`). A *share* has no need of
draws, and of none or of all every draw would be certain; its values are between 0 and 1, and so it has bounds (`share_bounds`).
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import DRAWS, draw_contexts, percentile_interval
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL, Interval
from harness.statistics.share_bounds import highest, lowest

SEED: Final = 20_260_119
"""Fixed, so that the same values always give the same interval."""
CELLS_AT_ONCE: Final = 2**22
"""Draws times bunches in one go: 32 MB for each array of them."""


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

    >>> clustered_mean([("c1", 400.0), ("c1", 500.0), ("c2", 900.0)])  # two conversations say nothing of their spread
    (600.0, None)

    Raises ValueError when there is no value.
    """
    sums, counts = _sums(values, weights)
    return _mean(sums, counts, draws, seed, fewest)


def mean_of_groups(groups: Sequence[Floats], *, seed: int, draws: int, fewest: int) -> tuple[float, Interval | None]:
    """Mean of all values of bunches, and its 95 % interval; None under `fewest` bunches.

    >>> mean_of_groups([np.array([400.0, 500.0]), np.array([900.0])], seed=1, draws=100, fewest=8)
    (600.0, None)
    """
    sums, counts = np.array([group.sum() for group in groups]), np.array([float(group.size) for group in groups])
    return _mean(sums, counts, draws, seed, fewest)


def _mean(sums: Floats, counts: Floats, draws: int, seed: int, fewest: int) -> tuple[float, Interval | None]:
    mean = float(sums.sum() / counts.sum())
    if sums.size < fewest:
        return mean, None
    rng, at_once, drawn = np.random.default_rng(seed), max(1, CELLS_AT_ONCE // sums.size), []
    for done in range(0, draws, at_once):
        often = draw_contexts(sums.size, min(at_once, draws - done), rng)
        drawn.append((often @ sums) / (often @ counts))
    low, high = percentile_interval(np.concatenate(drawn), sums.size)
    return mean, (float(low), float(high))


def clustered_share(
    values: Iterable[tuple[str, float]], *, weights: Sequence[float] | None = None, fewest: int = FEWEST_CLUSTERS
) -> tuple[float, Interval | None]:
    """The same for values between 0 and 1, with the bounds of `share_bounds`: never certain, however alike the values are.

    >>> share, interval = clustered_share((f"c{k // 2}", float(k == 0)) for k in range(24))
    >>> round(share, 3), [round(end, 3) for end in interval]
    (0.042, [0.001, 0.306])

    Raises ValueError when there is no value.
    """
    hits, of = _sums(values, weights)
    ends = (lowest(hits, of, TAIL), highest(hits, of, TAIL)) if of.size >= fewest else None
    return float(hits.sum() / of.sum()), ends


def _sums(values: Iterable[tuple[str, float]], weights: Sequence[float] | None) -> tuple[Floats, Floats]:
    """Σ weight · value and Σ weight of each bunch."""
    given = list(values)
    if not given:
        raise ValueError("no values")
    names, place = np.unique([bunch for bunch, _ in given], return_inverse=True)
    weight = np.ones(len(given)) if weights is None else np.array(weights)
    sums = np.bincount(place, weights=weight * [value for _, value in given], minlength=names.size)
    return np.asarray(sums, np.float64), np.asarray(np.bincount(place, weights=weight, minlength=names.size), np.float64)
