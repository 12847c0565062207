"""The measurement of a step's calls once the last of them has ended: one row for each turn, and how the step went.

Recordings are read one by one and forgotten, because a step may have thousands. In an open loop turns count only while the load
is full: from the time by which as many calls have ended as begin, until the last caller comes. A turn is in or out by its own
end, which the caller decides, and never by its answer, so that slow answers are not left out.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from harness.agents.secrets import redact_foreign
from harness.audio.vocal import VocalDetector
from harness.caller import SessionOutcome
from harness.caller.exchange import take_raw
from harness.clock import now_ns
from harness.load.arrivals import Arrivals, arrival_figures, late_arrivals
from harness.load.caller_error import too_inexact
from harness.printable import printable
from harness.recording.record import Recording
from harness.servers.samples import ServerSample
from harness.servers.scraper import AROUND_NS
from harness.statistics.arrays import Floats
from harness.store.load_part import FILLING, ArrivalFigures, CallerError, StepRecord, Used, step_name
from harness.store.selection import NOT_TIMED, is_agents_fault
from harness.store.session import SessionKey, UnrecordedCall
from harness.store.unspoken import Unspoken, summed, unspoken
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming
from harness.timing.pacing import errors_ms, out_of_bounds, pacing
from harness.timing.session_stamps import stamps_in
from harness.timing.waterfall import own_times
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
    """The load of one step: callers at once or the arrivals."""

    callers: int | None = None
    arrivals: Arrivals | None = None

    @property
    def words(self) -> str:
        """The load in words: `8 calls/s`."""
        if self.arrivals is not None:
            return step_name(self.arrivals.rate, self.arrivals.law)
        return step_name(self.callers or 0, None)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a step as it ended; its recording is in `folder` as its caller wrote it."""

    number: int
    key: SessionKey
    outcome: SessionOutcome
    folder: Path
    due_ns: int | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    """One call as it is stored; without pacing if nothing was recorded."""

    stored: UnrecordedCall
    began_ns: int
    ended_ns: int
    errors_ms: Floats = field(default_factory=lambda: np.zeros(0))
    realtime_ratio: float | None = None
    loop_lag_ms: tuple[float, ...] = ()
    """The worst of each second."""
    unspoken: Unspoken | None = None

    @property
    def failure(self) -> str | None:
        return self.stored.failure_kind

    @property
    def counts_against(self) -> bool:
        """True if it failed through the agent's fault while the load was full."""
        return is_agents_fault(self.failure) and all(turn.discarded is None for turn in self.stored.turn_timings)


async def measured_step(
    offered: Offered,
    calls: Sequence[Call],
    vocal: VocalDetector | None,
    used: Callable[[float], Used],
    error: CallerError | None = None,
    progress: Callable[[int, int], None] | None = None,
    samples: Samples = no_samples,
) -> tuple[StepRecord, tuple[UnrecordedCall, ...]]:
    """How a step went, and its calls.

    Args:
        used: the use of the machine, per caller of so many at once.
        progress: called with the calls measured, and all calls.
    """
    lanes = asyncio.Semaphore(os.cpu_count() or 1)
    done = 0

    async def one(call: Call) -> _Measured:
        nonlocal done
        async with lanes:
            found = await asyncio.to_thread(_measured, call, vocal, samples)
        done += 1
        if progress is not None:
            progress(done, len(calls))
        return found

    found = _while_full(offered, await asyncio.gather(*(one(call) for call in calls)))
    return _record(offered, found, used, error), tuple(_as_stored(offered, [each.stored for each in found]))


def _as_stored(offered: Offered, calls: Sequence[UnrecordedCall]) -> list[UnrecordedCall]:
    """The calls under the step, each context's counted from 0."""
    often: Counter[str] = Counter()
    found = []
    for call in calls:
        context = call.key.context_id
        found.append(replace(call, key=replace(call.key, step=offered.words, repeat=often[context])))
        often[context] += 1
    return found


def _measured(call: Call, vocal: VocalDetector | None, samples: Samples) -> _Measured:
    outcome = call.outcome
    failure, detail = outcome.failure_kind, outcome.detail
    began_ns = outcome.begun_ns or call.due_ns or now_ns()
    if failure is None:
        recording = take_raw(call.folder)
        timings = measure_turns(recording, vocal, samples(began_ns - AROUND_NS, _ended_ns(recording) + AROUND_NS))
        if timings:
            return _heard(call, recording, timings)
        failure, detail = NOT_MEASURED, "no turn of the caller was spoken"
    lost = (TurnTiming(NOT_TIMED, 0.0, None, no_reply=True, labels=(failure,)),) if is_agents_fault(failure) else ()
    stored = UnrecordedCall(call.key, began_ns, lost, failure, detail, call.due_ns, outcome.begun_ns)
    return _Measured(stored, began_ns, began_ns)


def _heard(call: Call, recording: Recording, timings: Sequence[TurnTiming]) -> _Measured:
    caller = recording.caller
    spoken = [turn for turn in caller.turns if turn.kind == "turn"]
    stamps = stamps_in(recording).stamps
    rows = []
    for turn, timing in zip(spoken, timings, strict=True):
        begin_ns = caller.t0_ns + samples_to_ns(turn.start_sample, caller.rate_hz)
        end_ns = caller.t0_ns + round(timing.spoken_end_ms * NS_PER_MS)
        onset_ms = timing.ttfa_ms if timing.signed_ms is None else timing.signed_ms
        own_ms = own_times(stamps, end_ns + round(onset_ms * NS_PER_MS), begin_ns) if onset_ms is not None else {}
        rows.append(replace(timing, begin_ms=(begin_ns - caller.t0_ns) / NS_PER_MS, own_ms=tuple(own_ms.items())))
    paced = pacing(caller)
    return _Measured(
        UnrecordedCall(
            call.key, caller.t0_ns, tuple(rows), due_ns=call.due_ns, begun_ns=call.outcome.begun_ns, ended=recording.ended,
            planned_turns=recording.planned_turns, spoken_turns=len(spoken),
        ),
        call.outcome.begun_ns or caller.t0_ns,
        _ended_ns(recording),
        np.abs(errors_ms(caller)),
        paced.realtime_ratio if paced is not None else None,
        recording.loop_lag_ms,
        unspoken(recording.planned_turns, len(spoken), recording.ended),
    )  # fmt: skip


