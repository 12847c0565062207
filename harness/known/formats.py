"""The figures that a tool reports, read from its own output as it is.

A tool that had to be changed to be scored would be another tool. So the form is found by content, because endings lie: the CSV
of four columns, or anything that gives records of named values (JSON, spans of OTLP, log lines, our table or run), in which
some names are known to be figures. Where a record names no call, its call is the file's name; where it names no turn, that of
the caller's turns before it in the file, or, if there are none, the order in the file.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Final

from harness.calls.recordings import SUFFIXES
from harness.errors import UserError
from harness.foreign_files import FileFault, refuse_depth
from harness.known.score import Theirs
from harness.known.truth import FIGURES, Figure
from harness.nearest import or_one_of
from harness.store.database import DATABASE
from harness.tables.csv_rows import CsvRows, number
from harness.tables.lines import content_of

COLUMNS: Final = ("call", "turn", "figure", "ms")
MEND: Final = f"write rows of {','.join(COLUMNS)} (docs/conformance.md)"
MOST_FIGURES: Final = 200_000
"""A thousand calls of ten turns have 60,000."""
NAMES: Final[Mapping[str, tuple[Figure, float]]] = MappingProxyType(
    {
        **{f"{figure}_ms": (figure, 1.0) for figure in FIGURES},  # anybody's span or record
        # Ours (docs/measurement.md): the reply begins with its filler or its answer, which are words; one that began before the
        # spoken end is the cut.
        "heart.first_sound_ms": ("sound", 1.0), "heart.ttfa_ms": ("speech", 1.0), "heart.answer_ms": ("answer", 1.0),
        "heart.signed_ms": ("cut", 1.0), "heart.yield_ms": ("yield", 1.0),
        # deepeval, `Turn`: "user-audio-sent -> first agent audio".
        "latency_ms": ("sound", 1.0), "latencyMs": ("sound", 1.0),
        # langwatch scenario, `VoiceEvent`: "response time from the preceding user_stop_speaking" to the first chunk.
        "agent_start_speaking.latency": ("sound", 1_000.0),
        # pipecat, `UserBotLatencyObserver`: user silence to BotStartedSpeaking, which any sound causes.
        "turn.user_bot_latency_seconds": ("sound", 1_000.0), "total_secs": ("sound", 1_000.0),
        # LiveKit, `MetricsReport`: "from when the user finished speaking to when the agent began responding", its first frame.
        "e2e_latency": ("sound", 1_000.0), "lk.e2e_latency": ("sound", 1_000.0),
        # voicebench: onset of the next segment of agent speech; the agent's silence after a barge-in.
        "response_latency_ms": ("speech", 1.0), "stop_latency_ms": ("yield", 1.0),
    }
)  # fmt: skip
"""Name of a value, behind its record's type where that has to be known → the figure that its tool says it is, and its unit in
ms. The first in a turn counts."""
_LOGGED: Final = re.compile(
    r"(?:Turn (?P<turn>\d{1,9}) user-bot latency: )?(?P<total_secs>[\d.]{1,20})s(?(turn)|  TOTAL)[ \r]?$", re.MULTILINE
)
"""A turn's wait in pipecat's log, or the total of its parts; a greeting's total has another end."""
_CALLS: Final = ("heart.context", "call", "context", "conversation.id")
_TURNS: Final = MappingProxyType({"turn": 0, "turn.number": 0, "heart.turn": 1})
"""Names of a turn, and by how much it is less than ours."""
_INTERRUPTED: Final = "heart.yield_ms"
"""Ours is a figure of the turn that is interrupted, the true one of the next, which interrupts."""
_TURN: Final = "turn; turns are 1, 2, …"
_TRACE: Final = "traceId"
Record = tuple[dict[str, Any], str]
"""Named values, and their place in words."""


def read_theirs(path: Path) -> Sequence[Theirs]:
    """The figures of a file, of a folder with a file for each call, or of the folder of a run.

    Raises:
        UserError: it cannot be read, or has no figure in a form that is known here; with the row.
    """
    folder = path.is_dir() and not (path / DATABASE).exists()
    found: list[Theirs] = []
    for file in sorted(each for each in path.iterdir() if each.is_file()) if folder else [path]:
        read = islice(_read(file), MOST_FIGURES + 1)
        found += (replace(each, call=each.call or file.stem) for each in read) if folder else read
        if len(found) > MOST_FIGURES:
            raise UserError(f"{path}: has over {MOST_FIGURES:,} figures; score a part of it")
    if not found:
        raise UserError(f"{path}: has no figure by a name that is known here; {MEND}")
    return found


