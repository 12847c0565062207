"""The reach of a gate: which of its limits a run can pass at all, worked out before anything is played.

A limit that even a flawless run cannot pass makes a gate that is never green. Whether it can be passed depends on the number of
conversations, on the number of limits (each has its part of the error), and for pauses on how many each conversation has. So a
flawless run of the very conversations goes through the gate's own rule, and nothing is worked out by a second formula.

An agent is not flawless. For rare events, such as silence, a file therefore says how many conversations a pass takes at a
true rate of 0, 1 and 2 %.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from scipy import stats

from harness.audio.speech_text import parse_marked
from harness.gate.budgets import CellLimit, Limit
from harness.gate.decide import MOST_MORE, POWER, Rule, decide, tail_of
from harness.gate.evidence import unit_of
from harness.ranking.bounds import Evidence, Percentile, Share
from harness.ranking.scale import Floats
from harness.scenarios.context import Context, spoken_indices

OF_PAUSES: Final = frozenset(("pauses_cut_share", "false_start_rate"))
"""Figures that only conversations with an inner pause have."""
PAUSE_FROM_MS: Final = 200
"""Shorter silences are no inner pauses (`harness.timing.endpointing`)."""
QUANTILES: Final = {"p50": 0.50, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A limit that a flawless run of these conversations does not pass."""

    limit: Limit
    have: int
    """Conversations with such a figure."""
    needs: int | None
    """Conversations like these in which a flawless run passes; None if no number up to `MOST_MORE` is enough."""


def out_of_reach(limits: Sequence[CellLimit], contexts: Collection[Context], mode: str, look: int | None) -> list[OutOfReach]:
    """The limits that cannot be passed. One on Elo, or against a baseline, is never among them: its spread is not known before.

    `look`: as in `harness.gate.decide.tail_of`.
    """
    tail = tail_of(len(limits), look)
    found = {}
    for each in limits:
        of = trials(each.limit, contexts, mode)
        ideal = flawless(each.limit, of)
        if ideal is not None and decide(ideal, each.limit.rule, each.limit.bound, tail).verdict != "pass":
            found[each.limit] = OutOfReach(each.limit, of.size, fewest(each.limit, tail, float(of.mean()) if of.size else 1.0))
    return list(found.values())


def trials(limit: Limit, contexts: Collection[Context], mode: str) -> Floats:
    """The number of trials of each conversation that has any: of its turns, or of their inner pauses."""
    inside = [c for c in contexts if limit.subset in ("all", c.subset)]
    counts = [sum(_trials_of(limit.figure, c, k) for k in spoken_indices(c, mode)) for c in inside]
    return np.array([n for n in counts if n], dtype=np.float64)


def _trials_of(figure: str, context: Context, turn: int) -> int:
    if figure not in OF_PAUSES:
        return 1
    spoken = context.turns[turn]
    if spoken.pauses_s:
        return sum(1000 * (end - start) >= PAUSE_FROM_MS for start, end in spoken.pauses_s)
    return sum(segment.pause_after_ms >= PAUSE_FROM_MS for segment in parse_marked(spoken.text)[:-1])


def flawless(limit: Limit, of: Floats) -> Evidence | None:
    """The evidence of a run in which nothing counts against the limit; None where no such run can be imagined beforehand."""
    if limit.comparison == "worse_than_baseline_by" or unit_of(limit.figure) == "elo":
        return None
    if unit_of(limit.figure) == "share":
        return Share(np.zeros(of.size) if limit.rule == "at_most" else of, of)
    best = 0.0 if limit.rule == "at_most" else np.inf
    groups = tuple(np.full(int(n), best) for n in of)
    return Percentile(groups, QUANTILES[limit.figure.rsplit(".", 1)[1]]) if groups else Share(of, of)


def fewest(limit: Limit, tail: float, each: float = 1.0) -> int | None:
    """The fewest conversations, of `each` trials, with which a flawless run passes; None if `MOST_MORE` are too few."""

    def passes(n: int) -> bool:
        ideal = flawless(limit, np.full(n, max(1.0, round(each))))
        return ideal is None or decide(ideal, limit.rule, limit.bound, tail).verdict == "pass"

    return bisect_left(range(MOST_MORE), True, lo=1, key=passes) if passes(MOST_MORE) else None


@cache
def conversations_for(bound: float, tail: float, rate: float, rule: Rule = "at_most") -> int | None:
    """The conversations of one turn after which a share passes a limit with a chance of `POWER`; None if none are enough.

    `rate`: the agent's true share. Binomial: one turn a conversation, each with the same chance.
    """
    if rule == "at_least":
        return conversations_for(1 - bound, tail, 1 - rate)
    if rate >= bound:
        return None

    def chance(n: int) -> float:
        """That so few events are seen that the limit passes."""
        most = int(stats.binom.ppf(tail, n, bound))
        most -= stats.binom.cdf(most, n, bound) > tail
        return float(stats.binom.cdf(most, n, rate)) if most >= 0 else 0.0

    # The chance falls a little wherever one more event is not yet allowed, so the first number is found, not bisected for.
    return next((n for n in range(1, MOST_MORE) if chance(n) >= POWER), None)
