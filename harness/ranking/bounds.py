"""Bounds on one figure that hold far out in the tails, where a gate over many limits has to decide.

A gate with twenty limits asks each of them at one twentieth of its error, one in 2,000. A bootstrap of 2,000 draws has one draw
out there, and never draws a turn slower than the slowest one seen. So nothing here is resampled:

* a *share* has the bounds of Clopper and Pearson (1934), from the binomial law itself;
* a *percentile* lies between order statistics, by the same law: how many of n turns are faster than the true percentile is
  binomial whatever the latencies look like. A turn without reply is infinite and simply ranks last;
* *word errors over words* are a share too, of which each conversation is one trial and no more: one in fifty may be misheard
  from end to end, and fifty that were not say little about that;
* *Elo* over another system has the clustered covariance of its board, or, where one of the two won everything, the binomial
  law.

A mean is not among them. No reply counts as 15 s in it, and of runs of 60 turns with one in fifty without reply three in ten
hold none at all: their spread tells nothing of the mean (docs/decisions/gate-verdicts.md). A median, a p95 and a share of turns
without reply say the same without that flaw.

Turns of one conversation resemble each other. A share of turns is therefore held as if there were only so many turns as would
give the spread that is seen between conversations (the effective sample of Korn and Graubard, 1998), never more than there
are; percentiles take theirs from the share of turns under the observed percentile (Woodruff, 1952). Where all turns agree no
spread can be seen, and each conversation counts once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy import stats

from harness.ranking.board import Board, swept_gap
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.ranking.scale import Floats

Bounds = tuple[float, float]
"""(low, high); infinite where that side has no bound."""
NO_BOUNDS: Final[Bounds] = (-np.inf, np.inf)


class Evidence(Protocol):
    """What one cell knows of one figure."""

    @property
    def value(self) -> float:
        """The figure as observed; infinite where it falls on a turn without reply."""
        ...

    @property
    def contexts(self) -> int:
        """How many conversations stand behind it."""
        ...

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`."""
        ...


def _effective(hits: Floats, of: Floats) -> float:
    """The number of independent trials that would give the spread of this share between conversations."""
    total, share = float(of.sum()), float(hits.sum() / of.sum())
    if (of == 1).all() and np.isin(hits, (0.0, 1.0)).all():
        return total
    if share in (0.0, 1.0):
        return float(of.size)
    error = _ratio_error(hits, of)
    if error == 0.0:
        return float(of.size)
    # t against normal: the spread between few conversations is itself a guess (Korn and Graubard, 1998).
    guess = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, of.size - 1)) ** 2 if of.size > 1 else 0.0
    return float(min(total, max(share * (1 - share) / error**2 * guess, 1.0)))


