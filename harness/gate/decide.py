"""Pass, fail, or cannot tell: decision of a gate over many limits and many looks, with few false alarms.

A limit *passes* when its whole interval is on the right side, *fails* when it is on the wrong side. The intervals are
Bonferroni's: the error of the gate is shared out evenly over all limits. Holm's rule would decide a little more, but then the
printed interval would not show the verdict. So with probability 1 − `ERROR` no limit at all fails whose figure is truly within
it.

Look k of a check that plays on until it is clear has ERROR / (k · (k + 1)) of the error, which adds up to `ERROR` however many
looks there are (alpha spending; the union bound assumes nothing about how looks depend on each other). A *fail* may have one
look more, before calls in which the harness was at fault are played again: then each fail has half of the error of its look.

A limit may pass *by its figure*: the interval contains it, and the figure is within it. It is for a guard that few
conversations can confirm. It fails as surely as any other, but an agent that is truly a little over it can pass.

Where the low end of a figure is within the limit and its high end outside (`harness.turns.estimate`), others alone leave it
open: more conversations on the same machine have the same two ends, so no number of them is named.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, Literal, Protocol, runtime_checkable

import numpy as np
from scipy import stats

from harness.statistics.bounds import Bounds, Evidence, Percentile, Share
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.statistics.share_bounds import alike, chance_over

ERROR: Final = 0.01
"""Chance of any false alarm in one check. It is set by flaps: for an agent exactly at its limit a share of `ERROR`
of the checks pass and as many fail, and a pass after a fail (or the other way round) then comes once in 1 / ERROR checks."""
POWER: Final = 0.8
"""Chance of a clear verdict after the stated further conversations, if they are like those so far."""
MOST_MORE: Final = 20_000
"""If more conversations are needed, the figure is too near its limit to be decided by playing."""

Verdict = Literal["pass", "fail", "cannot tell"]
Rule = Literal["at_most", "at_least"]


@runtime_checkable
class TwoEnds(Protocol):
    """Evidence that others on the agent's machine leave between a low and a high end."""

    @property
    def low(self) -> Evidence: ...

    @property
    def high(self) -> Evidence: ...


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one limit. `interval`: each end wrong with a chance of at most `tail`; the failing end, perhaps half."""

    verdict: Verdict
    value: float
    interval: Bounds
    tail: float
    more_needed: int | None
    """Further conversations that would decide it with a chance of `POWER`; None: it is decided, or no such number is known."""
    ends: Bounds | None = None
    """The figure at its low and high end; None for a figure that has none, or of which others' part was not measured."""
    by_others: bool = False
    """True if others on the machine alone leave it open: one end is within the limit, and the other outside."""
    by_figure: bool = False
    """True if it passes by its figure alone: the interval contains the limit, and the budgets file lets that pass."""


def tail_of(limits: int, look: int | None) -> float:
    """The error of each end of each interval. `look` counts from 1 in a check that may have several looks; None: it has one."""
    spent = ERROR if look is None else ERROR / (look * (look + 1))
    return spent / max(limits, 1)


def decide(
    evidence: Evidence, rule: Rule, limit: float, tail: float, *, fails_twice: bool = False, passes_by_figure: bool = False
) -> Decision:
    """The decision on one limit from the evidence on its figure.

    `fails_twice`: True if a fail has two looks with this tail. `passes_by_figure`: True if the limit passes where the interval
    contains it and the figure itself is within it; of a figure with two ends, both.
    """
    interval = evidence.bounds(tail)
    if fails_twice:
        surer = evidence.bounds(tail / 2)
        interval = (surer[0], interval[1]) if rule == "at_most" else (interval[0], surer[1])
    verdict = verdict_of(interval, rule, limit)
    ends = (evidence.low.value, evidence.high.value) if isinstance(evidence, TwoEnds) else None
    apart = ends is not None and len({verdict_of((end, end), rule, limit) for end in ends}) > 1
    by_others = verdict == "cannot tell" and apart and evidence.contexts >= FEWEST_CLUSTERS
    if passes_by_figure and verdict == "cannot tell" and evidence.contexts >= FEWEST_CLUSTERS:
        figures = ends or (evidence.value,)
        if all(verdict_of((figure, figure), rule, limit) == "pass" for figure in figures):
            return Decision("pass", evidence.value, interval, tail, None, ends, by_figure=True)
    more = more_needed(evidence, limit, tail) if verdict == "cannot tell" and not by_others else None
    return Decision(verdict, evidence.value, interval, tail, more, ends, by_others)


