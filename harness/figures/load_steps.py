"""The agent's figures in one step of a load test, from its turns: waits, cut-ins, gaps in the sound, failures.

Calls that overlap share one queue, so their waits rise and fall together: to draw them one by one would promise too narrow an
interval, and most of all near the knee, where the figure decides. So stretches of time are drawn, all turns of a stretch
together, as batch means do for simulated queues (Law and Kelton, "Simulation Modeling and Analysis"). A stretch is about as
long as a call. Under eight stretches there is no interval, and under about 72 a p95 has no upper end.

A call that failed through the agent's fault, a turn without reply and one that was answered before its end rank slowest, as in
a run: an agent that turns callers away is not quicker for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.figures.server_waits import ServerWaits, waits_of
from harness.statistics.bounds import share_of_flags
from harness.statistics.interval import Interval
from harness.store.load_files import LoadTurn
from harness.store.selection import is_agents_fault
from harness.timeline import NS_PER_S
from harness.timing.quantiles import Quantiles, quantiles_of
from harness.turns.table import MOST_DISCARDED

STRETCH_S: Final = 15.0
"""Least length of a stretch: about a call of one turn."""
SEED: Final = 1
Stretches = Mapping[str, Sequence[LoadTurn]]


@dataclass(frozen=True, slots=True)
class ShareOf:
    """A share of trials, with its interval; no interval under eight stretches of time."""

    hits: int
    of: int
    interval: Interval | None = None

    @property
    def value(self) -> float | None:
        """The share; None without a trial."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """The agent's figures in one step."""

    turns: int
    stretches: int
    ttfa_ms: Quantiles
    ttft_ms: Quantiles
    answer_ms: Quantiles
    filler_first: tuple[int, int]
    """Replies that begin with a filler, and replies of which this is known."""
    cut_ins: ShareOf
    continuity: ShareOf
    """Replies without a gap in their sound."""
    no_reply: ShareOf
    """Turns without reply, those of failed calls included."""
    failed: ShareOf
    """Calls that failed through the agent's fault."""
    servers: Sequence[ServerWaits] = ()
    """The waits for each stage's model server, in parts; none where no server says anything."""


def load_figures(turns: Sequence[LoadTurn]) -> LoadFigures:
    """The figures of the turns that count."""
    stretches = stretches_of(turns)
    among = [turn for group in stretches.values() for turn in group]
    return LoadFigures(
        turns=len(among),
        stretches=len(stretches),
        ttfa_ms=quantiles_of(times(stretches, "ttfa"), SEED),
        ttft_ms=quantiles_of(times(stretches, "ttft"), SEED),
        answer_ms=quantiles_of(times(stretches, "answer"), SEED),
        filler_first=filler_first(among),
        cut_ins=_share(flags(stretches, "cut_in_rate")),
        continuity=_share(flags(stretches, "continuity")),
        no_reply=_share(flags(stretches, "no_reply_rate")),
        failed=_share(_of_calls(stretches)),
        servers=waits_of(
            {name: [(turn.discarded is None, turn.servers) for turn in group] for name, group in stretches.items()}, SEED
        ),
    )


def filler_first(turns: Sequence[LoadTurn]) -> tuple[int, int]:
    """Replies that begin with a filler, and replies of which this is known."""
    return sum(turn.filler for turn in turns), sum(_knows_answer(turn) for turn in turns)


def stretches_of(turns: Sequence[LoadTurn]) -> Stretches:
    """The counted turns by the stretch of time in which they ended; all stretches of a step are equally long.

    Failures that are not certainly the agent's are unknown and take no part.
    """
    among = [t for t in turns if t.counted and (t.failure is None or is_agents_fault(t.failure))]
    if not among:
        return {}
    begin_ns = min(t.spoken_end_ns for t in among)
    lasts_ns = max(t.spoken_end_ns for t in among) - begin_ns
    number = max(1, int(lasts_ns / (STRETCH_S * NS_PER_S)))
    found: dict[str, list[LoadTurn]] = {}
    for turn in sorted(among, key=lambda t: t.spoken_end_ns):
        place = min(number - 1, (turn.spoken_end_ns - begin_ns) * number // max(lasts_ns, 1))
        found.setdefault(str(place), []).append(turn)
    return found


def times(stretches: Stretches, figure: str) -> dict[str, list[float]]:
    """Stretch → TTFA, answer or TTFT of its turns in ms; in the first two, infinite where a turn ranks slowest, and none where
    too many turns were discarded, or their answers are not known."""
    among = [turn for group in stretches.values() for turn in group]
    if figure != "ttft" and sum(t.discarded is not None for t in among) > MOST_DISCARDED * len(among):
        return {}
    if figure == "answer" and sum(t.ttfa_ms is not None and not _knows_answer(t) for t in among) > MOST_DISCARDED * len(among):
        return {}
    return _known(stretches, {"ttfa": _ttfa, "answer": _answer, "ttft": lambda turn: turn.ttft_ms}[figure])


def _ttfa(turn: LoadTurn) -> float | None:
    if turn.discarded is not None:
        return None
    return float("inf") if turn.no_reply or turn.signed_ms is not None else turn.ttfa_ms


def _knows_answer(turn: LoadTurn) -> bool:
    return turn.answer_ms is not None or turn.filler


def _answer(turn: LoadTurn) -> float | None:
    if turn.ttfa_ms is None:
        return _ttfa(turn)
    return float("inf") if turn.answer_ms is None and turn.filler else turn.answer_ms


def flags(stretches: Stretches, figure: str) -> dict[str, list[float]]:
    """Stretch → the chances that a share counts, 1 where it was taken."""
    return _known(stretches, _FLAGS[figure])


_FLAGS: Final[Mapping[str, Callable[[LoadTurn], float | None]]] = {
    "cut_in_rate": lambda turn: None if turn.failure or turn.discarded else float(turn.cut_in),
    "no_reply_rate": lambda turn: None if turn.discarded else float(turn.no_reply),
    "continuity": lambda turn: None if turn.failure or turn.discarded or turn.no_reply else float(turn.underruns == 0),
}
SHARES: Final = tuple(_FLAGS)


def _known(stretches: Stretches, read: Callable[[LoadTurn], float | None]) -> dict[str, list[float]]:
    found = {name: [v for turn in group if (v := read(turn)) is not None] for name, group in stretches.items()}
    return {name: group for name, group in found.items() if group}


def _of_calls(stretches: Stretches) -> dict[str, list[float]]:
    """Stretch → one flag for each call that had its first counted turn there: 1 where it failed."""
    seen: set[str] = set()
    found: dict[str, list[float]] = {}
    for name, group in stretches.items():
        for turn in group:
            if turn.session not in seen:
                seen.add(turn.session)
                found.setdefault(name, []).append(float(turn.failure is not None))
    return found


def _share(trials: Mapping[str, Sequence[float]]) -> ShareOf:
    found = share_of_flags(trials)
    return ShareOf(0, 0) if found is None else ShareOf(round(float(found.hits.sum())), int(found.of.sum()), found.interval)