def _ratio_error(sums: Floats, of: Floats) -> float:
    """Standard error of Σ sums / Σ of, by conversation."""
    if of.size < 2:
        return float("inf")
    rest = sums - sums.sum() / of.sum() * of
    return float(np.sqrt(of.size / (of.size - 1) * (rest**2).sum()) / of.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Σ hits / Σ of over conversations, between 0 and 1. A hit may be a half (a tie)."""

    hits: Floats
    of: Floats
    one_a_context: bool = False
    """Each conversation is one trial at most, however many it holds and however alike they look."""

    @property
    def value(self) -> float:
        return float(self.hits.sum() / self.of.sum())

    @property
    def contexts(self) -> int:
        return int(self.of.size)

    @property
    def effective(self) -> float:
        """Independent trials that it is worth."""
        found = _effective(self.hits, self.of)
        return min(found, float(self.contexts)) if self.one_a_context else found

    def bounds(self, tail: float) -> Bounds:
        if self.contexts < FEWEST_CONTEXTS:
            return NO_BOUNDS
        n = self.effective
        return clopper_pearson(self.value * n, n, tail)


def clopper_pearson(hits: float, of: float, tail: float) -> Bounds:
    """Bounds of a share, each with an error of at most `tail`; `hits` and `of` need not be whole."""
    missed = of - hits
    low = 0.0 if hits <= 0 else float(stats.beta.ppf(tail, hits, missed + 1))
    high = 1.0 if missed <= 0 else float(stats.beta.isf(tail, hits + 1, missed))
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """The `share` quantile of the turns of a cell: one array of values a conversation, infinite ones allowed."""

    groups: tuple[Floats, ...]
    share: float

    @property
    def value(self) -> float:
        ordered = np.sort(np.concatenate(self.groups))
        place = self.share * (ordered.size - 1)
        low, high = int(np.floor(place)), int(np.ceil(place))
        if low == high or np.isinf(ordered[high]):
            return float(ordered[high])
        return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))

    @property
    def contexts(self) -> int:
        return len(self.groups)

    @property
    def turns(self) -> int:
        """How many values there are."""
        return sum(group.size for group in self.groups)

    def under(self, limit: float) -> Share:
        """The share of turns at or under a limit: the percentile is within the limit when this is `share` or more."""
        return Share(
            np.array([float((group <= limit).sum()) for group in self.groups]),
            np.array([float(group.size) for group in self.groups]),
        )

    def bounds(self, tail: float) -> Bounds:
        if self.contexts < FEWEST_CONTEXTS:
            return NO_BOUNDS
        ordered = np.sort(np.concatenate(self.groups))
        n = ordered.size
        worth = int(np.floor(self.under(self.value).effective)) if n > self.contexts else n
        low, high = ranks(worth, self.share, tail)
        # Ranks among as many turns as these are worth, stretched outwards over the turns that there are.
        below = int(np.floor(low * n / worth))
        above = int(np.ceil(high * n / worth))
        return (
            float(ordered[below - 1]) if below >= 1 else -np.inf,
            float(ordered[above - 1]) if above <= n else np.inf,
        )


def ranks(n: int, share: float, tail: float) -> tuple[int, int]:
    """Ranks (from 1) of the order statistics of n independent values that bound a quantile; 0 and n + 1: there is none."""
    below = stats.binom.cdf(np.arange(0, n), n, share)  # below[k]: at most k values lie under the quantile
    low = int(np.searchsorted(below, tail, side="right"))
    at_least = stats.binom.sf(np.arange(0, n), n, share)  # at_least[k]: k + 1 or more do
    enough = np.flatnonzero(at_least <= tail)
    # With every value counted, "n or more" is the last that can be rare.
    high = int(enough[0]) + 1 if enough.size else n + 1
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class EloOverReference:
    """How far one system stands above another on one board."""

    board: Board
    system: str
    reference: str

    @property
    def value(self) -> float:
        return self.board.difference(self.system, self.reference).elo

    @property
    def contexts(self) -> int:
        return min(self.board[self.system].contexts, self.board[self.reference].contexts)

    def bounds(self, tail: float) -> Bounds:
        found = self.board.difference(self.system, self.reference)
        pair = (self.system, self.reference)
        if found.interval is None:
            return NO_BOUNDS
        if pair in self.board.swept:
            return swept_gap(self.board.swept[pair], tail), np.inf
        if pair[::-1] in self.board.swept:
            return -np.inf, -swept_gap(self.board.swept[pair[::-1]], tail)
        if found.error is None or self.board.covariance is None:
            return NO_BOUNDS
        half = found.error * float(stats.t.isf(tail, self.board.covariance.freedom))
        return found.elo - half, found.elo + half


@dataclass(frozen=True, slots=True, eq=False)
class Worsening:
    """By how much a figure is worse than a baseline's. Positive is worse, whichever way the figure points.

    Each of the two is bounded at half the error. That holds however alike the two runs' conversations made them, and costs some
    power where a paired test would know how alike.
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


def share_of_flags(flags: Mapping[str, Sequence[float]]) -> Share | None:
    """A share from conversation → one value of 0 to 1 a trial; None without any."""
    known = [values for values in flags.values() if len(values)]
    if not known:
        return None
    return Share(np.array([float(sum(v)) for v in known]), np.array([float(len(v)) for v in known]))


def percentile_of(values: Mapping[str, Sequence[float]], share: float) -> Percentile | None:
    """A percentile from conversation → values; None without any."""
    groups = tuple(np.asarray(v, dtype=np.float64) for v in values.values() if len(v))
    return Percentile(groups, share) if groups else None
