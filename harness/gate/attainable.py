"""The reach of a gate: which of its limits a run can pass at all, worked out before anything is played.

A limit that even a flawless run cannot pass makes a gate that is never green. So a flawless run of the very conversations goes
through the gate's own rule, and nothing is worked out by a second formula. For rare events, such as silence, a file says how
many conversations a pass takes at a true rate of 0, 1 and 2 %.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, repeat
from operator import mul
from typing import Final

import numpy as np
from scipy import stats

from harness.audio.speech_text import parse_marked
from harness.errors import UserError
from harness.experiment import Experiment
from harness.gate.budgets import CellLimit, Limit
from harness.gate.decide import MOST_MORE, POWER, Rule, decide, tail_of
from harness.gate.evidence import is_rating, unit_of
from harness.scenarios.context import Context, spoken_indices
from harness.statistics.arrays import Floats
from harness.statistics.bounds import Evidence, Percentile, Share
from harness.timing.endpointing import LEAST_PAUSE_S
from harness.turns.speakers import bunch_of, speakers_of
from harness.wording import counted

OF_PAUSES: Final = frozenset(("pauses_cut_share", "false_start_rate"))
"""Figures that only conversations with an inner pause have."""
ONE_TURN: Final[Floats] = np.ones(1)
QUANTILES: Final = {"p50": 0.50, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class Unattainable:
    """A limit that a flawless run of these conversations does not pass."""

    limit: Limit
    have: int
    """Conversations with such a figure."""
    needs: int | None
    """Conversations like these in which a flawless run passes; None if no number up to `MOST_MORE` is enough."""

    @property
    def words(self) -> str:
        """The limit, and the conversations that a flawless run needs to pass it."""
        needs = f"at least {self.needs}" if self.needs is not None else "more than can be played"
        have = f", and {self.have} have such a figure" if self.limit.figure in OF_PAUSES else ""
        return f"{self.limit.words} (a flawless one needs {needs}{have})"


def refuse_unattainable(
    limits: Sequence[CellLimit], contexts: Collection[Context], options: Experiment, look: int | None
) -> None:
    """Refuse a gate that would never be green, before anything is played.

    Raises:
        UserError: no run of these conversations can pass one of the limits; names each, and the conversations that it needs.
    """
    found = unattainable([each.limit for each in limits], contexts, options.mode, look)
    if found:
        raise UserError(
            f"--budgets: no run of these {counted(len(contexts), 'conversation')} can pass "
            f"{'; or '.join(one.words for one in found)}; play more of them (--pack, --limit), or change the limits"
        )


def unattainable(
    limits: Sequence[Limit], contexts: Collection[Context], mode: str, look: int | None = None
) -> list[Unattainable]:
    """The limits that cannot be passed. One on Elo, or against a baseline, is never among them: its spread is not known before.

    `limits`: each as often as it has cells. `look`: as in `harness.gate.decide.tail_of`.
    """
    tail = tail_of(len(limits), look)
    found = {}
    for limit in limits:
        of = trials(limit, contexts, mode)
        ideal = flawless(limit, of) if of is not None else None
        if of is not None and ideal is not None and not _passes(ideal, limit, tail):
            found[limit] = Unattainable(limit, of.size, fewest(limit, tail, of if of.size else ONE_TURN))
    return list(found.values())


def _passes(ideal: Evidence, limit: Limit, tail: float) -> bool:
    by_figure = limit.in_doubt == "figure"
    return decide(ideal, limit.rule, limit.bound, tail, passes_by_figure=by_figure).verdict == "pass"


def trials(limit: Limit, contexts: Collection[Context], mode: str) -> Floats | None:
    """The number of trials of each conversation (speaker, where known) that has any: its turns, or their inner pauses.

    None if the pauses of a recording are not known beforehand.
    """
    if limit.figure in OF_PAUSES and any(turn.audio and turn.pauses_s is None for c in contexts for turn in c.turns):
        return None
    inside = [c for c in contexts if limit.subset in ("all", c.subset)]
    speakers, counts = speakers_of(inside), Counter[str]()
    for context in inside:
        counts[bunch_of(context.id, speakers)] += sum(
            _trials_of(limit.figure, context, k) for k in spoken_indices(context, mode)
        )
    return np.array([n for n in counts.values() if n], dtype=np.float64)


def _trials_of(figure: str, context: Context, turn: int) -> int:
    if figure not in OF_PAUSES:
        return 1
    spoken = context.turns[turn]
    if spoken.pauses_s:
        return sum(end - start >= LEAST_PAUSE_S for start, end in spoken.pauses_s)
    return sum(segment.pause_after_ms >= 1000 * LEAST_PAUSE_S for segment in parse_marked(spoken.text)[:-1])


def flawless(limit: Limit, of: Floats) -> Evidence | None:
    """The evidence of a run in which nothing counts against the limit; None where no such run can be imagined beforehand."""
    if limit.comparison == "worse_than_baseline_by" or is_rating(limit.figure):
        return None
    if unit_of(limit.figure) == "share":
        return Share(np.zeros(of.size) if limit.rule == "at_most" else of, of)
    best = 0.0 if limit.rule == "at_most" else np.inf
    groups = tuple(np.full(int(n), best) for n in of)
    return Percentile(groups, QUANTILES[limit.figure.rsplit(".", 1)[1]]) if groups else Share(of, of)


def fewest(limit: Limit, tail: float, like: Floats = ONE_TURN) -> int | None:
    """The fewest conversations with which a flawless run passes; None if `MOST_MORE` are too few.

    `like`: trials of each, repeated as often as it takes. Where they are unequal, a share needs more of them.
    """

    def passes(n: int) -> bool:
        ideal = flawless(limit, np.resize(like, n))
        return ideal is None or _passes(ideal, limit, tail)

    enough = next((n for n in accumulate(repeat(2, MOST_MORE.bit_length()), mul) if passes(n)), None)
    return None if enough is None else bisect_left(range(enough), True, lo=enough // 2, key=passes)


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
