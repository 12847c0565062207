"""The Elo scale; its constants are only here.

Ratings are fitted as log-odds θ. The Elo scale only changes the unit: 400 points are a factor of ten in the odds, and the
mean of the systems on a board is 1500 (HEART, section 9.8). A system that won, or lost, everything has no bound on one
side (unbounded.py), so the mean is that of the others. Because the mean is fixed, a rating gives a system's place among
*these* systems; only differences of ratings carry over to another board.
"""

import numpy as np

from harness.statistics.arrays import Floats

ELO_CENTRE = 1500.0
ELO_PER_LOGIT = 400.0 / np.log(10.0)
"""173.7 Elo points are one unit of log-odds."""


def to_elo(theta: Floats) -> Floats:
    """Log-odds (…, systems) → Elo, with the mean of the last axis at 1500.

    >>> to_elo(np.log([1.0, 10.0])).round().tolist()  # ten times the odds
    [1300.0, 1700.0]
    """
    return on_scale(theta - theta.mean(axis=-1, keepdims=True))


def on_scale(theta: Floats) -> Floats:
    """Log-odds → Elo, zero at 1500."""
    return np.asarray(ELO_CENTRE + ELO_PER_LOGIT * theta, dtype=np.float64)
