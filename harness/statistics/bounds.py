"""Bounds on one figure that are valid far out in the tails, where a gate over many limits has to decide.

A gate with twenty limits tests each of them at one twentieth of its error, one in 2,000. A bootstrap of 2,000 draws has one
draw out there, and never draws a turn slower than the slowest one seen. So nothing here is resampled:

* a *share* has Gaffke's bounds over conversations (`clustered_share`), which are those of Clopper and Pearson (1934) where each
  conversation has one trial;
* a *percentile* lies between order statistics by the same law: a value is above the true percentile when the share of turns
  at or under it is surely large enough, whatever their distribution is. A turn without reply is infinite and ranks last;
* *word errors over words* are such a share, too: one conversation in fifty may be misheard from end to end, and fifty that were
  not misheard say little about it;
* *Elo* over another system has the clustered covariance of its board, or, where one of the two won everything, the binomial
  law.

A mean is not among them. No reply counts as 15 s in it, and of runs of 60 turns with one in fifty without reply three in ten
contain none at all: their spread says nothing about the mean (docs/decisions/gate-verdicts.md). A median, a p95 and a share of
turns without reply say the same without that flaw.

Turns of one conversation resemble each other, by an unknown amount. So a conversation is one observation, however many turns
it has, and no bound rests on a guess of how alike they are.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from harness.statistics.arrays import Bools, Floats
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.statistics.share_bounds import highest, lowest, stays_under

Bounds = tuple[float, float]
"""(low, high); infinite where that side has no bound."""
NO_BOUNDS: Final[Bounds] = (-np.inf, np.inf)


class Evidence(Protocol):
    """Evidence of one cell on one figure."""

    @property
    def value(self) -> float:
        """The figure as observed; infinite where it falls on a turn without reply."""
        ...

    @property
    def contexts(self) -> int:
        """Number of conversations behind it."""
        ...

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Σ hits / Σ of over conversations, between 0 and 1. A hit may be a half (a tie)."""

    hits: Floats
    of: Floats

    @property
    def value(self) -> float:
        return float(self.hits.sum() / self.of.sum())

    @property
    def contexts(self) -> int:
        return int(self.of.size)

    @property
    def missed(self) -> "Share":
        """The share of the trials that are no hits."""
        return Share(self.of - self.hits, self.of)

    def bounds(self, tail: float) -> Bounds:
        if self.contexts < FEWEST_CLUSTERS:
            return NO_BOUNDS
        return lowest(self.hits, self.of, tail), highest(self.hits, self.of, tail)


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """The `share` quantile of the turns of a cell: one array of values per conversation, infinite ones allowed."""

    groups: tuple[Floats, ...]
    share: float

    @property
    def value(self) -> float:
        ordered = np.sort(np.concatenate(self.groups))
        place = self.share * (ordered.size - 1)
        low, high = int(np.floor(place)), int(np.ceil(place))
        if low == high or np.isinf(ordered[high]):
            return float(ordered[high])
        if np.isinf(ordered[low]):  # of differences: a turn that had no reply before
            return float(ordered[low])
        return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))

    @property
    def contexts(self) -> int:
        return len(self.groups)

    @property
    def turns(self) -> int:
        """Number of values."""
        return sum(group.size for group in self.groups)

    def under(self, limit: float) -> Share:
        """The share of turns at or under a limit: the percentile is within the limit when this is `share` or more."""
        return self._share([group <= limit for group in self.groups])

    def bounds(self, tail: float) -> Bounds:
        if self.contexts < FEWEST_CLUSTERS:
            return NO_BOUNDS
        values = np.unique(np.concatenate(self.groups))
        # The lowest value that surely has `share` of the turns at or under it, the highest that has no more than that under it.
        above = bisect_left(values, True, key=lambda v: self._is_surely_enough(v, tail))
        below = bisect_left(values, True, key=lambda v: not self._is_surely_no_more(v, tail)) - 1
        return (
            float(values[below]) if below >= 0 else -np.inf,
            float(values[above]) if above < values.size else np.inf,
        )

    def _is_surely_enough(self, value: float, tail: float) -> bool:
        over = self._share([group > value for group in self.groups])
        return stays_under(1.0 - self.share, over.hits, over.of, tail)

    def _is_surely_no_more(self, value: float, tail: float) -> bool:
        under = self._share([group < value for group in self.groups])
        return stays_under(self.share, under.hits, under.of, tail)

    def _share(self, which: Sequence[Bools]) -> Share:
        return Share(np.array([float(w.sum()) for w in which]), np.array([float(w.size) for w in which]))


@dataclass(frozen=True, slots=True, eq=False)
class Worsening:
    """Amount by which a figure is worse than a baseline's. Positive is worse, for every figure.

    Each of the two is bounded at half the error. That is valid however similar the two runs' conversations made them, and costs
    some power where a paired test would use that similarity.
    """

    measured: Evidence
    baseline: Evidence
    lower_is_better: bool

    @property
    def value(self) -> float:
        if np.isinf(self.measured.value) and np.isinf(self.baseline.value):
            return 0.0
        gap = self.measured.value - self.baseline.value
        return gap if self.lower_is_better else -gap

    @property
    def contexts(self) -> int:
        return min(self.measured.contexts, self.baseline.contexts)

    def bounds(self, tail: float) -> Bounds:
        one, two = self.measured.bounds(tail / 2), self.baseline.bounds(tail / 2)
        low = one[0] - two[1] if np.isfinite(one[0]) and np.isfinite(two[1]) else -np.inf
        high = one[1] - two[0] if np.isfinite(one[1]) and np.isfinite(two[0]) else np.inf
        return (low, high) if self.lower_is_better else (-high, -low)


def share_of_flags(flags: Mapping[str, Sequence[float] | Floats]) -> Share | None:
    """A share from conversation → one value of 0 to 1 per trial; None without any."""
    known = [values for values in flags.values() if len(values)]
    if not known:
        return None
    return Share(np.array([float(sum(v)) for v in known]), np.array([float(len(v)) for v in known]))


def percentile_of(values: Mapping[str, Sequence[float] | Floats], share: float) -> Percentile | None:
    """A percentile from conversation → values; None without any."""
    groups = tuple(np.asarray(v, dtype=np.float64) for v in values.values() if len(v))
    return Percentile(groups, share) if groups else None
