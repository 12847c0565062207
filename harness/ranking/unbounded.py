"""Bounds for a system that won, or lost, every comparison with the others.

One end can be known without a model of how verdicts of a conversation depend on each other: with X the share won in one, of
mean p, P(X = 1) ≤ p, so n conversations won throughout have a chance of at most pⁿ, and the 95 % bound is p = 0.05^(1/n). The
Elo at which the system would be expected to win this share is its bound. The mean of a board is that of the core: the largest
set of systems that won and lost among one another.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import expit, logit

from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Bools, Floats, Ints
from harness.statistics.interval import FEWEST_CLUSTERS

FURTHEST = 50.0
"""Log-odds beyond which no bound is searched; a thousand conversations reach six."""


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Place of each system relative to the core. `side`: 0 in it, 1 above it, −1 below it, 2 neither."""

    core: Bools
    side: Ints


def standing(wins: Floats) -> Standing:
    """Places of the systems from their wins (systems, systems). On a board with a finite fit all are the core; where no single
    set of two systems or more is the largest, none is, and every side is 2, except with two systems: one is above, one below.
    """
    size = wins.shape[0]
    graph = csr_array(wins > 0)
    label = levels(wins)
    members = np.bincount(label)
    largest = int(members.max())
    core = np.zeros(size, dtype=np.bool_)
    side = np.full(size, 2)
    if members.size == 1:
        return Standing(~core, np.zeros(size, dtype=np.int64))
    if largest == 1 or (members == largest).sum() > 1:
        if size == 2:
            side = np.where(wins.sum(axis=1) > 0, 1, -1)
        return Standing(core, side)
    core = label == int(members.argmax())
    one = int(np.flatnonzero(core)[0])
    below = breadth_first_order(graph, one, return_predecessors=False)
    above = breadth_first_order(csr_array(wins.T > 0), one, return_predecessors=False)
    side[below], side[above] = -1, 1
    side[core] = 0
    return Standing(core, side)


def levels(wins: Floats) -> Ints:
    """A number for each system; two that have the same one won and lost, by a chain, against one another."""
    label: Ints = connected_components(csr_array(wins > 0), directed=True, connection="strong")[1]
    return label


def swept_share(contexts: int, error: float = 0.05) -> float:
    """The least share of wins that leaves `contexts` conversations won throughout a chance of `error`.

    >>> round(swept_share(12), 2)
    0.78
    """
    return float(error ** (1 / contexts))


def bound(votes: Votes, theta: Floats, stands: Standing, system: int, error: float = 0.05) -> float | None:
    """Least (above the core) or greatest (below) log-odds of a system; None where the conversations are too few.

    `theta` on the scale of the core. Of two systems that have no core, each is compared with the other, from their middle.
    """
    against = stands.core if stands.core.any() else np.arange(theta.size) != system
    other = np.where(votes.first == system, votes.second, votes.first)
    mine = ((votes.first == system) | (votes.second == system)) & against[other]
    contexts = np.unique(votes.context[mine]).size
    if contexts < FEWEST_CLUSTERS:
        return None
    share = swept_share(contexts, error)
    if not stands.core.any():
        return float(stands.side[system] * logit(share) / 2)
    met = np.bincount(other[mine], minlength=theta.size).astype(np.float64)
    sign = float(stands.side[system])

    def excess(x: float) -> float:
        # The lower bound is the upper bound of the mirrored board.
        return float(met @ expit(x - sign * theta) / met.sum() - share)

    return sign * float(brentq(excess, -FURTHEST, FURTHEST))
