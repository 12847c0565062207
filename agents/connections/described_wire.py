"""One session of a wire that a profile describes in its table `[wire]`.

The order within one message is that in which causes come before effects: what failed, what begins, words, sound, what ends. A
message that no row matches is ignored, and named once with its type or keys (never a value), so that a table that fits nothing
says what came. What a row takes must be there: a message without it is as one that does not match.
"""

import base64
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from harness.agents.connection import (
    AGENT_ERROR,
    IGNORED,
    AudioChunk,
    Capabilities,
    Cleared,
    ConnectionFailed,
    Event,
    Transcript,
)
from harness.agents.connections.described_messages import Matcher, filled, has_place, name_of, text_at, values_at
from harness.agents.connections.described_table import Encoding, History, Signs, WireTable
from harness.agents.connections.wire import (
    Outgoing,
    PlayoutClock,
    Received,
    Wire,
    arrived,
    from_base64,
    marks_of,
    parse_object,
    refuse_history,
    sample_rate,
    shown,
    shown_error,
    whole_samples,
)
from harness.agents.message import Message
from harness.agents.reply_signs import MORE_COMES
from harness.audio.pcm import decode, encode

FRAME_MS: Final = 20
_MOST_NAMED: Final = 20
"""Kinds of unmatched messages that are named: enough for a protocol, and a bound for a server that makes up names."""
_LONGEST: Final = 200
_BEFORE: Final = ("speech_started", "decided", "requested", "asked", "words", "tool_called", "tool_done")
_RATE: Final = re.compile(r"\d{4,6}(?=\D*$)")
_mark: Final = marks_of("wire")


