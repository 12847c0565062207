"""Twilio Media Streams with the harness in Twilio's place, to call unmodified telephone bots.

The bot gets what a call would give it: `connected`, `start`, then 20 ms of μ-law a message with Twilio's counters as
strings. It may send any length at any speed, because Twilio holds the playout buffer; so the harness models that
buffer, echoes each `mark` when what came before it has been played (to the nearest 20 ms, as Twilio does) or cleared, and
flushes on `clear`. There is no way to give such a bot a history that it would acknowledge.

Source: Twilio's description of Media Streams WebSocket messages.
"""

import base64
import json
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from pydantic import Field

from harness.agents.connection import Capabilities, Cleared, Connection, Mark
from harness.agents.connections.about import UVICORN, About
from harness.agents.connections.start_request import StartedByRequest
from harness.agents.connections.websocket import over_websocket
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    Outgoing,
    PlayoutClock,
    Received,
    Wire,
    audio_of,
    from_base64,
    parse_object,
    refuse_history,
    shown,
)
from harness.agents.message import Message
from harness.audio.pcm import decode, encode

RATE_HZ: Final = 8_000
FRAME_MS: Final = 20


class TwilioWire(Wire):
    """One call over Media Streams. `parameters` are the `<Parameter>`s that a TwiML `<Stream>` would pass on."""

    def __init__(self, parameters: Mapping[str, str] | None = None) -> None:
        self.capabilities = Capabilities(accepts_history=False, input_rate_hz=RATE_HZ, output_rate_hz=RATE_HZ)
        self._parameters = dict(parameters or {})
        self._stream_sid = "MZ" + secrets.token_hex(16)
        self._account_sid = "AC" + secrets.token_hex(16)
        self._call_sid = "CA" + secrets.token_hex(16)
        self._sequence = 0
        self._chunks = 0
        self._playout = PlayoutClock()
        self._marks: deque[tuple[int, str]] = deque()

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, False, "reach the bot by a wire that has room for one")
        start = {
            "streamSid": self._stream_sid,
            "accountSid": self._account_sid,
            "callSid": self._call_sid,
            "tracks": ["inbound"],
            "customParameters": self._parameters,
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": RATE_HZ, "channels": 1},
        }
        connected = json.dumps({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        return (connected, self._message("start", start=start))

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            raise Garbage(f"binary where Twilio takes JSON: {shown(repr(message[:20]))}")
        data = parse_object(message)
        event = data.get("event")
        if event in ("media", "mark", "clear") and data.get("streamSid") != self._stream_sid:
            raise Garbage(f"a {event} for the stream {shown(repr(data.get('streamSid')))}, which is not this one")
        match event:
            case "media":
                return self._media(_inner(data, "media").get("payload"), arrival_ns)
            case "mark":
                return self._mark(_inner(data, "mark").get("name"), arrival_ns)
            case "clear":
                self._playout.clear(arrival_ns)
                echoes = tuple(self._echo(name) for _, name in self._marks)
                self._marks.clear()
                return Received(events=(Cleared(arrival_ns),), replies=echoes)
            case str():
                return NOTHING
        raise Garbage(f"a message without an event: {shown(message)}")

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        self._chunks += 1
        media = {
            "track": "inbound",
            "chunk": str(self._chunks),
            "timestamp": str((self._chunks - 1) * FRAME_MS),
            "payload": base64.b64encode(encode(np.frombuffer(frame, "<i2"), "ulaw")).decode(),
        }
        played: list[Outgoing] = []
        while self._marks and self._marks[0][0] <= now_ns:
            played.append(self._echo(self._marks.popleft()[1]))
        return (*played, self._message("media", media=media))

    def goodbye(self) -> Sequence[Outgoing]:
        return (self._message("stop", stop={"accountSid": self._account_sid, "callSid": self._call_sid}),)

    def _media(self, payload: object, arrival_ns: int) -> Received:
        law = from_base64(payload)
        if law:
            self._playout.add(arrival_ns, len(law), RATE_HZ)
        return audio_of(decode(law, "ulaw").astype("<i2").tobytes(), RATE_HZ, arrival_ns)

    def _mark(self, name: object, arrival_ns: int) -> Received:
        if not isinstance(name, str):
            raise Garbage(f"a mark without a name: {shown(repr(name))}")
        told = Mark("twilio.mark", arrival_ns, arrival_ns, {"name": name, "stamped": "arrival"})
        if self._playout.until_ns <= arrival_ns and not self._marks:
            return Received(events=(told,), replies=(self._echo(name),))
        self._marks.append((self._playout.until_ns, name))
        return Received(events=(told,))

    def _echo(self, name: str) -> str:
        return self._message("mark", mark={"name": name})

    def _message(self, event: str, **content: Mapping[str, Any]) -> str:
        self._sequence += 1
        whole = {"event": event, "sequenceNumber": str(self._sequence), "streamSid": self._stream_sid, **content}
        return json.dumps(whole)


def _inner(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = data.get(name)
    if not isinstance(inner, dict):
        raise Garbage(f"a {name} message without {name}: {shown(repr(dict(data)))}")
    return inner


class TwilioProfile(StartedByRequest):
    """A telephone bot that serves Twilio's Media Streams; the harness takes Twilio's place."""

    kind: Literal["twilio"]
    parameters: dict[str, str] = Field(default_factory=dict)
    """The `<Parameter>`s of the TwiML `<Stream>` that would start it."""

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "input_rate_hz": RATE_HZ}


PROFILE: Final = TwilioProfile
ABOUT: Final = About(
    comment=(
        "# A telephone bot that serves Twilio Media Streams; the harness takes Twilio's place. Run it with --mode replay.",
    ),
    url="ws://localhost:{port}/ws",
    command="python bot.py --port {port}",
    ready=UVICORN,
    route="pipecat's runner serves it at /ws",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for Media Streams; options: `parameters` (strings by name), and every wire's."""
    wire = TwilioWire(parameters=options.get("parameters"))
    return over_websocket(url, wire, options, route=ABOUT.route, transport="twilio")
