"""Bounds on a figure whatever its disturbed turns would have given on a quiet machine.

A machine that others share disturbs some turns of every run, and a run with many of them is invalid. Yet an agent that takes
2.5 s fails a limit of 1.5 s whatever those turns hide. So a figure is bounded twice: once with every disturbed turn at its
best, once at its worst. A limit that both bounds pass, or both fail, is decided; nothing is assumed of the disturbed turns,
not even that they are like the others (Manski, Partial Identification of Probability Distributions, 2003, ch. 1).

* A *contended* turn lies between its time as measured and that time without all that others could have caused
  (`harness.timing.contention`): others only delay.
* A turn of a session in which the harness was at fault may have any value.
* Each chance of a disturbed turn (a pause to cut, a reply to give) may have gone either way.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.statistics.bounds import Bounds, Evidence, percentile_of, share_of_flags
from harness.store.selection import Turns
from harness.store.session import Session
from harness.timing.figures import TurnTiming

Read = Callable[[Turns], Mapping[str, Sequence[float]]]
"""The values of a figure, by the names of the groups of turns."""


@dataclass(frozen=True, slots=True)
class Either:
    """Evidence on one figure whose disturbed turns are at their lowest, and at their highest."""

    value: float
    """The figure as it was measured, disturbed turns among the others."""
    lowest: Evidence
    highest: Evidence

    @property
    def contexts(self) -> int:
        """Number of conversations, disturbed ones among them."""
        return self.highest.contexts

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`, whatever the disturbed turns would have given."""
        return self.lowest.bounds(tail)[0], self.highest.bounds(tail)[1]


@dataclass(frozen=True, slots=True)
class CellTurn:
    """One turn of a cell, in its bunch."""

    bunch: str
    turn: TurnTiming
    disturbed: bool
    fault: bool
    """True if the harness was at fault, so that nothing of the turn is known."""


def cell_turns(
    timed: Iterable[tuple[Session, Sequence[TurnTiming]]],
    at_fault: Collection[str],
    bunch: Callable[[str], str],
    figure: str | None = None,
) -> list[CellTurn]:
    """The turns of some sessions. Discarded ones are never disturbed: they say nothing on any machine.

    Args:
        at_fault: ids of the sessions in which the harness was at fault.
        bunch: the name of a context's bunch.
        figure: the latency in question, which can be contended alone; None for shares.
    """
    found: list[CellTurn] = []
    for session, turns in timed:
        fault = session.id in at_fault
        for turn in turns:
            owes = turn.contended or (figure is not None and turn.owes_too_much(figure))
            disturbed = turn.discarded is None and (fault or owes)
            found.append(CellTurn(bunch(session.key.context_id), turn, disturbed, fault and disturbed))
    return found


def times(turns: Sequence[CellTurn], read: Read, figure: str, share: float) -> Either | None:
    """A percentile of a latency; None if the turns do not have it. `figure`: its name in `TurnTiming.owed_ms`."""

    def ends(one: CellTurn, measured: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
        owed_ms = None if one.fault or not measured or np.isinf(measured[0]) else one.turn.owed_ms(figure)
        return ([-np.inf], [np.inf]) if owed_ms is None else ([measured[0] - owed_ms], measured)

    return _either(turns, read, ends, lambda values: percentile_of(values, share))


def shares(turns: Sequence[CellTurn], read: Read) -> Either | None:
    """A share of chances; None if the turns have none. A disturbed turn has as many as were counted in it."""
    return _either(turns, read, lambda _, measured: ([0.0] * len(measured), [1.0] * len(measured)), share_of_flags)


def _either(
    turns: Sequence[CellTurn],
    read: Read,
    ends: Callable[[CellTurn, Sequence[float]], tuple[Sequence[float], Sequence[float]]],
    evidence: Callable[[Mapping[str, Sequence[float]]], Evidence | None],
) -> Either | None:
    # Read as if no turn were contended, because where few are left the others that were discarded would withhold the figure.
    measured = read({str(k): [replace(one.turn, contention=None)] for k, one in enumerate(turns)})
    if not measured:
        return None
    groups: tuple[dict[str, list[float]], ...] = ({}, {}, {})
    for k, one in enumerate(turns):
        values = measured.get(str(k), ())
        low, high = ends(one, values) if one.disturbed else (values, values)
        for group, found in zip(groups, (low, values, high), strict=True):
            group.setdefault(one.bunch, []).extend(found)
    lowest, seen, highest = (evidence(group) for group in groups)
    return None if lowest is None or seen is None or highest is None else Either(seen.value, lowest, highest)