def _read(path: Path) -> Iterator[Theirs]:
    if path.is_dir():
        return _of_run(path)
    raw = content_of(path)
    if not raw.strip():
        raise UserError(f"{path}: is empty; {MEND}")
    if raw[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16, as spreadsheets write tables
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            return _figures(list(_of_message(raw, path)), path.stem)
        if text.lstrip()[:1] in ("{", "["):
            return _figures(list(_of_json(text.strip(), path)), path.stem)
        if logged := list(_LOGGED.finditer(text)):
            return _figures([({k: v for k, v in of.groupdict().items() if v}, str(path)) for of in logged], path.stem)
    rows = CsvRows(path, (*COLUMNS, *NAMES))
    if {"context", "ttfa_ms"} <= set(rows.columns):  # our own table
        ours = (({f"heart.{k}" if k.endswith("_ms") else k: v for k, v in row.cells.items()}, row.where) for row in rows)
        # Where the caller is a recording, the call is named as its file, and the context is that with a part of its hash.
        return _figures([({**own, "context": _name(own, "context", "call")}, where) for own, where in ours], "")
    if not set(NAMES).isdisjoint(rows.columns):
        return _figures([(dict(row.cells), row.where) for row in rows], "")
    rows.must_have(COLUMNS, more=MEND)
    return _of_csv(rows)


def _of_run(folder: Path) -> Iterator[Theirs]:
    """Our own figures. A recorded call is called by its file, and every call also by its place in the order of all."""
    from harness.known.ours import figures_of
    from harness.store.run_store import RunStore

    store = RunStore.open(folder)
    files = {context.id: context.situation for context in store.contexts()}
    played = sorted(store.sessions(), key=lambda session: session.started_ns or 0)
    for k, session in enumerate(played, 1):
        for turn, timing in enumerate(session.turn_timings, 1):
            for figure, ms in figures_of(timing).items():
                yield Theirs(files[session.key.context_id], turn + (figure == "yield"), figure, ms, str(k))


def _name(own: Mapping[str, Any], context: str, file: str) -> str:
    """The name of a call of ours: of a recording its file's, of others their context's."""
    name = PurePath(own.get(file) or "")
    return name.stem if name.suffix.lower() in SUFFIXES else str(own[context])


def _of_csv(rows: CsvRows) -> Iterator[Theirs]:
    for row in rows:
        call, turn, figure, ms = (row.cells[name].strip() for name in COLUMNS)
        if figure not in FIGURES:
            raise UserError(f"{row.where}: {figure[:40]!r} is no figure{or_one_of(figure, FIGURES)}")
        yield Theirs(call, int(number(turn, row.where, of=_TURN)), figure, _ms(ms, row.where))


def _ms(value: Any, where: str, unit_ms: float = 1.0) -> float | None:
    return None if value in (None, "") else unit_ms * number(value, where, of="time; leave it empty where there is none")


def _of_message(raw: bytes, path: Path) -> Iterator[Record]:
    """The spans of a message of OTLP in protobuf."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        yield from _flat(MessageToDict(ExportTraceServiceRequest.FromString(raw)), {}, str(path))
    except DecodeError:
        raise UserError(f"{path}: is neither text in UTF-8 nor a message of OTLP; {MEND}") from None


def _of_json(text: str, path: Path) -> Iterator[Record]:
    """The records of JSON values one after another: one alone, one a line, or each over many lines."""
    decoder, at, line = json.JSONDecoder(), 0, 1
    while at < len(text):
        try:
            value, after = decoder.raw_decode(text, at)
            refuse_depth(value)
        except (FileFault, RecursionError, ValueError) as error:
            why = (
                f"{error.msg}, line {error.lineno}"
                if isinstance(error, json.JSONDecodeError)
                else "nested too deep, or a number of too many digits"
            )
            raise UserError(f"{path}: not JSON that can be read ({why}); name the output as the tool wrote it") from None
        yield from _flat(value, {}, f"{path}:{line}")
        while after < len(text) and text[after].isspace():
            after += 1
        at, line = after, line + text.count("\n", at, after)


def _flat(value: Any, around: Mapping[str, Any], where: str) -> Iterator[Record]:
    """Every object in a value as one record: its own plain values, and those around it that name its call or turn."""
    if isinstance(value, list):
        for each in value:
            yield from _flat(each, around, where)
    if not isinstance(value, dict):
        return
    own = {name: each for name, each in value.items() if not isinstance(each, dict | list)}
    given = value.get("attributes")
    if isinstance(given, list):  # OTLP: [{"key": "turn.number", "value": {"intValue": "1"}}, …]
        pairs = (each for each in given if isinstance(each, dict) and isinstance(each.get("value"), dict))
        given = {str(each.get("key")): next(iter(each["value"].values()), None) for each in pairs}
    own |= given if isinstance(given, dict) else {}
    if isinstance(context := value.get("context"), dict):  # a span on OpenTelemetry's console
        own[_TRACE] = context.get("trace_id")
    yield {**around, **own}, where
    kept = {**around, **{name: own[name] for name in (*_CALLS, *_TURNS, _TRACE) if name in own}}
    for name, each in value.items():
        if name != "attributes":
            yield from _flat(each, kept, where)


def _figures(records: Sequence[Record], file: str) -> Iterator[Theirs]:
    """The figures in records. `file`: their call where they name none."""
    calls: dict[str, str] = {}
    for record, _ in records:
        if group := _group(record):
            calls[group] = calls.get(group) or _call(record)
    order = {group: str(k) for k, group in enumerate(calls, 1)} if len(calls) > 1 else {}
    by_callers = any(_is_callers(record) for record, _ in records)
    turns: Counter[str] = Counter()
    seen = set()
    for record, where in records:
        names = {name if name in NAMES else f"{record.get('type')}.{name}": value for name, value in record.items()}
        greeting = record.get("measured_from") == "client_connected"
        found = [] if greeting else [(name, value) for name, value in names.items() if name in NAMES]
        group = _group(record)
        turns[group] += _is_callers(record) if by_callers else bool(found)
        for name, value in found:
            named = (int(number(record[key], where, of=_TURN)) + less for key, less in _TURNS.items() if key in record)
            turn, (figure, unit_ms) = next(named, turns[group]) + (name == _INTERRUPTED), NAMES[name]
            if (group, turn, figure) not in seen:
                seen.add((group, turn, figure))
                call = calls.get(group) or order.get(group, "")
                yield Theirs(call, turn, figure, _ms(value, where, unit_ms), order.get(group, file))


def _call(record: Mapping[str, Any]) -> str:
    return str(next((record[name] for name in _CALLS if record.get(name)), ""))


def _group(record: Mapping[str, Any]) -> str:
    return str(record.get(_TRACE) or _call(record))


def _is_callers(record: Mapping[str, Any]) -> bool:
    return not {"user", "user_stop_speaking"}.isdisjoint((str(record.get("role")), str(record.get("type"))))
