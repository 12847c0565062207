"""The measurement of a step's calls once the last of them has ended: one row for each turn, and the step's figures.

Recordings are read one by one and forgotten, because a step may have thousands. In an open loop the first callers find an idle
agent and the last ones an agent that empties, so turns count only while the load is full: from the time by which as many calls
have ended as begin, until the last caller comes. A turn is in or out by its own end, which the caller decides, and never by its
answer, so that slow answers are not left out.
"""

import asyncio
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from harness.audio.vocal import VocalDetector
from harness.caller import SessionOutcome
from harness.caller.exchange import take_raw
from harness.clock import now_ns
from harness.figures.load_steps import load_figures, stretches_of, times
from harness.load.arrivals import ArrivalFigures, Arrivals, arrival_figures, late_arrivals
from harness.load.caller_error import CallerError, too_inexact
from harness.load.result import LoadStep, Used
from harness.printable import printable
from harness.recording.record import Recording
from harness.servers.samples import ServerSample
from harness.servers.scraper import AROUND_NS
from harness.statistics.arrays import Floats
from harness.store.load_files import LoadTurn
from harness.store.selection import is_agents_fault
from harness.store.unspoken import Unspoken, summed, unspoken
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming
from harness.timing.marks_chosen import stamps_in
from harness.timing.own_times import own_times
from harness.timing.pacing import errors_ms, out_of_bounds, pacing
from harness.turns.table import begins_with_filler
from harness.wording import counted

NOT_MEASURED: Final = "not_measured"
"""Failure of a call that was played but contains no caller turn to measure."""
CALLERS_OWN: Final = frozenset(("caller_died", "caller_error", "defect"))
"""Failures of the harness itself, which say nothing about the agent."""
FULL_AFTER: Final = 95.0
"""Percentile of the lengths of calls: after as long, as many calls end as begin."""
MOST_FILLING: Final = 0.5
"""Largest part of a step that may pass before turns count."""
Samples = Callable[[int, int], Sequence[ServerSample]]
"""Gives the samples of the agent's model servers in an interval of the monotonic clock."""


def no_samples(from_ns: int, until_ns: int) -> Sequence[ServerSample]:
    """The samples of an agent whose model servers are not read: there are none."""
    del from_ns, until_ns
    return ()