def _ended_ns(recording: Recording) -> int:
    caller = recording.caller
    return int(caller.departures_ns[-1]) if len(caller.departures_ns) else caller.t0_ns


def _while_full(offered: Offered, found: Sequence[_Measured]) -> list[_Measured]:
    """The calls with their turns counted only while the load is full; in a closed loop it always is."""
    window = _full_ns(found) if offered.arrivals is not None else None
    if window is None:
        return list(found)

    def counted_in(call: UnrecordedCall) -> UnrecordedCall:
        ends = [call.started_ns + round(turn.spoken_end_ms * NS_PER_MS) for turn in call.turn_timings]
        among = [window[0] <= end_ns <= window[1] for end_ns in ends]
        timings = zip(call.turn_timings, among, strict=True)
        return replace(call, turn_timings=tuple(turn if one else replace(turn, discarded=FILLING) for turn, one in timings))

    return [replace(each, stored=counted_in(each.stored)) for each in found]


def _full_ns(found: Sequence[_Measured]) -> tuple[int, int] | None:
    """The interval in which the load is full; None without a call that was scheduled."""
    due = [each.stored.due_ns for each in found if each.stored.due_ns is not None]
    if not due:
        return None
    begin_ns, end_ns = min(due), max(due)
    lengths_ns = [each.ended_ns - each.began_ns for each in found if each.failure is None]
    filling_ns = float(np.percentile(lengths_ns, FULL_AFTER)) if lengths_ns else 0.0
    return begin_ns + round(min(filling_ns, MOST_FILLING * (end_ns - begin_ns))), end_ns


def _record(
    offered: Offered, found: Sequence[_Measured], use: Callable[[float], Used], error: CallerError | None
) -> StepRecord:
    failed = [each for each in found if each.failure is not None]
    own = [each for each in failed if each.failure in CALLERS_OWN]
    played = [each for each in found if each.failure is None]
    paced = [each for each in found if each.errors_ms.size]
    arrivals, late = _arrivals(offered, found)
    most, mean = _at_once(found) if offered.arrivals is not None else (offered.callers or 0, None)
    # A step in which no call was played has no pacing, but its failures may be the agent's.
    errors = np.concatenate([each.errors_ms for each in paced]) if paced else None
    p99 = float(np.percentile(errors, 99)) if errors is not None else None
    ratios = [each.realtime_ratio for each in paced if each.realtime_ratio is not None]
    ratio = _furthest(ratios) if ratios else 1.0 if paced else None
    # Of the worst among thousands of seconds one is always late; how many frames that made late is in the pacing.
    lag = float(np.percentile([lag for each in paced for lag in each.loop_lag_ms] or [0.0], 99)) if paced else None
    lost = [f"{counted(len(own), 'call')} failed in the caller itself ({own[0].failure})"] if own else []
    over = (*out_of_bounds(p99, ratio, lag), *filter(None, (late, too_inexact(error))), *lost)
    left, planned = summed(each.unspoken for each in found), sum(each.stored.planned_turns or 0 for each in played)
    return StepRecord(
        name=offered.words,
        rate=offered.arrivals.rate if offered.arrivals is not None else None,
        callers=most,
        calls_at_once=mean,
        sessions=len(found),
        failed=len(failed),
        failed_in_caller=len(own),
        failure=_most_frequent(failed),
        no_reply=sum(any(turn.no_reply for turn in each.stored.turn_timings) for each in played),
        pacing_p99_error_ms=p99,
        pacing_max_error_ms=float(errors.max()) if errors is not None else None,
        realtime_ratio=ratio,
        loop_lag_p99_ms=lag,
        out_of_bounds=over,
        used=use(mean or max(most, 1)),
        arrivals=arrivals,
        caller_error=error,
        spoken=(planned - sum(left.values()), planned) if planned else None,
        unspoken={str(why): turns for why, turns in left.items()},
        says_of_agent=not over and bool(played or any(each.counts_against for each in failed)),
        unix_ahead_ns=time.time_ns() - now_ns(),
    )


def _furthest(ratios: Sequence[float]) -> float:
    """The ratio that is further from 1 than those of 99 in 100 calls."""
    return sorted(ratios, key=lambda ratio: abs(ratio - 1))[-(-99 * len(ratios) // 100) - 1]


def _most_frequent(failed: Sequence[_Measured]) -> str:
    """The most frequent kind of these failures with the first detail of its kind, in one line; empty for none."""
    if not failed:
        return ""
    ((kind, _),) = Counter(each.failure for each in failed).most_common(1)
    detail = next(each.stored.failure_detail for each in failed if each.failure == kind)
    return printable(redact_foreign(f"{kind}: {detail}" if detail else f"{kind}"), one_line=True)


def _arrivals(offered: Offered, found: Sequence[_Measured]) -> tuple[ArrivalFigures | None, str]:
    """How exactly the callers came, and why that is too late."""
    if offered.arrivals is None:
        return None, ""
    dialled = [(each.stored.due_ns, each.stored.begun_ns) for each in found]
    both = [(due, begun) for due, begun in dialled if due is not None and begun is not None]
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
