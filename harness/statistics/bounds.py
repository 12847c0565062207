"""Bounds of a share and of a percentile: those of a 95 % interval, and those far out in the tails that a gate decides by.

One law serves both, so a gate at the level of an interval agrees with it. A gate with twenty limits tests each of them at one
twentieth of its error, one in 2,000, where a bootstrap of 2,000 draws has one draw; and a bootstrap never draws a turn slower
than the slowest one seen, nor a share other than none where none was seen (`benchmarks/interval_coverage.py` counts how often
either covers the truth). So nothing here is resampled:

* a *share* has Gaffke's bounds over conversations (`share_bounds`), which are those of Clopper and Pearson (1934) where each
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

from harness.statistics.arrays import Floats, Ints
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL, Interval
from harness.statistics.percentiles import quantile
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
    """Σ hits / Σ of over conversations, between 0 and 1. A hit may be a half (a tie).

    >>> seen = Share(hits=np.array([1.0, 0, 0, 2, 0, 0, 0, 0]), of=np.full(8, 2.0))
    >>> seen.value, tuple(round(end, 2) for end in seen.interval)
    (0.1875, (0.02, 0.57))
    """

    hits: Floats
    of: Floats

    @property
    def value(self) -> float:
        """The share."""
        return float(self.hits.sum() / self.of.sum())

    @property
    def contexts(self) -> int:
        """Number of conversations."""
        return int(self.of.size)

    @property
    def missed(self) -> "Share":
        """The share of the trials that are no hits."""
        return Share(self.of - self.hits, self.of)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval; None under eight conversations."""
        return self.bounds(TAIL) if self.contexts >= FEWEST_CLUSTERS else None

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`; infinite under eight conversations."""
        if self.contexts < FEWEST_CLUSTERS:
            return NO_BOUNDS
        return lowest(self.hits, self.of, tail), highest(self.hits, self.of, tail)


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """The `share` quantile of the turns of a cell: one array of values per conversation, infinite ones allowed.

    >>> of_eight = Percentile(tuple(np.array([400.0 + 10 * k, 500.0 + 10 * k]) for k in range(8)), 0.5)
    >>> of_eight.value, of_eight.bounds(0.025)
    (485.0, (420.0, 550.0))
    """

    groups: tuple[Floats, ...]
    share: float

    @property
    def value(self) -> float:
        """The percentile; infinite where it falls on a turn without reply."""
        return quantile(np.concatenate(self.groups), self.share)

    @property
    def contexts(self) -> int:
        """Number of conversations."""
        return len(self.groups)

    @property
    def turns(self) -> int:
        """Number of values."""
        return sum(group.size for group in self.groups)

    def under(self, limit: float) -> Share:
        """The share of turns at or under a limit: the percentile is within the limit when this is `share` or more."""
        return Share(np.array([float((group <= limit).sum()) for group in self.groups]), self._of)

    @property
    def _of(self) -> Floats:
        return np.array([float(group.size) for group in self.groups])

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`; infinite where there are too few conversations."""
        return percentile_bounds(self.groups, self.share, tail) if self.contexts >= FEWEST_CLUSTERS else NO_BOUNDS


def percentile_bounds(groups: Sequence[Floats], share: float, tail: float) -> Bounds:
    """Low and high of a percentile over any number of groups, each missed with a chance of at most `tail`.

    They are values that were seen: the lowest that surely has `share` of the turns at or under it, and the highest that surely
    has no more than that under it. Infinite where no value is sure.

    >>> percentile_bounds([np.array([float(k)]) for k in range(1, 13)], 0.5, 0.025)
    (3.0, 10.0)
    """
    pooled = np.concatenate(groups)
    order = np.argsort(pooled, kind="stable")
    ranked = pooled[order]
    owner = np.repeat(np.arange(len(groups)), [group.size for group in groups])[order]
    of = np.bincount(owner, minlength=len(groups)).astype(np.float64)
    values = np.unique(ranked)

    def hits(among: Ints) -> Floats:
        return np.bincount(among, minlength=of.size).astype(np.float64)

    def is_surely_enough(value: float) -> bool:
        return stays_under(1.0 - share, hits(owner[np.searchsorted(ranked, value, "right") :]), of, tail)

    def is_surely_no_more(value: float) -> bool:
        return stays_under(share, hits(owner[: np.searchsorted(ranked, value, "left")]), of, tail)

    above = bisect_left(values, True, key=is_surely_enough)
    below = bisect_left(values, True, key=lambda v: not is_surely_no_more(v)) - 1
    return (
        float(values[below]) if below >= 0 else -np.inf,
        float(values[above]) if above < values.size else np.inf,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Worsening:
    """Amount by which a figure is worse than a baseline's. Positive is worse, for every figure.

    Each of the two is bounded at half the error. That is valid however similar the two runs' conversations made them, and costs
    some power where a paired test would use that similarity.

    >>> now, before = (percentile_of({f"c{k}": [slow + k] for k in range(40)}, 0.5) for slow in (460.0, 400.0))
    >>> Worsening(now, before, lower_is_better=True).bounds(0.025)
    (45.0, 75.0)
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
    """A share from conversation → one value of 0 to 1 per trial; None without any.

    >>> share_of_flags({f"c{k}": [True, False, False] for k in range(8)}).value
    0.3333333333333333
    """
    known = [values for values in flags.values() if len(values)]
    if not known:
        return None
    return Share(np.array([float(sum(v)) for v in known]), np.array([float(len(v)) for v in known]))


def share_of(flags: Mapping[str, Sequence[float] | Floats]) -> tuple[float | None, Interval | None]:
    """The same share with its 95 % interval; None without any trial, no interval under eight conversations.

    >>> share_of({f"c{k}": [True, False, False] for k in range(3)})
    (0.3333333333333333, None)
    """
    found = share_of_flags(flags)
    return (None, None) if found is None else (found.value, found.interval)


def percentile_of(values: Mapping[str, Sequence[float] | Floats], share: float) -> Percentile | None:
    """A percentile from conversation → values; None without any.

    >>> percentile_of({f"c{k}": [400.0 + k, 410.0] for k in range(20)}, 0.95).bounds(0.025)  # too few for an upper end
    (414.0, inf)
    """
    groups = tuple(np.asarray(v, dtype=np.float64) for v in values.values() if len(v))
    return Percentile(groups, share) if groups else None
