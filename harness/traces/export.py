"""A run as OpenTelemetry spans (OTLP 1), for the tool in which its user already views the agent's own traces.

Each call is one trace: the call, each turn and each wait in it, and in the wait the stages of its waterfall; names, times and
figures, no spoken text. Identifiers are made from the run's and the session's names, so exporting twice gives no second copy.
Recordings have only the monotonic clock; the manifest's date maps it to the wall clock, off by the minutes of loading the
agents.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from harness.figures.latency import line_words
from harness.recording.record import Recording
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns
from harness.timing.figures import TurnTiming
from harness.turns.catalogue import LATENCIES

SERVICE: Final = "heart-voice-harness"
_FIGURES: Final[Mapping[str, Callable[[TurnTiming], float | None]]] = {
    **{f"{figure.key}_ms": figure.read for figure in LATENCIES if figure.read is not None},
    "signed_ms": lambda turn: turn.signed_ms,
    "yield_ms": lambda turn: turn.yield_ms,
}


@dataclass(frozen=True, slots=True)
class RunSpan:
    """One span, in wall-clock time. `parent` is the id of the enclosing span; empty for a call."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | float | bool] = field(default_factory=dict)


def spans_of(store: RunStore) -> list[RunSpan]:
    """The spans of all recorded calls of a run, in order.

    Raises:
        UserError: a recording cannot be read.
    """
    recorded = [(session, store.recording(session)) for session in store.sessions() if session.turn_timings]
    if not recorded:
        return []
    first_ns = min(recording.caller.t0_ns for _, recording in recorded)
    ahead_ns = round(datetime.fromisoformat(store.manifest.created).timestamp() * NS_PER_S) - first_ns
    ordered = sorted(recorded, key=lambda pair: pair[1].caller.t0_ns)
    return [span for session, recording in ordered for span in _of_call(store, session, recording, ahead_ns)]


def _of_call(store: RunStore, session: Session, recording: Recording, ahead_ns: int) -> Iterator[RunSpan]:
    caller = recording.caller
    t0_ns = caller.t0_ns + ahead_ns
    trace = _digest(16, store.manifest.created, session.id)
    key = session.key
    about: dict[str, str | float | bool] = {
        "heart.context": key.context_id, "heart.agent": key.agent, "heart.mode": key.mode, "heart.condition": key.condition,
        "heart.repeat": float(key.repeat), "heart.status": session.failure_kind or session.status,
    }  # fmt: skip
    line = session.turn_timings[0].line
    if line is not None:
        about["heart.line"] = line_words(line)
    end_ns = t0_ns + samples_to_ns(len(caller.played), caller.rate_hz)
    call = RunSpan(trace, _digest(8, session.id), b"", "call", t0_ns, end_ns, about)
    yield call
    turns = [turn for turn in caller.turns if turn.kind == "turn"]
    for k, (turn, timing) in enumerate(zip(turns, session.turn_timings, strict=False)):
        start_ns = t0_ns + samples_to_ns(turn.start_sample, caller.rate_hz)
        spoken_ns = t0_ns + round(timing.spoken_end_ms * NS_PER_MS)
        yield _inside(call, f"caller {k}", "caller_turn", start_ns, spoken_ns, {"heart.turn": float(k)})
        yield from _of_wait(call, k, timing, spoken_ns)


def _of_wait(call: RunSpan, k: int, timing: TurnTiming, spoken_ns: int) -> Iterator[RunSpan]:
    """The wait for the answer, its stages, and the answer."""
    figures = {f"heart.{name}": float(value) for name, read in _FIGURES.items() if (value := read(timing)) is not None}
    attributes = {"heart.turn": float(k), "heart.no_reply": timing.no_reply, "heart.cut_in": timing.cut_in, **figures}
    for split in timing.servers:
        parts = {
            "queue": split.queue_ms,
            "compute": split.compute_ms,
            "idle": split.idle_ms,
            "unexplained": split.unexplained_ms,
        }
        attributes |= {f"heart.{split.stage}.{name}_ms": value for name, value in parts.items() if value is not None}
    if timing.ttfa_ms is None:
        yield _inside(call, f"wait {k}", "wait", spoken_ns, spoken_ns, attributes)
        return
    onset_ns = spoken_ns + round(timing.ttfa_ms * NS_PER_MS)
    wait = _inside(call, f"wait {k}", "wait", spoken_ns, onset_ns, attributes)
    yield wait
    for stage in timing.waterfall.stages if timing.waterfall else ():
        begin_ns = spoken_ns + round(stage.start_ms * NS_PER_MS)
        if stage.duration_ms > 0:
            over_ns = begin_ns + round(stage.duration_ms * NS_PER_MS)
            yield _inside(wait, f"stage {k} {stage.name}", f"stage.{stage.name}", begin_ns, over_ns, {})
    if timing.reply_end_ms is not None and timing.reply_end_ms > timing.ttfa_ms:
        yield _inside(call, f"reply {k}", "reply", onset_ns, spoken_ns + round(timing.reply_end_ms * NS_PER_MS), {})


def _inside(
    parent: RunSpan, which: str, name: str, start_ns: int, end_ns: int, attributes: Mapping[str, str | float | bool]
) -> RunSpan:
    made = _digest(8, parent.trace.hex(), which)
    return RunSpan(parent.trace, made, parent.id, name, start_ns, max(start_ns, end_ns), attributes)


def _digest(size: int, *names: str) -> bytes:
    return hashlib.sha256("\n".join(names).encode()).digest()[:size]


def as_request(spans: Sequence[RunSpan]) -> bytes:
    """The spans as one `ExportTraceServiceRequest`."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = SERVICE
    scope = resource.scope_spans.add()
    scope.scope.name = "harness.traces.export"
    for span in spans:
        made = scope.spans.add(
            trace_id=span.trace, span_id=span.id, parent_span_id=span.parent, name=span.name, kind=1,
            start_time_unix_nano=span.start_ns, end_time_unix_nano=span.end_ns,
        )  # fmt: skip
        for name, value in span.attributes.items():
            _set(made.attributes.add(key=name).value, value)
    return bytes(request.SerializeToString())


def _set(field_: Any, value: str | float | bool) -> None:
    if isinstance(value, bool):
        field_.bool_value = value
    elif isinstance(value, float):
        field_.double_value = value
    else:
        field_.string_value = value