@dataclass(frozen=True, slots=True)
class Offered:
    """The load of one step: `number` of the step, and callers at once or the arrivals."""

    number: int
    callers: int | None = None
    arrivals: Arrivals | None = None

    @property
    def rate(self) -> float | None:
        """Calls a second, in an open loop."""
        return self.arrivals.rate if self.arrivals is not None else None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a step as it ended; its recording is in `folder` as its caller wrote it."""

    number: int
    context: str
    outcome: SessionOutcome
    folder: Path
    due_ns: int | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    """One call with its rows; without pacing if nothing was recorded."""

    call: Call
    rows: tuple[LoadTurn, ...]
    began_ns: int
    ended_ns: int
    errors_ms: Floats = field(default_factory=lambda: np.zeros(0))
    realtime_ratio: float | None = None
    loop_lag_ms: tuple[float, ...] = ()
    """The worst of each second."""
    planned_turns: int = 0
    """Of a call that did not fail; 0 where nobody planned."""
    unspoken: Unspoken | None = None

    @property
    def failure(self) -> str | None:
        return self.rows[0].failure if self.rows else None


async def measured_step(
    offered: Offered,
    calls: Sequence[Call],
    vocal: VocalDetector | None,
    used: Callable[[float], Used],
    error: CallerError | None = None,
    progress: Callable[[int, int], None] | None = None,
    samples: Samples = no_samples,
) -> tuple[LoadStep, tuple[LoadTurn, ...]]:
    """The figures of a step and its rows.

    Args:
        used: the use of the machine, per caller of so many at once.
        progress: called with the calls measured, and all calls.
    """
    ahead_ns = time.time_ns() - now_ns()
    lanes = asyncio.Semaphore(os.cpu_count() or 1)
    done = 0

    async def one(call: Call) -> _Measured:
        nonlocal done
        async with lanes:
            found = await asyncio.to_thread(_measured, offered, call, vocal, ahead_ns, samples)
        done += 1
        if progress is not None:
            progress(done, len(calls))
        return found

    found = _while_full(offered, await asyncio.gather(*(one(call) for call in calls)))
    return _step(offered, found, used, error), tuple(row for each in found for row in each.rows)


def _measured(offered: Offered, call: Call, vocal: VocalDetector | None, ahead_ns: int, samples: Samples) -> _Measured:
    failure, detail = call.outcome.failure_kind, call.outcome.detail
    began_ns = call.outcome.begun_ns or call.due_ns or now_ns()
    if failure is None:
        recording = take_raw(call.folder)
        timings = measure_turns(recording, vocal, samples(began_ns - AROUND_NS, _ended_ns(recording) + AROUND_NS))
        if timings:
            return _heard(offered, call, recording, timings, ahead_ns)
        failure, detail = NOT_MEASURED, "no turn of the caller was spoken"
    row = _row(offered, call, began_ns, ahead_ns).model_copy(
        update={"failure": failure, "detail": detail, "no_reply": is_agents_fault(failure)}
    )
    return _Measured(call, (row,), began_ns, began_ns)


def _heard(offered: Offered, call: Call, recording: Recording, timings: Sequence[TurnTiming], ahead_ns: int) -> _Measured:
    caller = recording.caller
    spoken = [turn for turn in caller.turns if turn.kind == "turn"]
    stamps = stamps_in(recording).stamps
    rows = []
    for number, (turn, timing) in enumerate(zip(spoken, timings, strict=True)):
        begin_ns = caller.t0_ns + samples_to_ns(turn.start_sample, caller.rate_hz)
        end_ns = caller.t0_ns + round(timing.spoken_end_ms * NS_PER_MS)
        stages = timing.waterfall.stages if timing.waterfall is not None else ()
        onset_ms = timing.ttfa_ms if timing.signed_ms is None else timing.signed_ms
        own_ms = own_times(stamps, end_ns + round(onset_ms * NS_PER_MS), begin_ns) if onset_ms is not None else {}
        rows.append(
            _row(offered, call, begin_ns, ahead_ns).model_copy(
                update={
                    "turn": number,
                    "spoken_end_ns": end_ns,
                    "end_ns": end_ns + round(max(timing.reply_end_ms or 0.0, 0.0) * NS_PER_MS),
                    "ttfa_ms": timing.ttfa_ms,
                    "answer_ms": timing.answer_ms,
                    "filler": begins_with_filler(timing),
                    "signed_ms": timing.signed_ms,
                    "ttft_ms": timing.ttft_ms,
                    "no_reply": timing.no_reply,
                    "cut_in": timing.cut_in,
                    "underruns": timing.underruns,
                    "discarded": timing.discarded,
                    "stages": {stage.name: (stage.start_ms, stage.duration_ms) for stage in stages},
                    "stages_from": timing.stages_from,
                    "servers": timing.servers,
                    "own_ms": own_ms,
                }
            )
        )
    paced = pacing(caller)
    return _Measured(
        call,
        tuple(rows),
        call.outcome.begun_ns or caller.t0_ns,
        _ended_ns(recording),
        np.abs(errors_ms(caller)),
        paced.realtime_ratio if paced is not None else None,
        recording.loop_lag_ms,
        recording.planned_turns or 0,
        unspoken(recording.planned_turns, len(spoken), recording.ended),
    )


def _ended_ns(recording: Recording) -> int:
    caller = recording.caller
    return int(caller.departures_ns[-1]) if len(caller.departures_ns) else caller.t0_ns


def _row(offered: Offered, call: Call, begin_ns: int, ahead_ns: int) -> LoadTurn:
    return LoadTurn(
        step=offered.number,
        rate=offered.rate,
        callers=offered.callers,
        session=f"{offered.number}-{call.number}",
        context=call.context,
        due_ns=call.due_ns,
        begun_ns=call.outcome.begun_ns,
        begin_ns=begin_ns,
        begin_unix_ns=begin_ns + ahead_ns,
        spoken_end_ns=begin_ns,
        end_ns=begin_ns,
    )


def _while_full(offered: Offered, found: Sequence[_Measured]) -> list[_Measured]:
    """The calls with their turns counted only while the load is full; in a closed loop it always is."""
    window = _full_ns(found) if offered.arrivals is not None else None
    if window is None:
        return list(found)
    begin_ns, end_ns = window
    return [
        replace(
            each,
            rows=tuple(row.model_copy(update={"counted": begin_ns <= row.spoken_end_ns <= end_ns}) for row in each.rows),
        )
        for each in found
    ]


def _full_ns(found: Sequence[_Measured]) -> tuple[int, int] | None:
    """The interval in which the load is full; None without a call that was scheduled."""
    due = [each.call.due_ns for each in found if each.call.due_ns is not None]
    if not due:
        return None
    begin_ns, end_ns = min(due), max(due)
    lengths_ns = [each.ended_ns - each.began_ns for each in found if each.failure is None]
    filling_ns = float(np.percentile(lengths_ns, FULL_AFTER)) if lengths_ns else 0.0
    return begin_ns + round(min(filling_ns, MOST_FILLING * (end_ns - begin_ns))), end_ns


def _step(offered: Offered, found: Sequence[_Measured], use: Callable[[float], Used], error: CallerError | None) -> LoadStep:
    failed = [each for each in found if each.failure is not None]
    own = [each for each in failed if each.failure in CALLERS_OWN]
    paced = [each for each in found if each.errors_ms.size]
    rows = [row for each in found for row in each.rows]
    arrivals, late = _arrivals(offered, found)
    most, mean = _at_once(found) if offered.arrivals is not None else (offered.callers or 0, None)
    used = use(mean or max(most, 1))
    # A step in which no call was played has no pacing, but its failures may be the agent's.
    errors = np.concatenate([each.errors_ms for each in paced]) if paced else np.array([math.nan])
    ratios = [each.realtime_ratio for each in paced if each.realtime_ratio is not None]
    nothing = 1.0 if paced else math.nan
    p99, ratio = float(np.percentile(errors, 99)), _furthest(ratios) if ratios else nothing
    # Of the worst among thousands of seconds one is always late; how many frames that made late is in the pacing.
    lag = float(np.percentile([lag for each in paced for lag in each.loop_lag_ms] or [0.0], 99)) if paced else math.nan
    lost = [f"{counted(len(own), 'call')} failed in the caller itself ({own[0].failure})"] if own else []
    figures = load_figures(rows)
    planned, left = sum(each.planned_turns for each in found), summed(each.unspoken for each in found)
    return LoadStep(
        callers=most,
        sessions=len(found),
        failed=len(failed),
        no_reply=sum(any(row.no_reply for row in each.rows) for each in found if each.failure is None),
        pacing_p99_error_ms=p99,
        pacing_max_error_ms=float(errors.max()),
        realtime_ratio=ratio,
        loop_lag_p99_ms=lag,
        ttfa_ms=figures.ttfa_ms,
        out_of_bounds=(*out_of_bounds(p99, ratio, lag), *filter(None, (late, too_inexact(error))), *lost),
        used=used,
        rate=offered.rate,
        calls_at_once=mean,
        figures=figures,
        ttfa_by_stretch=times(stretches_of(rows), "ttfa"),
        arrivals=arrivals,
        caller_error=error,
        failure=_most_frequent([row for row in rows if row.failure is not None]),
        failed_in_caller=len(own),
        spoken=(planned - sum(left.values()), planned) if planned else None,
        unspoken=left,
    )


def _furthest(ratios: Sequence[float]) -> float:
    """The ratio that is further from 1 than those of 99 in 100 calls."""
    return sorted(ratios, key=lambda ratio: abs(ratio - 1))[math.ceil(0.99 * len(ratios)) - 1]


def _most_frequent(failed: Sequence[LoadTurn]) -> str:
    """The most frequent kind of these failures with the first detail of its kind, in one line; empty for none."""
    if not failed:
        return ""
    ((kind, _),) = Counter(row.failure for row in failed).most_common(1)
    detail = next(row.detail for row in failed if row.failure == kind)
    return printable(f"{kind}: {detail}" if detail else f"{kind}", one_line=True)


def _arrivals(offered: Offered, found: Sequence[_Measured]) -> tuple[ArrivalFigures | None, str]:
    """How exactly the callers came, and why that is too late."""
    dialled = [(each.call.due_ns, each.call.outcome.begun_ns) for each in found]
    both = [(due, begun) for due, begun in dialled if due is not None and begun is not None]
    if offered.arrivals is None:
        return None, ""
    came = arrival_figures(offered.arrivals, [due for due, _ in both], [begun for _, begun in both])
    return came, late_arrivals(came)


def _at_once(found: Sequence[_Measured]) -> tuple[int, float | None]:
    """The most open calls, and their mean number while the load was full."""
    edges = sorted([(each.began_ns, 1) for each in found] + [(each.ended_ns, -1) for each in found])
    most = int(np.cumsum([step for _, step in edges]).max()) if edges else 0
    window = _full_ns(found)
    if window is None or window[1] <= window[0]:
        return most, None
    begin_ns, end_ns = window
    open_ns = sum(max(0, min(each.ended_ns, end_ns) - max(each.began_ns, begin_ns)) for each in found)
    return most, open_ns / (end_ns - begin_ns)
