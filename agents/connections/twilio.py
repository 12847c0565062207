"""Twilio Media Streams with the harness in Twilio's place, to call unmodified telephone bots.

The bot gets what a call would give it: `connected`, `start`, then 20 ms of μ-law a message with Twilio's counters as
strings. A `clear` sends waiting marks back. Twilio's bots always name the stream.

Source: Twilio's description of Media Streams WebSocket messages.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from harness.agents.connection import Connection
from harness.agents.connections.carrier import RATE_HZ, CarrierWire, TelephoneBot, about_bot, call
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import Garbage, Outgoing


class TwilioWire(CarrierWire):
    """One call over Media Streams. `parameters` are the `<Parameter>`s that a TwiML `<Stream>` would pass on."""

    kind = "twilio"
    stream_key = "streamSid"
    sequence_key = "sequenceNumber"

    def __init__(self, parameters: Mapping[str, str] | None = None) -> None:
        super().__init__(parameters)
        self._stream = "MZ" + secrets.token_hex(16)
        self._account_sid = "AC" + secrets.token_hex(16)
        self._call_sid = "CA" + secrets.token_hex(16)

    def begin(self) -> Sequence[Outgoing]:
        start = {
            "streamSid": self._stream,
            "accountSid": self._account_sid,
            "callSid": self._call_sid,
            "tracks": ["inbound"],
            "customParameters": self._parameters,
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": RATE_HZ, "channels": 1},
        }
        connected = json.dumps({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        return (connected, self.message("start", start=start))

    def check_stream(self, event: str, data: Mapping[str, Any]) -> None:
        if self.stream_key not in data:
            raise Garbage(f"a {event} without a {self.stream_key}")
        super().check_stream(event, data)

    def goodbye(self) -> Sequence[Outgoing]:
        return (self.message("stop", stop={"accountSid": self._account_sid, "callSid": self._call_sid}),)


class TwilioProfile(TelephoneBot):
    """A telephone bot that serves Twilio's Media Streams. `parameters`: the `<Parameter>`s of its TwiML `<Stream>`."""

    kind: Literal["twilio"]


PROFILE: Final = TwilioProfile
ABOUT: Final = about_bot("Twilio Media Streams")


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for Media Streams; options: `parameters` (strings by name), and every wire's."""
    return call(url, TwilioWire(**settings_of(options, "parameters")), options, ABOUT)
