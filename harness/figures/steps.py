"""The agent's figures in one step of a load test, from the rows of its calls: those of a cell, over stretches of time.

A call that failed through the agent's fault is a turn without reply, and that ranks slowest, as in every run: an agent that
turns callers away is not quicker for it. Failures that are not certainly the agent's are unknown and take no part.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from harness.figures.latency import filler_first
from harness.figures.server_waits import ServerWaits, waits_of
from harness.servers.split import ServerSplit
from harness.statistics.arrays import Floats
from harness.statistics.bounds import Evidence, Share, share_of_flags
from harness.statistics.interval import Interval
from harness.store.load_part import FILLING
from harness.store.session import Session, UnrecordedCall
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles, finite
from harness.turns.estimate import by_cluster, estimate
from harness.turns.of_run import rows_of_call
from harness.turns.table import TurnKey, TurnTable

SEED: Final = 1
Calls = Iterable[Session | UnrecordedCall]


@dataclass(frozen=True, slots=True)
class ShareOf:
    """A share of trials, with its interval; no interval under eight stretches of time."""

    hits: int = 0
    of: int = 0
    interval: Interval | None = None

    @property
    def value(self) -> float | None:
        """The share; None without a trial."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class StepFigures:
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
    ttfa_by_stretch: Mapping[str, Floats] = field(default_factory=dict)
    """Stretch of time → TTFA of its turns, infinite where a turn ranks slowest: from these the curve is drawn anew."""


def step_figures(calls: Calls) -> StepFigures:
    """The figures of the turns that count. The calls are read once, and only what is figured of them stays in memory."""
    begins, failed = array("q"), array("b")
    served: dict[int, tuple[bool, Sequence[ServerSplit]]] = {}
    table = TurnTable.of(_rows(calls, begins, failed, served)).in_stretches()
    full, stretch = table.flags["full"], table.keys["stretch"]
    of_calls: dict[str, list[float]] = {}
    edges = np.append(np.array(begins, np.int64), len(table))
    for begin, end, lost in zip(edges, edges[1:], failed, strict=False):
        counted = np.flatnonzero(full[begin:end])
        if counted.size:
            of_calls.setdefault(stretch.names[stretch.codes[begin + counted[0]]], []).append(float(lost))
    waits: dict[str, list[tuple[bool, Sequence[ServerSplit]]]] = {}
    for row, waited in served.items():
        if full[row]:
            waits.setdefault(stretch.names[stretch.codes[row]], []).append(waited)
    ttfa = table.given("ttfa")
    return StepFigures(
        turns=int(full.sum()),
        stretches=len(np.unique(stretch.codes[full])),
        ttfa_ms=_quantiles(table, "ttfa"),
        ttft_ms=_quantiles(table, "ttft"),
        answer_ms=_quantiles(table, "answer"),
        filler_first=filler_first(table),
        cut_ins=_share(table, "cut_in_rate"),
        continuity=_share(table, "continuity"),
        no_reply=_share(table, "no_reply_rate"),
        failed=_share_of(share_of_flags(of_calls)),
        servers=waits_of(waits, SEED),
        ttfa_by_stretch=by_cluster(table, ttfa, ttfa.measured, "stretch"),
    )


def by_stretch(calls: Calls) -> dict[str, list[TurnTiming]]:
    """Stretch of time → its turns that count."""
    rows = list(_rows(calls, array("q"), array("b"), {}))
    table = TurnTable.of(rows).in_stretches()
    stretch = table.keys["stretch"]
    found: dict[str, list[TurnTiming]] = {}
    for row in np.flatnonzero(table.flags["full"]):
        found.setdefault(stretch.names[stretch.codes[row]], []).append(rows[row][1])
    return found


def _rows(
    calls: Calls, begins: "array[int]", failed: "array[int]", served: dict[int, tuple[bool, Sequence[ServerSplit]]]
) -> Iterator[tuple[TurnKey, TurnTiming]]:
    """The rows of all calls. Of each call that has rows, its first row and whether it failed are noted, and its waits."""
    number = 0
    for call in calls:
        for k, (key, turn) in enumerate(rows_of_call(call)):
            if not k:
                begins.append(number)
                failed.append(call.failure_kind is not None)
            if turn.servers and turn.discarded != FILLING:
                served[number] = (turn.discarded is None, turn.servers)
            number += 1
            # A name for each of a million calls would take more than all figures of its turns.
            yield replace(key, session="", repeat=""), turn


def _quantiles(table: TurnTable, figure: str) -> Quantiles:
    p50, p95 = (estimate(table, f"{figure}_ms.{name}", cluster="stretch") for name in ("p50", "p95"))
    if p50 is None:
        return Quantiles()
    found = Quantiles(n=p50.turns, p50=finite(p50.value), p50_over_limit=bool(np.isinf(p50.value)), p50_interval=p50.interval)
    if p95 is None:
        return found
    over = bool(np.isinf(p95.value))
    return found.model_copy(update={"p95": finite(p95.value), "p95_over_limit": over, "p95_interval": p95.interval})


def _share(table: TurnTable, figure: str) -> ShareOf:
    found = estimate(table, figure, cluster="stretch")
    return _share_of(found.measured if found is not None else None)


def _share_of(found: Evidence | None) -> ShareOf:
    return ShareOf(round(found.hits.sum()), round(found.of.sum()), found.interval) if isinstance(found, Share) else ShareOf()