class DescribedWire(Wire):
    """One session by a table. `instructions` are what `{instructions}` stands for."""

    def __init__(self, table: WireTable, input_rate_hz: int, output_rate_hz: int, instructions: str = "") -> None:
        self.capabilities = Capabilities(table.history is not None, input_rate_hz, output_rate_hz)
        self.table, self._rate_hz = table, output_rate_hz
        self._values: dict[str, Any] = {
            "instructions": instructions, "rate": input_rate_hz, "reply_rate": output_rate_hz, "id": uuid.uuid4().hex,
        }  # fmt: skip
        self._opens_after, self._ready_at, self._clears = map(Matcher, (table.opens_after, table.ready, table.clears))
        self._sound_at, self._rate_at = Matcher(table.speaks.match), Matcher(table.speaks.rate_match)
        self._signs = {name: Matcher(getattr(table.signs, name)) for name in Signs.model_fields}
        self._transcripts = [(Matcher(row.match), row) for row in table.transcripts]
        self._errors = [(Matcher(row.match), row.words) for row in table.errors]
        self._answers = [(Matcher(row.match), json.loads(row.message)) for row in table.answers]
        self._sound = None if table.hears.message is None else json.loads(table.hears.message)
        self._taken = Matcher(table.history.taken if table.history else ())
        self._frames = 0
        self._untaken = 0
        self._turns: list[Any] = []
        self._opened, self._is_ready = False, False
        self._begun: set[str] = set()
        self._says_begin = any(self._signs[name] for name in ("requested", "asked"))
        self._tool = False
        self._pieces: dict[str, list[str]] = {"user": [], "assistant": []}
        self._unmatched: dict[str, None] = {}
        self._playout = PlayoutClock()

    @property
    def ready(self) -> bool:
        return self._is_ready and self._untaken <= 0

    @property
    def waits_for(self) -> str:
        wanted = "opens_after" if not self._opened else "history.taken" if self._is_ready else "ready"
        found = {"opens_after": self._opens_after, "history.taken": self._taken, "ready": self._ready_at}[wanted]
        came = "; ".join(self._unmatched) or "nothing that is JSON"
        return f"the message of {wanted} ({shown(str(found), _LONGEST)}; no row of [wire] matches what came: {came})"

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, self.capabilities.accepts_history, "describe how it takes one in [wire.history]")
        if self.table.history is not None:
            self._turns = list(_turns(self.table.history, history))
        self._values |= {"history": self._turns, "has_history": bool(history)}
        return () if self._opens_after else self._open()

    def request(self) -> Mapping[str, Any]:
        """The body of the request that places the call, after `hello`."""
        return dict(filled(json.loads(self.table.places.request), self._values)) if self.table.places is not None else {}

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes) and self.table.speaks.at is None:
            return Received(tuple(self._heard(message, arrival_ns)))
        data = parse_object(message)
        replies = list(self._on_session(data))
        events = [*self._failed(data, arrival_ns), *self._begins(data, arrival_ns), *self._said(data, arrival_ns)]
        events += [*self._on_sound(data, arrival_ns), *self._ends(data, arrival_ns)]
        replies += [_written(template, {**self._values, "message": data}) for match, template in self._answers if match(data)]
        if not events and not replies and not self._is_known(data):
            events += self._not_matched(name_of(data), arrival_ns)
        return Received(tuple(events), tuple(replies))

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        coded = _encoded(frame, self.table.hears.encoding)
        if self._sound is None:
            return (coded,)
        self._frames += 1
        about = {"number": self._frames, "at_ms": (self._frames - 1) * FRAME_MS}
        return (_written(self._sound, {**self._values, **about, "audio": base64.b64encode(coded).decode()}),)

    def refusal(self, code: int, reason: str) -> ConnectionFailed | None:
        kind = self._kind_of(reason)
        said = f"the server refuses the session (code {code}: {shown(reason, _LONGEST)})"
        return ConnectionFailed(said, kind) if kind is not None else None

    def _kind_of(self, words: str) -> Any:
        return next((kind for part, kind in self.table.refusals.items() if part.lower() in words.lower()), None)

    def _open(self) -> Sequence[Outgoing]:
        self._opened = True
        sent = [_written(json.loads(text), self._values) for text in self.table.opens]
        return sent if self._ready_at else [*sent, *self._begin()]

    def _begin(self) -> Iterator[Outgoing]:
        """The messages after the session is ready, and the history where each turn is one of them."""
        self._is_ready = True
        for text in self.table.then:
            if self._turns or not has_place(text, "history"):
                yield _written(json.loads(text), self._values)
        if not self.table.places_history:
            self._untaken = len(self._turns) if self._taken else 0
            yield from (json.dumps(turn, ensure_ascii=False) for turn in self._turns)

    def _on_session(self, data: Mapping[str, Any]) -> Iterator[Outgoing]:
        if not self._opened and self._opens_after(data):
            yield from self._open()
        elif self._opened and not self._is_ready and self._ready_at(data):
            yield from self._begin()
        elif self._is_ready and self._taken(data):
            self._untaken -= 1

    def _failed(self, data: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        for match, paths in self._errors:
            if match(data):
                said = shown_error(*([text for path in paths if (text := text_at(data, path))] or [name_of(data)]))
                if not self.ready:
                    raise ConnectionFailed(f"the server says: {said}", self._kind_of(said) or "refused")
                yield arrived(AGENT_ERROR, arrival_ns, message=said)

    def _begins(self, data: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        for name in _BEFORE:
            if not self._signs[name](data):
                continue
            if name in ("requested", "asked"):
                self._begun = {name}
            if name in ("requested", "asked", "tool_called", "tool_done"):
                self._tool = name == "tool_called"
            if name == "words":
                yield from self._first(name, arrival_ns)
            else:
                yield _mark(name, arrival_ns)

    def _first(self, name: str, arrival_ns: int) -> Iterator[Event]:
        """A mark if this is the first of its kind in a reply; the words of the caller are then complete."""
        if name not in self._begun:
            self._begun.add(name)
            yield from self._joined("user", arrival_ns)
            yield _mark(name, arrival_ns)

    def _said(self, data: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        for match, row in self._transcripts:
            if match(data) and (text := text_at(data, row.text)) is not None:
                if row.pieces:
                    self._pieces[row.role].append(text)
                else:
                    yield Transcript(arrival_ns, row.role, text, row.final)

    def _joined(self, role: Any, arrival_ns: int) -> Iterator[Event]:
        text = "".join(self._pieces[role]).strip()
        self._pieces[role].clear()
        if text:
            yield Transcript(arrival_ns, role, text, True)

    def _on_sound(self, data: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        speaks = self.table.speaks
        if speaks.rate_at is not None and (self._rate_at(data) if self._rate_at else True):
            self._rate_hz = _rate_in(data, speaks.rate_at) or self._rate_hz
        if speaks.at is not None and (self._sound_at(data) if self._sound_at else True):
            for coded in values_at(data, speaks.at.split(".")):
                if isinstance(coded, str):
                    yield from self._heard(from_base64(coded.replace("-", "+").replace("_", "/")), arrival_ns)

    def _heard(self, coded: bytes, arrival_ns: int) -> Iterator[Event]:
        pcm = _decoded(coded, self.table.speaks.encoding)
        if pcm:
            yield from self._first("voice", arrival_ns)
            self._playout.add(arrival_ns, len(pcm) // 2, self._rate_hz)
            yield AudioChunk(arrival_ns, pcm, sample_rate(self._rate_hz))

    def _ends(self, data: Mapping[str, Any], arrival_ns: int) -> Iterator[Event]:
        if self._clears(data) and self._playout.until_ns > arrival_ns:
            self._playout.clear(arrival_ns)
            yield Cleared(arrival_ns)
        # Where nothing was begun, nothing is done: a state that is said before the first reply.
        if self._begun and self._signs["done"](data):
            yield from self._joined("user", arrival_ns)
            yield from self._joined("assistant", arrival_ns)
            if not self._says_begin:
                self._begun.clear()
            yield _mark("done", arrival_ns, **({MORE_COMES: True} if self._tool else {}))

    def _is_known(self, data: Mapping[str, Any]) -> bool:
        """True for a message that a row matches, although nothing came of it."""
        known = (self._opens_after, self._ready_at, self._clears, self._taken, *self._signs.values())
        rows = (match for match, _ in self._transcripts)
        return any(match(data) for match in (*known, *rows, self._sound_at, self._rate_at))

    def _not_matched(self, name: str, arrival_ns: int) -> Iterator[Event]:
        if name not in self._unmatched and len(self._unmatched) < _MOST_NAMED:
            self._unmatched[name] = None
            yield arrived(IGNORED, arrival_ns, message=f"no row of [wire] matches {name}")


def _turns(history: History, turns: Sequence[Message]) -> Iterator[Any]:
    templates = {"user": json.loads(history.user), "assistant": json.loads(history.assistant)}
    for number, turn in enumerate(turns):
        yield filled(templates[turn.role], {"text": turn.text, "number": number})


def _written(template: Any, values: Mapping[str, Any]) -> str:
    return json.dumps(filled(template, values), ensure_ascii=False)


def _encoded(pcm: bytes, encoding: Encoding) -> bytes:
    return pcm if encoding == "pcm16" else encode(np.frombuffer(pcm, "<i2"), "ulaw" if encoding == "mulaw" else "alaw")


def _decoded(coded: bytes, encoding: Encoding) -> bytes:
    if encoding == "pcm16" or not coded:
        return whole_samples(coded)
    return decode(coded, "ulaw" if encoding == "mulaw" else "alaw").astype("<i2").tobytes()


def _rate_in(data: Mapping[str, Any], path: str) -> int | None:
    """The rate that a message states; None where it states none."""
    value = next(values_at(data, path.split(".")), None)
    if isinstance(value, str):
        found = _RATE.search(value)
        value = int(found[0]) if found else None
    return None if value is None else sample_rate(value)