def verdict_of(interval: Bounds, rule: Rule, limit: float) -> Verdict:
    """The verdict by the side of a limit on which a whole interval is."""
    low, high = interval
    if rule == "at_most":
        return "pass" if high <= limit else "fail" if low > limit else "cannot tell"
    return "pass" if low >= limit else "fail" if high < limit else "cannot tell"


def overall(verdicts: list[Verdict]) -> Verdict:
    """Verdict of the whole gate: fail with any limit that fails, else undecided with any that is. Undecided without limits."""
    if not verdicts:
        return "cannot tell"
    if "fail" in verdicts:
        return "fail"
    return "cannot tell" if "cannot tell" in verdicts else "pass"


def more_needed(evidence: Evidence, limit: float, tail: float) -> int | None:
    """Further conversations, like those so far, after which the limit would be decided with a chance of `POWER`.

    It is an estimate from the data so far; with few conversations it is rough. None where the figure is so near its limit,
    or so little is known, that no number up to `MOST_MORE` would be enough.
    """
    have = evidence.contexts
    if have == 0:
        return None
    if isinstance(evidence, TwoEnds):
        each = [more_needed(end, limit, tail) for end in (evidence.low, evidence.high)]
        known = [more for more in each if more is not None]
        return max(known) if len(known) == len(each) else None
    if isinstance(evidence, Percentile):
        needed = _for_share(evidence.under(limit), evidence.share, tail)
    elif isinstance(evidence, Share):
        needed = _for_share(evidence, limit, tail)
    else:
        needed = _for_spread(evidence, limit, tail)
    if needed is None or needed - have > MOST_MORE:
        return None
    return max(needed - have, FEWEST_CLUSTERS - have, 1)


def _for_share(seen: Share, limit: float, tail: float) -> int | None:
    """Conversations until the bounds of a share leave the limit."""
    # A share of none or of all is no certainty: half a conversation of each kind is added.
    most = float(seen.of.max())
    kinds, often = alike(seen.hits, seen.of)
    hits, of = np.append(kinds[:, 0], [0.0, most]), np.append(kinds[:, 1], [most, most])
    counts = np.append(often, [0.5, 0.5])
    share = float(counts @ hits / (counts @ of))
    if share > limit:
        hits, share, limit = of - hits, 1.0 - share, 1.0 - limit
    # The share reached with a chance of `POWER`: as far above the share as that quantile of it is.
    spread = float(np.sqrt(counts @ (hits - share * of) ** 2 * counts.sum()) / (counts @ of))
    kinds = np.stack([hits, of], axis=1)

    def settled(n: int) -> bool:
        aim = limit - float(stats.norm.ppf(POWER)) * spread / np.sqrt(n)
        return aim > share and chance_over(aim, kinds, counts * n / counts.sum()) <= tail

    high = seen.contexts + MOST_MORE
    if not settled(high):
        return None
    return bisect_left(range(high), True, lo=1, key=settled)


def _for_spread(evidence: Evidence, limit: float, tail: float) -> int | None:
    """Conversations until an interval that narrows as their square root leaves the limit."""
    low, high = evidence.bounds(tail)
    gap = abs(evidence.value - limit)
    end = high - evidence.value if evidence.value < limit else evidence.value - low
    if not np.isfinite(end) or not np.isfinite(gap) or gap == 0:
        return None
    deviations = float(stats.norm.isf(tail))
    wanted = end * (deviations + float(stats.norm.ppf(POWER))) / deviations
    return int(np.ceil(evidence.contexts * (wanted / gap) ** 2))
