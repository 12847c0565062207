"""Tools' own output, read as they write it; and what is no such output."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from harness.errors import UserError
from harness.known import formats
from harness.known.formats import read_theirs
from harness.known.score import Theirs
from harness.store.run_store import RunStore
from harness.traces.export import as_request, spans_of
from tests.harness.measuring.test_remeasure import store

__all__ = ["store"]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(content: object, name: str = "call-07.json") -> Path:
        path = tmp_path / name
        raw = content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
        path.write_bytes(raw)
        return path

    return written


def _of(figure: str, *times_ms: float | None, file: str = "call-07") -> list[Theirs]:
    return [Theirs("", k, figure, ms, file) for k, ms in enumerate(times_ms, 1) if ms is not None]  # type: ignore[arg-type]


def test_the_four_columns_with_any_delimiter_and_encoding(write: Write) -> None:
    rows = "call,turn,figure,ms\na,1,speech,812.5\na,2,speech,\nb,1,cut,-300\n"
    expected = [Theirs("a", 1, "speech", 812.5), Theirs("a", 2, "speech", None), Theirs("b", 1, "cut", -300.0)]
    assert list(read_theirs(write(rows))) == expected
    assert list(read_theirs(write(rows.replace(",", ";").encode("utf-16")))) == expected
    wide = "call,turn,speech_ms,cut_ms\na,1,812.5,\n"
    assert [(each.figure, each.ms) for each in read_theirs(write(wide))] == [("speech", 812.5), ("cut", None)]


# In the shapes of deepeval 4.3.1, langwatch-scenario 1.6.0, voicebench 0.2.0, pipecat 1.14 and LiveKit Agents 1.8.9. A turn
# without reply has no figure, and the next is still the third.
_USER = {"role": "user", "content": "turn1.wav", "audio": {"duration": 1.5, "start_time": 0.002}}
_DEEPEVAL = [
    {"turns": [_USER, {"role": "assistant", "latency_ms": 0.25}, _USER, _USER, {"role": "assistant", "latency_ms": 0.5}]}
]
_STOP = {"time": 1.95, "type": "user_stop_speaking"}
_SCENARIO = {
    "latency": {"measurements": [0.25, 0.5], "time_to_first_byte": 0.25, "interrupt_response_time": None},
    "timeline": [
        _STOP, {"time": 2.25, "type": "agent_start_speaking", "latency": 0.25}, {"time": 4.6, "type": "agent_stop_speaking"},
        _STOP, _STOP, {"time": 2.25, "type": "agent_start_speaking", "latency": 0.5},
        {"time": 5.25, "type": "agent_start_speaking", "latency": 3.5},
    ],
}  # fmt: skip
_SAID = {"type": "message", "role": "user", "metrics": {"stopped_speaking_at": 1.7e9, "end_of_turn_delay": 0.5}}
_LIVEKIT = {
    "items": [
        {"type": "message", "role": "assistant", "metrics": {"started_speaking_at": 1.7e9}},
        _SAID, {"type": "message", "role": "assistant", "metrics": {"e2e_latency": 0.25, "llm_node_ttft": 0.1}},
        _SAID, _SAID, {"type": "message", "role": "assistant", "metrics": {"e2e_latency": 0.5}},
    ]
}  # fmt: skip


@pytest.mark.parametrize(("output", "unit"), [(_DEEPEVAL, 1.0), (_SCENARIO, 1_000.0), (_LIVEKIT, 1_000.0)])
def test_a_turn_is_that_of_the_callers_turns_before_it(write: Write, output: object, unit: float) -> None:
    assert list(read_theirs(write(output))) == _of("sound", 0.25 * unit, None, 0.5 * unit)


def test_our_table_has_a_yield_in_the_row_of_the_turn_that_was_interrupted(write: Write) -> None:
    rows = "run,context,call,agent,turn,ttfa_ms,signed_ms,yield_ms,first_sound_ms\nr,c-04b4,c.flac,a,1,810,,62.5,150\n"
    found = {(each.call, each.turn, each.figure): each.ms for each in read_theirs(write(rows))}
    assert found == {
        ("c.flac", 1, "speech"): 810.0,
        ("c.flac", 1, "cut"): None,
        ("c.flac", 2, "yield"): 62.5,
        ("c.flac", 1, "sound"): 150.0,
    }


def test_output_without_callers_turns_is_in_order(write: Write) -> None:
    turns = [{"id": "t1", "response_latency_ms": ms, "ttfa_ms": 283.1, "stop_latency_ms": None} for ms in (280.0, 300.0)]
    bench = {"summary": {"turns": 2, "response_latency_ms": {"p50": 280.0}}, "sessions": [{"turns": turns}]}
    assert [each for each in read_theirs(write(bench)) if each.figure == "speech"] == _of("speech", 280.0, 300.0)
    waits = [("client_connected", 9.0), ("user_silence", 0.25), ("user_silence", 0.5)]
    dumped = "\n".join(json.dumps({"ttfb": [], "measured_from": of, "total_secs": s}) for of, s in waits)
    assert list(read_theirs(write(dumped))) == _of("sound", 250.0, 500.0)
    log = " 9.000s  TOTAL (from client connected)\n12:01 INFO 0.200s  TTS  [a]\n12:01 INFO  0.250s  TOTAL\n 0.500s  TOTAL\n"
    assert list(read_theirs(write(log))) == _of("sound", 250.0, 500.0)
    named = "DEBUG Turn 2 user-bot latency: 0.250s\nDEBUG Ended tracing for Turn 2\nDEBUG Turn 3 user-bot latency: 0.500s\n"
    assert [(each.turn, each.ms) for each in read_theirs(write(named))] == [(2, 250.0), (3, 500.0)]


def test_a_folder_has_a_file_for_each_call(write: Write, tmp_path: Path) -> None:
    write(_DEEPEVAL, "b.json")
    write(_LIVEKIT, "a.json")
    assert [(each.call, each.turn) for each in read_theirs(tmp_path)] == [("a", 1), ("a", 3), ("b", 1), ("b", 3)]


def test_spans_on_the_console_of_opentelemetry(tmp_path: Path) -> None:
    """The names of pipecat's spans and of LiveKit's, through the exporter that prints each span over many lines."""
    path = tmp_path / "spans.txt"
    with path.open("w") as out:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
        tracer = provider.get_tracer("t")
        for call in ("a", None):
            with tracer.start_as_current_span("conversation", attributes={"conversation.id": call} if call else {}):
                for turn in (1, 2):
                    of_pipecat = {"turn.number": turn, "turn.user_bot_latency_seconds": turn / 4}
                    tracer.start_span("turn", attributes=of_pipecat if call else {"lk.e2e_latency": 0.5}).end()
    found = [(each.call, each.turn, each.ms) for each in read_theirs(path)]
    assert found == [("a", 1, 250.0), ("a", 2, 500.0), ("2", 1, 500.0), ("2", 2, 500.0)]


def test_a_run_is_read_and_so_are_its_spans_as_a_message_and_as_json(store: RunStore, write: Write) -> None:
    timings = [timing for session in store.sessions() for timing in session.turn_timings]
    assert len(timings) == 2
    run = [each for each in read_theirs(store.folder) if each.figure == "speech"]
    heard = [(str(k), 1, of.utterances[0].start_ms) for k, of in enumerate(timings, 1)]
    assert [(each.or_call, each.turn, each.ms) for each in run] == heard
    message = as_request(spans_of(store))
    as_json = ExportTraceServiceRequest.FromString(message)
    for content in (message, MessageToJson(as_json), json.dumps(MessageToDict(as_json)) + "\n"):
        spans = [each for each in read_theirs(write(content)) if each.figure == "speech"]
        assert [(each.or_call, each.ms) for each in spans] == [(str(k), of.ttfa_ms) for k, of in enumerate(timings, 1)]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", r"is empty; write rows of call,turn,figure,ms"),
        ("call,turn,ms\na,1,5\n", r":1: column 'figure' is missing"),
        ("call,turn,figure,ms\na,1,speach,5\n", r":2: 'speach' is no figure; did you mean speech\?"),
        ("call,turn,figure,ms\na,1,speech,fast\n", r":2: 'fast' is no time; leave it empty where there is none"),
        ("call,turn,figure,ms\na,1,speech,NaN\n", r":2: 'NaN' is no time"),
        ("call,turn,figure,ms\na,first,speech,5\n", r":2: 'first' is no turn; turns are 1, 2, …"),
        ("call,turn,figure,ms\na,1,speech\n", r":2: 3 cells where the header has 4"),
        ("call,turn,figure,ms\n", r"has no figure by a name that is known here; write rows"),
        ('{"latency_ms": 3', r"not JSON that can be read \(.*line 1\)"),
        ('{"latency_ms": NaN}', r":1: 'nan' is no time"),
        ('{"turns": [\n{"latency_ms": true}]}', r":1: 'True' is no time"),
        ("[" * 100_000, r"not JSON that can be read \(nested too deep"),
        ('{"ttfb": 0.2}', r"has no figure by a name that is known here"),
        (b"RIFF\x00\x00\xff\xfe", r"is neither text in UTF-8 nor a message of OTLP"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_row_and_how_to_mend_it(write: Write, content: str | bytes, error: str) -> None:
    with pytest.raises(UserError, match=error) as raised:
        read_theirs(write(content))
    assert "\n" not in str(raised.value)
    assert str(raised.value).isprintable()


def test_a_file_of_too_many_figures_and_none_at_all(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_FIGURES", 3)
    with pytest.raises(UserError, match="has over 3 figures; score a part of it"):
        read_theirs(write("call,turn,figure,ms\n" + "a,1,speech,5\n" * 4))
    with pytest.raises(UserError, match="no such file"):
        read_theirs(tmp_path / "none.csv")
