"""The carrier's end of a telephone call over a WebSocket, for all carriers: the harness takes the carrier's place.

A telephone bot does not speak to a telephone. A carrier calls it over a WebSocket, names the call, sends the caller's sound
and plays what comes back. The bot may send any length at any speed, because the carrier holds the playout buffer; so the
buffer is modelled here, a mark comes back when the sound before it has been played (to the nearest 20 ms, as a carrier's
own frames allow), and a clear drops the sound that has not been played. Each carrier's own words are in its own file.
None of these formats has a place for a conversation so far.
"""

import base64
import json
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

import numpy as np
from pydantic import Field

from harness.agents.connection import Capabilities, Cleared, Connection, Mark
from harness.agents.connections.about import UVICORN, About
from harness.agents.connections.start_request import StartedByRequest
from harness.agents.connections.websocket import over_websocket
from harness.agents.connections.wire import (
    NOTHING,
    Garbage,
    NotOfThisWire,
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
CALLER: Final = "+12025550143"
CALLED: Final = "+12025550178"
"""Numbers that are reserved for fiction."""

ROUTE: Final = "pipecat's runner serves it at /ws"

Encoding = Literal["ulaw", "alaw", "l16"]
"""G.711 in its two laws, or PCM16LE."""


class CarrierWire(Wire):
    """One call from the carrier's side, in JSON messages with the events `media`, `mark` and `clear`."""

    kind: ClassVar[str]
    """The kind of agent; its marks begin with this word."""
    stream_key: ClassVar[str]
    sequence_key: ClassVar[str]
    """The carrier's names for the stream and for the number of a message."""
    frames_a_message: ClassVar[int] = 1
    """Frames of 20 ms in a message to the bot."""
    returns_marks_on_clear: ClassVar[bool] = True
    """True if a clear sends waiting marks back; otherwise they are dropped with the sound before them."""

    def __init__(
        self,
        parameters: Mapping[str, str] | None = None,
        heard: Encoding = "ulaw",
        said: Encoding = "ulaw",
        rate_hz: int = RATE_HZ,
    ) -> None:
        """Make a wire. `heard` and `said` are the encodings of what the bot hears and says."""
        self.capabilities = Capabilities(accepts_history=False, input_rate_hz=rate_hz, output_rate_hz=rate_hz)
        self._parameters = dict(parameters or {})
        self._heard = heard
        self._said = said
        self._rate_hz = rate_hz
        self._stream = ""
        self._sequence = 0
        self._frames = 0
        self._unsent = b""
        self._playout = PlayoutClock()
        self._marks: deque[tuple[int, Any]] = deque()

    @abstractmethod
    def begin(self) -> Sequence[Outgoing]:
        """The messages that begin a call."""

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        refuse_history(history, False, "reach the bot by a wire that has room for one")
        return self.begin()

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            raise Garbage(f"binary where {self.kind} has JSON: {shown(repr(message), 20)}")
        data = parse_object(message)
        event = data.get("event")
        if not isinstance(event, str):
            raise NotOfThisWire(f"a message without an event: {shown(message)}")
        return self.event(event, data, arrival_ns)

    def event(self, event: str, data: Mapping[str, Any], arrival_ns: int) -> Received:
        """The meaning of one event; nothing for an event that the carrier does not know.

        Raises:
            Garbage: the format does not allow it.
        """
        match event:
            case "media":
                self.check_stream(event, data)
                return self.sound(from_base64(inner(data, "media").get("payload")), arrival_ns)
            case "mark":
                self.check_stream(event, data)
                return self.mark(inner(data, "mark").get("name"), arrival_ns)
            case "clear":
                self.check_stream(event, data)
                return self.clear(arrival_ns)
        return NOTHING

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        played: list[Outgoing] = []
        while self._marks and self._marks[0][0] <= now_ns:
            played.append(self.mark_back(self._marks.popleft()[1]))
        self._unsent += frame
        self._frames += 1
        if self._frames % self.frames_a_message:
            return played
        pcm, self._unsent = self._unsent, b""
        coded = pcm if self._heard == "l16" else encode(np.frombuffer(pcm, "<i2"), self._heard)
        chunk = self._frames // self.frames_a_message
        return (*played, self.media(coded, chunk, (chunk - 1) * self.frames_a_message * FRAME_MS))

    def media(self, coded: bytes, chunk: int, at_ms: int) -> Outgoing:
        """The message of a piece of the caller's sound: `chunk` counts from 1, `at_ms` from the begin of the call."""
        payload = base64.b64encode(coded).decode()
        media = {"track": "inbound", "chunk": str(chunk), "timestamp": str(at_ms), "payload": payload}
        return self.message("media", media=media)

    def mark_back(self, name: Any) -> Outgoing:
        """The message that says that the sound before a mark has been played."""
        return self.message("mark", mark={"name": name})

    def message(self, event: str, **content: Any) -> str:
        """A message with the next number."""
        self._sequence += 1
        return json.dumps({"event": event, self.sequence_key: str(self._sequence), self.stream_key: self._stream, **content})

    def check_stream(self, event: str, data: Mapping[str, Any]) -> None:
        """Check that the message is for this stream; a bot may leave the name out.

        Raises:
            Garbage: it names another one.
        """
        if (stream := data.get(self.stream_key, self._stream)) != self._stream:
            raise Garbage(f"a {event} for the stream {shown(repr(stream))}, which is not this one")

    def sound(self, coded: bytes, arrival_ns: int) -> Received:
        """A piece of the bot's sound, which goes into the playout buffer.

        Raises:
            Garbage: it ends in half a sample.
        """
        pcm = coded if self._said == "l16" else decode(coded, self._said).astype("<i2").tobytes()
        received = audio_of(pcm, self._rate_hz, arrival_ns)
        if pcm:
            self._playout.add(arrival_ns, len(pcm) // 2, self._rate_hz)
        return received

    def mark(self, name: object, arrival_ns: int, word: str = "mark") -> Received:
        """A mark behind all sound so far; it comes back at once if nothing is left to play.

        Raises:
            Garbage: it has no name.
        """
        if not isinstance(name, str):
            raise Garbage(f"a {word} without a name: {shown(repr(name))}")
        return self.wait_for_playout(name, arrival_ns, word)

    def wait_for_playout(self, name: Any, arrival_ns: int, word: str) -> Received:
        """What `mark_back` says of `name`, at once or when the sound so far has been played."""
        reported = Mark(f"{self.kind}.{word}", arrival_ns, arrival_ns, {"name": name, "stamped": "arrival"})
        if self._playout.until_ns <= arrival_ns and not self._marks:
            return Received(events=(reported,), replies=(self.mark_back(name),))
        self._marks.append((self._playout.until_ns, name))
        return Received(events=(reported,))

    def clear(self, arrival_ns: int, *acknowledgement: Outgoing) -> Received:
        """The end of all sound that has not been played."""
        self._playout.clear(arrival_ns)
        back = [self.mark_back(name) for _, name in self._marks] if self.returns_marks_on_clear else []
        self._marks.clear()
        return Received(events=(Cleared(arrival_ns),), replies=(*acknowledgement, *back))


def inner(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object `name` of a message.

    Raises:
        Garbage: there is none.
    """
    found = data.get(name)
    if not isinstance(found, dict):
        raise Garbage(f"a {name} message without {name}: {shown(repr(dict(data)))}")
    return found


class TelephoneBot(StartedByRequest):
    """A telephone bot that a carrier calls over a WebSocket; the harness takes the carrier's place."""

    parameters: dict[str, str] = Field(default_factory=dict)
    """Values by name that the carrier passes on to the bot at the begin of a call."""

    def _options(self) -> dict[str, Any]:
        return {"input_rate_hz": RATE_HZ, **super()._options()}


def about_bot(protocol: str, more: str = "", *, settings: tuple[str, ...] = ()) -> About:
    """The words about a kind of telephone bot: the name of its carrier's protocol, a comment of its own, and its settings."""
    comment = f"# A telephone bot that serves {protocol}; the harness takes the carrier's place. Run it with --mode replay."
    return About(
        comment=(comment, more) if more else (comment,),
        url="ws://localhost:{port}/ws",
        command="python bot.py --port {port}",
        ready=UVICORN,
        settings=settings,
        route="" if more else ROUTE,
    )


def call(url: str, wire: CarrierWire, options: Mapping[str, Any], about: About) -> Connection:
    """A call to a telephone bot; options: every wire's."""
    return over_websocket(url, wire, options, route=about.route, transport=wire.kind)
