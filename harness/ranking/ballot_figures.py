"""Figures of ballots with one bootstrap over conversations, so that differences between them are paired.

Every figure is a ratio of sums over contexts, or a coefficient of summed arrays. All figures of one set of rows share the
same drawn conversations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.ranking.ballots import Ballot
from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.interval import FEWEST_CLUSTERS, Interval

DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or coefficient with its 95 % interval (None under eight contexts), and the number of pairs behind it."""

    value: float
    interval: Interval | None
    pairs: int


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Agreement of the judges' majority with one person, minus agreement of two people."""

    difference: float
    interval_90: Interval | None
    margin: float
    equivalent: bool | None
    """None where no interval can be given."""


class Resampler:
    """One set of drawn conversations for all figures, so that their differences are paired."""

    def __init__(self, cast: Sequence[Ballot], draws: int, seed: int) -> None:
        self._cast = cast
        places = sorted({b.context for b in cast})
        at = {place: k for k, place in enumerate(places)}
        self._at = [at[b.context] for b in cast]
        self._contexts = len(places)
        self._often = draw_contexts(len(places), draws, np.random.default_rng(seed)) if places else np.zeros((draws, 0))

    def _sums(self, of: Callable[[Ballot], Floats | tuple[float, float] | None]) -> tuple[Floats, int] | None:
        parts = [(at, np.asarray(part)) for at, b in zip(self._at, self._cast, strict=True) if (part := of(b)) is not None]
        if not parts:
            return None
        sums = np.zeros((self._contexts, *parts[0][1].reshape(-1).shape))
        for at, part in parts:
            sums[at] += part.reshape(-1)
        return sums, len(parts)

    def share(self, of: Callable[[Ballot], tuple[float, float] | None]) -> Figure | None:
        """Ratio of the two sums that `of` gives for each ballot."""
        found = self._sums(of)
        if found is None:
            return None
        sums, pairs = found
        drawn = _ratio(self._often @ sums)
        return Figure(float(sums[:, 0].sum() / sums[:, 1].sum()), self._interval(drawn), pairs)

    def coefficient(self, of: Callable[[Ballot], Floats | None], figure: Callable[[Floats], Floats]) -> Figure | None:
        """A figure of sums of arrays. None where it is not defined (all verdicts alike)."""
        found = self._sums(of)
        if found is None:
            return None
        sums, pairs = found
        shape = next(part.shape for b in self._cast if (part := of(b)) is not None)
        value = float(np.ravel(figure(sums.sum(axis=0).reshape(shape)))[0])
        if not np.isfinite(value):
            return None
        drawn = figure((self._often @ sums).reshape(-1, *shape)).reshape(self._often.shape[0])
        return Figure(value, self._interval(drawn), pairs)

    def equivalence(
        self,
        one: Callable[[Ballot], tuple[float, float] | None],
        other: Callable[[Ballot], tuple[float, float] | None],
        margin: float,
    ) -> Equivalence | None:
        """Two one-sided tests at 5 % on the paired difference of two shares."""
        both = self._sums(one), self._sums(other)
        if both[0] is None or both[1] is None:
            return None
        first, second = both[0][0], both[1][0]
        gap = float(_ratio(first.sum(axis=0)[None])[0] - _ratio(second.sum(axis=0)[None])[0])
        interval = self._interval(_ratio(self._often @ first) - _ratio(self._often @ second), 0.90)
        inside = None if interval is None else interval[0] > -margin and interval[1] < margin
        return Equivalence(gap, interval, margin, inside)

    def _interval(self, drawn: Floats, level: float = 0.95) -> Interval | None:
        kept = drawn[np.isfinite(drawn)]
        if self._contexts < FEWEST_CLUSTERS or kept.size == 0:
            return None
        low, high = percentile_interval(kept, self._contexts, level)
        return float(low), float(high)


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], dtype=np.float64)
