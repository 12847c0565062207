"""Vonage's audio WebSocket with the harness in Vonage's place, to call unmodified telephone bots.

Voice API and Audio Connector alike: one text message opens the call, sound is binary PCM16LE both ways, 20 ms a message. The
bot's commands are text: `clear` is answered by `websocket:cleared`, and `notify` comes back with its payload when the sound
before it has been played; a `clear` drops those that wait. A call ends with its socket: there is no last message.

Source: Vonage's guides to WebSockets in the Voice API and to the Audio Connector.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from harness.agents.connection import Connection
from harness.agents.connections.carrier import CarrierWire, TelephoneBot, about_bot, call
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import NOTHING, NotOfThisWire, Outgoing, Received, parse_object, shown

WIDE_HZ: Final = 16_000


class VonageWire(CarrierWire):
    """One call over Vonage's WebSocket. `parameters` are the `headers` of the endpoint, which the first message has."""

    kind = "vonage"
    returns_marks_on_clear: ClassVar[bool] = False

    def __init__(self, parameters: Mapping[str, str] | None = None, input_rate_hz: int = WIDE_HZ) -> None:
        super().__init__(parameters, heard="l16", said="l16", rate_hz=input_rate_hz)

    def begin(self) -> Sequence[Outgoing]:
        form = f"audio/l16;rate={self._rate_hz}"
        return (json.dumps({**self._parameters, "event": "websocket:connected", "content-type": form}),)

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            return self.sound(message, arrival_ns)
        data = parse_object(message)
        match data.get("action"):
            case "clear":
                return self.clear(arrival_ns, json.dumps({"event": "websocket:cleared"}))
            case "notify":
                return self.wait_for_playout(data.get("payload"), arrival_ns, "notify")
            case str():
                return NOTHING
        raise NotOfThisWire(f"text without an action: {shown(message)}")

    def media(self, coded: bytes, chunk: int, at_ms: int) -> Outgoing:
        del chunk, at_ms
        return coded

    def mark_back(self, name: Any) -> Outgoing:
        return json.dumps({"event": "websocket:notify", "payload": name})


class VonageProfile(TelephoneBot):
    """A telephone bot that serves Vonage's audio WebSocket. `parameters`: the `headers` of the endpoint."""

    kind: Literal["vonage"]
    input_rate_hz: Literal[8_000, 16_000, 24_000] = 16_000
    """The rate both ways, by the `content-type` of the endpoint."""


PROFILE: Final = VonageProfile
ABOUT: Final = about_bot(
    "Vonage's audio WebSocket",
    "# pipecat's runner does not know this carrier: such a bot has a route of its own with VonageFrameSerializer.",
    settings=("input_rate_hz = 16000      # both ways: 8000, 16000 or 24000, as rate= in the content-type of the endpoint",),
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for Vonage; options: `parameters`, `input_rate_hz`, and every wire's."""
    return call(url, VonageWire(**settings_of(options, "parameters", "input_rate_hz")), options, ABOUT)
