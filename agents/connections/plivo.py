"""Plivo audio streaming with the harness in Plivo's place, to call unmodified telephone bots.

Plivo has words of its own: the first message is `start`, the bot speaks by `playAudio`, which says the encoding and rate of
its sound each time, marks by `checkpoint` and interrupts by `clearAudio`. A checkpoint comes back (`playedStream`) only if the
sound before it was played, so `clearAudio` drops those that wait. The keys that a bot presses (`sendDTMF`) become a mark.
A call ends with its socket: there is no last message. L16 is taken as little-endian, as bots pass it on to recognisers;
Plivo's description does not say.

Source: Plivo's description of its stream events.
"""

import base64
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import model_validator

from harness.agents.connection import Capabilities, Connection
from harness.agents.connections.carrier import RATE_HZ, CarrierWire, Encoding, TelephoneBot, about_bot, call, inner
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import NOTHING, Garbage, Outgoing, Received, arrived, from_base64, shown

_NAMES: Final[Mapping[Encoding, str]] = MappingProxyType({"ulaw": "audio/x-mulaw", "l16": "audio/x-l16"})
_PLAYED: Final[Mapping[tuple[str, str], tuple[Encoding, int]]] = MappingProxyType(
    {
        ("audio/x-mulaw", "8000"): ("ulaw", 8_000),
        ("audio/x-l16", "8000"): ("l16", 8_000),
        ("audio/x-l16", "16000"): ("l16", 16_000),
    }
)


class PlivoWire(CarrierWire):
    """One call over Plivo audio streaming. `parameters` are the `extraHeaders` of the `<Stream>` element."""

    kind = "plivo"
    stream_key = "streamId"
    returns_marks_on_clear: ClassVar[bool] = False

    def __init__(
        self, parameters: Mapping[str, str] | None = None, encoding: Encoding = "ulaw", input_rate_hz: int = RATE_HZ
    ) -> None:
        super().__init__(parameters, heard=encoding, rate_hz=input_rate_hz)
        self.capabilities = Capabilities(accepts_history=False, input_rate_hz=input_rate_hz, output_rate_hz=None)
        self._heard_rate_hz = input_rate_hz
        self._stream = str(uuid.uuid4())
        self._headers = ";".join(f"{name}={value}" for name, value in self._parameters.items())
        self._began_ms = time.time_ns() // 1_000_000

    def begin(self) -> Sequence[Outgoing]:
        start = {
            "callId": str(uuid.uuid4()),
            "streamId": self._stream,
            "accountId": "harness",
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": _NAMES[self._heard], "sampleRate": self._heard_rate_hz},
        }
        return (self.message("start", start=start, extra_headers=self._headers),)

    def media(self, coded: bytes, chunk: int, at_ms: int) -> Outgoing:
        payload = base64.b64encode(coded).decode()
        media = {"track": "inbound", "timestamp": str(self._began_ms + at_ms), "chunk": chunk, "payload": payload}
        return self.message("media", media=media, extra_headers=self._headers)

    def event(self, event: str, data: Mapping[str, Any], arrival_ns: int) -> Received:
        if event in ("playAudio", "checkpoint", "clearAudio"):
            self.check_stream(event, data)
        match event:
            case "playAudio":
                return self._play(inner(data, "media"), arrival_ns)
            case "checkpoint":
                return self.mark(data.get("name"), arrival_ns, "checkpoint")
            case "clearAudio":
                return self.clear(arrival_ns, self.message("clearedAudio"))
            case "sendDTMF":
                return Received(events=(arrived("plivo.sendDTMF", arrival_ns, keys=shown(str(data.get("dtmf")))),))
        return NOTHING

    def mark_back(self, name: Any) -> Outgoing:
        return self.message("playedStream", name=name)

    def message(self, event: str, **content: Any) -> str:
        self._sequence += 1
        return json.dumps({"event": event, "sequenceNumber": self._sequence, "streamId": self._stream, **content})

    def _play(self, media: Mapping[str, Any], arrival_ns: int) -> Received:
        form = (str(media.get("contentType")), str(media.get("sampleRate")))
        if form not in _PLAYED:
            known = ", ".join(f"{name} at {rate}" for name, rate in _PLAYED)
            raise Garbage(f"playAudio of {shown(' at '.join(form))}; Plivo plays {known}")
        self._said, self._rate_hz = _PLAYED[form]
        return self.sound(from_base64(media.get("payload")), arrival_ns)


class PlivoProfile(TelephoneBot):
    """A telephone bot that serves Plivo audio streaming. `parameters`: the `extraHeaders` of its `<Stream>`."""

    kind: Literal["plivo"]
    encoding: Literal["ulaw", "l16"] = "ulaw"
    """The encoding in which it hears the caller, by the `contentType` of its `<Stream>`: audio/x-mulaw or audio/x-l16."""
    input_rate_hz: Literal[8_000, 16_000] = 8_000
    """16,000 only with l16."""

    @model_validator(mode="after")
    def _can_be_encoded(self) -> Self:
        if self.encoding == "ulaw" and self.input_rate_hz != RATE_HZ:
            raise ValueError('input_rate_hz = 16000 needs encoding = "l16"')
        return self


PROFILE: Final = PlivoProfile
ABOUT: Final = about_bot(
    "Plivo audio streaming",
    settings=('encoding = "ulaw"          # how it hears the caller: ulaw, or l16 with input_rate_hz = 8000 or 16000',),
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for Plivo; options: `parameters`, `encoding`, `input_rate_hz`, and every wire's."""
    return call(url, PlivoWire(**settings_of(options, "parameters", "encoding", "input_rate_hz")), options, ABOUT)
