"""Frame of people's axis: the pairs of replies with a vote, a verdict or a rule, and the votes on them.

Pairs of two agents and pairs with a reference are drawn apart, a rate being relative to pairs of its kind (`draw_pairs`). So
each kind has the part of a board that its votes are of all votes, and its pairs, listed or not, share that part evenly.
"""

import numpy as np

from harness.ranking.chosen_votes import by_rule
from harness.ranking.prediction_powered import Sample
from harness.statistics.arrays import Bools, Floats, Ints
from harness.store.judgment import has_reference
from harness.store.judgment_table import MILLION, JudgmentTable


class Frame:
    """`mine` (n,): rows that are votes which count. `sizes`: pairs of two agents, and with a reference; None: those listed."""

    def __init__(self, rows: JudgmentTable, mine: Bools, sizes: tuple[int, int] | None = None) -> None:
        ruled = by_rule(rows)
        main = (rows["purpose"] == 0) & (rows["replicate"] == 0) & (rows["human"] == 0)
        verdict = main & ~ruled
        kept = mine | main
        self.judges = tuple(rows.judges[k] for k in np.unique(rows["judge"][verdict]))
        one, other = rows["first"][kept], rows["second"][kept]
        seen, index = np.unique(np.concatenate([one, other]), return_inverse=True)
        self.systems = tuple(rows.systems[k] for k in seen)
        one, other = index[: one.size], index[one.size :]
        places, context = np.unique(rows["context"][kept], return_inverse=True)
        self.contexts = tuple(rows.contexts[k] for k in places)
        sign = np.where(one <= other, 1, -1)
        k = len(self.systems)
        key = (context * k + np.minimum(one, other)) * k + np.maximum(one, other)
        each, pair = np.unique(key, return_inverse=True)
        self.first: Ints = (each // k) % k
        self.second: Ints = each % k
        self.context: Ints = each // (k * k)
        level = (sign * rows["winner"][kept] * rows["strength"][kept]).astype(np.float64)
        self.stated = _means(pair, level, verdict[kept], each.size)
        self.decided = (1 + np.sign(_means(pair, level, (main & ruled)[kept], each.size))) / 2
        votes = mine[kept]
        self.voted: Ints = pair[votes]
        self.vote: Floats = (1 + np.sign(level[votes])) / 2
        self.rater: Ints = np.unique(rows["judge"][kept][votes], return_inverse=True)[1]
        rate = rows["draw_rate"][kept][votes] / MILLION
        self._kind = np.array(
            [has_reference(self.systems[a], self.systems[b]) for a, b in zip(self.first, self.second, strict=True)]
        )
        self._kind = self._kind.astype(np.int64)
        self._share_out(np.where(rate > 0, 1 / np.where(rate > 0, rate, 1.0), 1.0), sizes)

    def _share_out(self, weight: Floats, sizes: tuple[int, int] | None) -> None:
        """Set `pairs`, how many of them each listed pair and each vote counts as, and for how many the votes speak at each."""
        voted, ruled = self._kind[self.voted], ~np.isnan(self.decided)
        votes = np.bincount(voted, minlength=2).astype(np.float64)
        self.weight: Floats = weight * (votes / np.maximum(np.bincount(voted, weight, 2), 1e-300))[voted]
        listed = np.bincount(self._kind, minlength=2)
        size = np.maximum(listed, sizes) if sizes is not None else listed
        open_ones = size - np.bincount(self._kind[ruled], minlength=2)
        has = (votes > 0) & (open_ones > 0)
        heft = np.divide(votes, open_ones, out=np.full(2, votes.sum() / max(open_ones.sum(), 1)), where=has)
        # A kind that nobody voted on is no part of the board.
        heft[~has & (open_ones > 0)] = 0.0
        self.pairs = int(size.sum())
        heft *= self.pairs / (heft * size).sum()
        self._heft: Floats = heft[self._kind]
        listed_open = np.bincount(self._kind[~ruled], minlength=2)
        self._open: Floats = np.where(ruled, 0.0, (heft * open_ones / np.maximum(listed_open, 1))[self._kind])

    def sample(self) -> Sample:
        """The arrays of the fit."""
        return Sample(
            self.pairs, len(self.systems), len(self.contexts), self.first, self.second, self.context, self.stated, self.decided,
            self.voted, self.vote, self.rater, self.weight, self._heft, self._open,
        )  # fmt: skip

    def wins(self) -> Floats:
        """(systems, systems): wins of row over column, by votes and by rules."""
        ruled = np.flatnonzero(~np.isnan(self.decided))
        pair, won = np.concatenate([self.voted, ruled]), np.concatenate([self.vote, self.decided[ruled]])
        found = np.zeros((len(self.systems), len(self.systems)))
        np.add.at(found, (self.first[pair], self.second[pair]), won)
        np.add.at(found, (self.second[pair], self.first[pair]), 1 - won)
        return found

    def pairs_won(self) -> tuple[Floats, Floats]:
        """(contexts, systems): pairs won, a tie half, and pairs met: those that a rule decided, and votes for all others."""
        ruled = np.flatnonzero(~np.isnan(self.decided))
        each_vote = self._open.sum() * self.weight / self.weight.sum()
        pair, won = np.concatenate([self.voted, ruled]), np.concatenate([self.vote, self.decided[ruled]])
        counts = np.concatenate([each_vote, self._heft[ruled]])
        shape = len(self.contexts), len(self.systems)
        points, met = np.zeros(shape), np.zeros(shape)
        for side, own in ((self.first[pair], won), (self.second[pair], 1 - won)):
            np.add.at(points, (self.context[pair], side), counts * own)
            np.add.at(met, (self.context[pair], side), counts)
        return points, met

    def agreement(self) -> float | None:
        """Share of votes, ties left out, on whose pair the judges have the same winner."""
        stated = self.stated[self.voted]
        clear = ~np.isnan(stated) & (stated != 0) & (self.vote != 0.5)
        return float(((stated[clear] > 0) == (self.vote[clear] > 0.5)).mean()) if clear.any() else None


def _means(pair: Ints, level: Floats, which: Bools, size: int) -> Floats:
    """(size,): mean level of the rows of each pair; NaN without one."""
    many = np.bincount(pair[which], minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.bincount(pair[which], level[which], size) / many, dtype=np.float64)
