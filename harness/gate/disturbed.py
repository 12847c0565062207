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

from harness.ranking.bounds import Bounds, Evidence, percentile_of, share_of_flags
from harness.store.selection import Turns
from harness.store.session import Session
from harness.timing.figures import TurnTiming

Read = Callable[[Turns], Mapping[str, Sequence[float]]]
"""The values of a figure, by the names of the groups of turns."""


@dataclass(frozen=True, slots=True)
class Either:
    """Evidence on one figure whose disturbed turns are at their lowest, and at their highest."""

    value: float
    """The figure of the undisturbed turns."""
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
class Split:
    """The turns of a cell, by bunch: undisturbed ones, and the others with True for a fault of the harness."""

    sound: Turns
    disturbed: Sequence[tuple[str, TurnTiming, bool]]


def split(
    timed: Iterable[tuple[Session, Sequence[TurnTiming]]],
    at_fault: Collection[str],
    bunch: Callable[[str], str],
    figure: str | None = None,
) -> Split:
    """The turns of some sessions. Discarded ones are never disturbed: they say nothing on any machine.

    Args:
        at_fault: ids of the sessions in which the harness was at fault.
        bunch: the name of a context's bunch.
        figure: the latency in question, which can be contended alone; None for shares.
    """
    sound: dict[str, list[TurnTiming]] = {}
    disturbed: list[tuple[str, TurnTiming, bool]] = []
    for session, turns in timed:
        name, fault = bunch(session.key.context_id), session.id in at_fault
        for turn in turns:
            owes = turn.contended or (figure is not None and turn.owes_too_much(figure))
            if turn.discarded is None and (fault or owes):
                disturbed.append((name, turn, fault))
            else:
                sound.setdefault(name, []).append(turn)
    return Split(sound, disturbed)


def times(turns: Split, read: Read, figure: str, share: float, value: float) -> Either | None:
    """A percentile of a latency. `figure`: its name in `TurnTiming.owed_ms`; `value`: the figure of the undisturbed turns."""
    lowest, highest = ({c: list(v) for c, v in read(turns.sound).items()} for _ in range(2))
    measured = _as_measured(turns, read)
    for k, (bunch, turn, fault) in enumerate(turns.disturbed):
        high = next(iter(measured.get(str(k), ())), np.inf)
        owed_ms = None if fault or np.isinf(high) else turn.owed_ms(figure)
        lowest.setdefault(bunch, []).append(-np.inf if owed_ms is None else high - owed_ms)
        highest.setdefault(bunch, []).append(np.inf if owed_ms is None else high)
    low_end, high_end = percentile_of(lowest, share), percentile_of(highest, share)
    return None if low_end is None or high_end is None else Either(value, low_end, high_end)


def shares(turns: Split, read: Read, value: float) -> Either | None:
    """A share of chances. A disturbed turn has as many as were counted in it."""
    lowest, highest = ({c: list(v) for c, v in read(turns.sound).items()} for _ in range(2))
    measured = _as_measured(turns, read)
    for k, (bunch, _, _) in enumerate(turns.disturbed):
        chances = len(measured.get(str(k), ()))
        lowest.setdefault(bunch, []).extend([0.0] * chances)
        highest.setdefault(bunch, []).extend([1.0] * chances)
    low_end, high_end = share_of_flags(lowest), share_of_flags(highest)
    return None if low_end is None or high_end is None else Either(value, low_end, high_end)


def _as_measured(turns: Split, read: Read) -> Mapping[str, Sequence[float]]:
    """The number of each disturbed turn → its values as they were measured."""
    return read({str(k): [replace(turn, contention=None)] for k, (_, turn, _) in enumerate(turns.disturbed)})
