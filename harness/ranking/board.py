"""A board: the rows that a reader sees, and the covariance that is needed to compare them.

An interval on one rating answers no question about two, so a board has the whole covariance and gives differences from
it. An absent value is None: no interval under eight contexts, no axis that nobody marked. A fit gives every system an Elo, and
only one of which at least one end is known is `quoted`: every output (terminal, page, export, JSON) shows that and no other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import stats

from harness.ranking.elo_intervals import Covariance, of_differences
from harness.ranking.scale import ELO_PER_LOGIT
from harness.ranking.unbounded import swept_share
from harness.statistics.interval import FEWEST_CLUSTERS, Interval

QualityState = Literal["people", "borne_out", "opinion", "none"]
"""State of a quality axis. `people`: by people's votes; `borne_out`: by judges that agree with people elsewhere; `opinion`: by
other judges; `none`: not known."""
Ends = tuple[float | None, float | None]
"""An interval of which one end may be unknown: (low, None) is "at least", (None, high) "at most"."""


@dataclass(frozen=True, slots=True)
class SystemRating:
    """One system on a board. Ratings in Elo, shares in 0–1, intervals of 95 %."""

    system: str
    elo: float
    interval: Ends | None
    """Clustered by context; None under eight contexts. For a system that won or lost everything it has one end, or is None."""
    win_rate: float
    """Share of its comparisons that it won; a tie is half. The paper prints it as "overall win rate"."""
    axes: Mapping[str, float]
    """Win rate on each axis that was marked; the paper prints these as "percentiles"."""
    judgments: int
    contexts: int
    band: Interval | None = None
    """Interval that covers all systems of the board at once (max-t)."""
    error: float | None = None
    """Standard error of the rating."""
    paper_interval: Interval | None = None
    """Interval by the paper's rule, SE = sqrt(1/n) on log-odds. Only for comparison with it: it covers far too seldom."""
    bootstrap_interval: Interval | None = None
    """Interval from resampled conversations, where a bootstrap was asked for; None where a system won or lost everything, or
    where its verdicts cancel in every conversation, so that all draws are alike."""
    part: int = 1
    """Number of the set of systems that met, directly or by a chain of opponents. Ratings of two parts are on two scales."""

    @property
    def quoted(self) -> float | None:
        """The Elo as it may be shown; None where neither end of its interval is known, so that any other would fit too."""
        return self.elo if self.interval is not None else None


@dataclass(frozen=True, slots=True)
class Difference:
    """Elo of one system minus that of another, by the board's covariance."""

    elo: float
    error: float | None
    interval: Ends | None
    """Interval, open at one end where one of the two won all their comparisons; the p-value is then from a sign test."""
    p_value: float | None
    p_adjusted: float | None = None
    """P-value after Benjamini–Hochberg over all pairs of the board; only from `Board.differences`."""

    @property
    def quoted(self) -> float | None:
        """The difference as it may be shown; None where neither end of its interval is known."""
        return self.elo if self.interval is not None else None


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard, best first."""

    method: str
    systems: tuple[SystemRating, ...]
    warnings: tuple[str, ...]
    presentation: str = "written"
    judgments: int = 0
    contexts: int = 0
    terms: Mapping[str, float] = field(default_factory=dict)
    """Cuts, position and length terms of the fit, in log-odds."""
    names: tuple[str, ...] = ()
    """Order of `covariance`."""
    covariance: Covariance | None = field(default=None, compare=False, repr=False)
    """Covariance of the log-odds, clustered by context; zero between two parts."""
    swept: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(winner, loser) → contexts in which they met, for pairs whose difference has no upper bound."""

    separated: frozenset[str] = frozenset()
    """Systems that won or lost everything against the rest of their part, so that their rating has no bound on one side."""
    unmoved: frozenset[str] = frozenset()
    """Systems whose verdicts cancel in every conversation, so that resampling conversations shows nothing about them."""

    @property
    def parts(self) -> int:
        """Number of sets of systems without comparisons between them: 1 on an ordinary board."""
        return max((row.part for row in self.systems), default=1)

    def __getitem__(self, system: str) -> SystemRating:
        for row in self.systems:
            if row.system == system:
                return row
        raise KeyError(system)

    def difference(self, system: str, other: str) -> Difference:
        """The difference of two systems.

        Raises KeyError for a system that is not on the board, ValueError for two that never met in a chain.
        """
        one, two = self[system], self[other]
        if one.part != two.part:
            raise ValueError(f"{system} and {other} never met, directly or by a chain of opponents: no difference is known")
        gap = one.elo - two.elo
        if self.covariance is None or min(one.contexts, two.contexts) < FEWEST_CLUSTERS:
            return Difference(gap, None, None, None)
        if (system, other) in self.swept or (other, system) in self.swept:
            return self._of_swept(system, other, gap)
        if {system, other} & self.separated:
            return Difference(gap, None, None, None)
        at, against = self.names.index(system), self.names.index(other)
        error = ELO_PER_LOGIT * float(of_differences(self.covariance.matrix)[at, against])
        half = error * self.covariance.quantile()
        p_value = float(2 * stats.t.sf(abs(gap) / error, self.covariance.freedom))
        return Difference(gap, error, (gap - half, gap + half), p_value)

    def _of_swept(self, system: str, other: str, gap: float) -> Difference:
        ahead = (system, other) in self.swept
        contexts = self.swept[(system, other) if ahead else (other, system)]
        if contexts < FEWEST_CLUSTERS:
            return Difference(gap, None, None, None)
        least = swept_gap(contexts)
        return Difference(gap, None, (least, None) if ahead else (None, -least), 2 * 0.5**contexts)

    def differences(self) -> dict[tuple[str, str], Difference]:
        """All pairs, better system first, their p-values adjusted as one family of tests."""
        found = {
            (a.system, b.system): self.difference(a.system, b.system)
            for a, b in combinations(self.systems, 2)
            if a.part == b.part
        }
        tested = [pair for pair, d in found.items() if d.p_value is not None]
        if tested:
            adjusted = stats.false_discovery_control([found[pair].p_value for pair in tested], method="bh")
            for pair, p_value in zip(tested, adjusted.tolist(), strict=True):
                found[pair] = replace(found[pair], p_adjusted=p_value)
        return found


def swept_gap(contexts: int, error: float = 0.05) -> float:
    """The least Elo by which a system is ahead of one that it beat in every comparison in this many contexts.

    >>> round(swept_gap(12))
    219
    """
    share = swept_share(contexts, error)
    return float(ELO_PER_LOGIT * np.log(share / (1 - share)))
