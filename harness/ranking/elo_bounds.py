"""Bounds of one system's Elo over another's, valid far out in the tails, where a gate over many limits has to decide.

The companion of `harness.statistics.bounds` for ratings: the clustered covariance of the board, or, where one of the two won
everything, the binomial law.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.ranking.board import Board, swept_gap
from harness.statistics.bounds import NO_BOUNDS, Bounds
from harness.statistics.interval import FEWEST_CLUSTERS


@dataclass(frozen=True, slots=True, eq=False)
class EloOverReference:
    """Elo of one system above another on one board.

    Where one won every comparison the bound is the binomial law's over the conversations in which they met. The covariance of a
    fit near that edge can claim more, so it has the same limit: no run with a loss is surer of its lead than one without.
    """

    board: Board
    system: str
    reference: str
    met: int
    """Conversations in which the two were compared."""

    @property
    def value(self) -> float:
        return self.board.difference(self.system, self.reference).elo

    @property
    def contexts(self) -> int:
        return min(self.board[self.system].contexts, self.board[self.reference].contexts)

    def bounds(self, tail: float) -> Bounds:
        found = self.board.difference(self.system, self.reference)
        pair = (self.system, self.reference)
        if found.interval is None or self.met < FEWEST_CLUSTERS:
            return NO_BOUNDS
        if pair in self.board.swept:
            return swept_gap(self.board.swept[pair], tail), np.inf
        if pair[::-1] in self.board.swept:
            return -np.inf, -swept_gap(self.board.swept[pair[::-1]], tail)
        if found.error is None or self.board.covariance is None:
            return NO_BOUNDS
        half = found.error * float(stats.t.isf(tail, self.board.covariance.freedom))
        furthest = swept_gap(self.met, tail)
        return min(found.elo - half, furthest), max(found.elo + half, -furthest)
