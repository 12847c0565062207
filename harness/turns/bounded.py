"""One latency of one turn, between a low and a high end.

Others on the agent's machine can only delay it. So a turn whose latency could owe up to *o* ms to others has, on a machine of
its own, a latency in [measured − o, measured]. No turn is dropped for that: it would drop the slow ones first (Manski, Partial
Identification of Probability Distributions, 2003, ch. 1). A turn without reply is infinite at both ends, unless others could
have had most of the wait.
"""

from typing import Literal, NamedTuple

from harness.timing.figures import NO_REPLY_MS, SILENCED_MS, TurnTiming
from harness.turns.catalogue import CATALOGUE, HEARD

Speed = Literal["fast", "slow", "cannot tell"]


class Bounded(NamedTuple):
    """The two ends of a latency in ms; equal where nothing is owed to others. `high_ms` is the measured one."""

    low_ms: float
    high_ms: float

    def within(self, budget_ms: float) -> Speed:
        """*fast* if the high end is within the budget, *slow* if the low end is over it; else the machine cannot tell.

        >>> Bounded(430.0, 520.0).within(500.0)
        'cannot tell'
        """
        if self.high_ms <= budget_ms:
            return "fast"
        return "slow" if self.low_ms > budget_ms else "cannot tell"


def bounded(turn: TurnTiming, figure: str) -> Bounded | None:
    """Both ends of a latency of the catalogue; None where the turn does not have it, or was discarded."""
    read = CATALOGUE[figure].read
    assert read is not None, figure
    if turn.discarded is not None:
        return None
    value_ms, heard = read(turn), figure in HEARD
    if heard and turn.signed_ms is not None:
        return Bounded(float("inf"), float("inf"))
    if value_ms is None:
        return Bounded(_of_silence(turn), float("inf")) if heard else None
    if value_ms == float("inf"):
        return Bounded(_of_silence(turn), value_ms)
    return Bounded(value_ms - _owed_ms(turn, figure, value_ms), value_ms)


def _of_silence(turn: TurnTiming) -> float:
    """The low end of a turn that ranks slowest, in ms."""
    owed_ms = turn.owed_ms("ttfa") or 0.0
    return max(0.0, NO_REPLY_MS - owed_ms) if owed_ms > SILENCED_MS else float("inf")


def _owed_ms(turn: TurnTiming, figure: str, value_ms: float) -> float:
    if turn.contention is None:
        return 0.0
    owed_ms = turn.owed_ms(figure)
    if owed_ms is None:  # Of an older run, or a figure without a stretch of its own: the bound of the whole turn.
        owed_ms = turn.owed_ms(turn.first_figure[0]) or 0.0
    return min(owed_ms, value_ms) if value_ms >= 0 else owed_ms
