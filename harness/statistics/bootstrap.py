"""Bootstrap over whole clusters (conversations, speakers, stretches of time), and the interval of its draws.

A draw takes as many clusters as there are, with replacement, all values of each. The percentile interval of few clusters is
too narrow, by the same factor as a normal interval with a divisor of n in its variance. `percentile_interval` widens the
percentiles by exactly that (Hesterberg 2015, "expanded percentile").
"""

from typing import Final, Literal

import numpy as np
from scipy import stats

from harness.statistics.arrays import Floats

DRAWS: Final = 1_000
FINE_DRAWS: Final = 2_000
"""The Monte-Carlo error of a 95 % bound is then about a tenth of the interval's own width in repeated runs."""


def draw_contexts(contexts: int, draws: int, rng: np.random.Generator) -> Floats:
    """(draws, contexts): number of times that each context is in each draw.

    >>> draw_contexts(3, 2, np.random.default_rng(1)).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    picked = rng.integers(0, contexts, (draws, contexts), dtype=np.int32)
    picked += np.arange(draws, dtype=np.int32)[:, None] * contexts
    return np.bincount(picked.ravel(), minlength=draws * contexts).reshape(draws, contexts).astype(np.float64)


def percentile_interval(
    draws: Floats, contexts: int, level: float = 0.95, method: Literal["linear", "inverted_cdf"] = "linear"
) -> Floats:
    """(2, …): expanded-percentile interval over the first axis of `draws`, for statistics of `contexts` contexts.

    `method`: `inverted_cdf` for a statistic that has few values and none between them.

    >>> percentile_interval(np.arange(101.0), contexts=10).round(1).tolist()  # wider than the plain 2.5 and 97.5
    [0.9, 99.1]
    """
    tail = float(stats.norm.cdf(np.sqrt(contexts / (contexts - 1)) * stats.t.ppf((1 - level) / 2, contexts - 1)))
    return np.asarray(np.quantile(draws, [tail, 1 - tail], axis=0, method=method), dtype=np.float64)
