"""Effective number of clusters: how many of equal size would say as much."""

from typing import Final

import numpy as np

from harness.statistics.arrays import Floats, Ints
from harness.statistics.interval import FEWEST_CLUSTERS

ENOUGH: Final = FEWEST_CLUSTERS - 0.5
"""Effective number from which on clusters have a spread: eight when rounded, so that eight of nearly one size are eight."""


def effective_number(sizes: Floats | Ints) -> float:
    """(Σn)² / Σn² of the sizes of clusters (Kish 1965): their number where all are equal, near 1 where one has nearly all; 0 of
    none.

    >>> effective_number(np.full(12, 5)), round(effective_number(np.array([176, *[4] * 11])), 2)
    (12.0, 1.55)
    """
    squares = float((sizes.astype(np.float64) ** 2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else 0.0
