"""Means of things that come in bunches, with intervals that resample the bunches.

Verdicts on one conversation share it, votes of one rater share an ear: to draw them one by one would promise a certainty that
is not there. So whole conversations, or whole raters, are drawn.
"""

from collections.abc import Sequence

import numpy as np

from harness.ranking.bootstrap import DRAWS, draw_contexts, percentile_interval
from harness.ranking.sandwich import FEWEST_CONTEXTS
from reports.view import Estimate

SEED = 20_260_119
"""Fixed, so that the same run gives the same page."""


def clustered_mean(values: Sequence[tuple[str, float]]) -> Estimate:
    """Mean over all (bunch, value), with an interval from eight bunches on: as many as one over conversations needs."""
    names = sorted({name for name, _ in values})
    place = {name: k for k, name in enumerate(names)}
    sums, counts = np.zeros(len(names)), np.zeros(len(names))
    for name, value in values:
        sums[place[name]] += value
        counts[place[name]] += 1
    mean = float(sums.sum() / counts.sum())
    if len(names) < FEWEST_CONTEXTS:
        return Estimate(mean)
    often = draw_contexts(len(names), DRAWS, np.random.default_rng(SEED))
    low, high = percentile_interval((often @ sums) / (often @ counts), len(names))
    return Estimate(mean, float(low), float(high))
