"""One figure of one group of turns, between its two ends, with an interval over whole clusters.

A percentile never falls when a turn's time grows, and a share within a budget never rises. So the figure at all low ends and
the figure at all high ends bound whatever a machine without others would have given, and the interval covers both. Percentiles
over stretches of time, of which a load test has few with many turns each, are drawn (`harness.statistics.drawn_quantiles`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.statistics.arrays import Floats
from harness.statistics.bounds import Bounds, Evidence, percentile_of, share_of_flags
from harness.statistics.drawn_quantiles import Drawn
from harness.statistics.interval import TAIL, TURNS_FOR_P95, Interval
from harness.turns.catalogue import CATALOGUE
from harness.turns.table import COLUMN_OF, Cluster, Given, KeyName, TurnTable

PERCENTILES: Final[Mapping[str, float]] = {"p50": 0.50, "p95": 0.95}
By = Mapping[KeyName, str | Collection[str]]


@dataclass(frozen=True, slots=True)
class BothEnds:
    """A figure, or a change of one, at its low and its high end, and as measured. `figure`: its path, as a limit names it."""

    figure: str
    low: Evidence
    high: Evidence
    measured: Evidence

    @property
    def value(self) -> float:
        """The value as measured; infinite where it falls on a turn without reply. Of a change, positive is worse."""
        return self.measured.value

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest that machines of their own would have given; equal where nothing is owed to others."""
        return self.low.value, self.high.value

    @property
    def contexts(self) -> int:
        """Number of clusters behind it."""
        return self.measured.contexts

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval over both ends; None where an end has no bound."""
        ends = self.bounds(TAIL)
        return ends if np.isfinite(ends).all() else None

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`, whatever part others had."""
        low = self.low.bounds(tail)
        return low if self.high is self.low else (low[0], self.high.bounds(tail)[1])


@dataclass(frozen=True, slots=True)
class Estimate(BothEnds):
    """The estimate of a figure. `turns`: number of turns that give it."""

    turns: int


def estimate(table: TurnTable, figure: str, by: By | None = None, cluster: Cluster = "conversation") -> Estimate | None:
    """The estimate of a figure over the rows with the keys `by`; None if they do not give it.

    Args:
        figure: a path of the catalogue, as `ttfa_ms.p95`, `within_budget.ttfa` or `cut_in_rate`.
        cluster: the key whose groups are independent.

    Raises KeyError: no turn has such a figure.
    """
    group = table if by is None else table.where(by)
    key, share = named(figure)
    given = group.given(key)
    turns = len(np.unique(given.row))
    if not turns or (cluster == "stretch" and share == PERCENTILES["p95"] and turns < TURNS_FOR_P95):
        return None
    # Bounds are most of the work, and mostly nothing is owed to others.
    measured = _evidence(group, given, given.measured, cluster, share)
    low, high = (
        measured if np.array_equal(end, given.measured) else _evidence(group, given, end, cluster, share)
        for end in (given.low, given.high)
    )
    return Estimate(figure, low, high, measured, turns)


def named(figure: str) -> tuple[str, float | None]:
    """The key in the catalogue and, for a percentile, its share: `ttfa_ms.p95` is (`ttfa`, 0.95)."""
    if figure in CATALOGUE:
        return figure, None
    key, _, statistic = figure.partition("_ms.")
    return key, PERCENTILES[statistic]


def by_cluster(group: TurnTable, given: Given, values: Floats, cluster: Cluster = "conversation") -> Mapping[str, Floats]:
    """Cluster → its values, in the order of the rows."""
    key = group.keys[COLUMN_OF[cluster]]
    codes = key.codes[given.row]
    order = np.argsort(codes, kind="stable")
    kinds, first = np.unique(codes[order], return_index=True)
    parts = np.split(values[order], first[1:]) if kinds.size else []
    return {key.names[kind]: part for kind, part in zip(kinds, parts, strict=True)}


def _evidence(group: TurnTable, given: Given, values: Floats, cluster: Cluster, share: float | None) -> Evidence:
    groups = by_cluster(group, given, values, cluster)
    found: Evidence | None
    if share is None:
        found = share_of_flags(groups)
    elif cluster == "stretch":
        # Two tests, and two steps, are drawn each on its own.
        found = Drawn.quantile(groups, share, seed=int(group.began_ns.sum() % 2**32))
    else:
        found = percentile_of(groups, share)
    assert found is not None
    return found
