"""Exotel's voicebot stream with the harness in Exotel's place, to call unmodified telephone bots.

Exotel sends PCM16LE in base64, about 100 ms a message, and so does this wire: the bot hears the end of a turn up to 80 ms
later than over a carrier with messages of 20 ms. Every caller of such a bot waits so long, so it is part of TTFA. A mark is
promised for sound that has been played, so a `clear` drops the marks that wait.

Source: Exotel's description of the WebSocket protocol of its Stream and Voicebot applets.
"""

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from harness.agents.connection import Connection
from harness.agents.connections.carrier import CALLED, CALLER, RATE_HZ, CarrierWire, TelephoneBot, about_bot, call
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import Outgoing


class ExotelWire(CarrierWire):
    """One call over Exotel's voicebot stream."""

    kind = "exotel"
    stream_key = "stream_sid"
    sequence_key = "sequence_number"
    frames_a_message: ClassVar[int] = 5
    returns_marks_on_clear: ClassVar[bool] = False

    def __init__(self, parameters: Mapping[str, str] | None = None, input_rate_hz: int = RATE_HZ) -> None:
        super().__init__(parameters, heard="l16", said="l16", rate_hz=input_rate_hz)
        self._stream = secrets.token_hex(16)
        self._call = {"call_sid": secrets.token_hex(16), "account_sid": "harness"}

    def begin(self) -> Sequence[Outgoing]:
        start = {
            "stream_sid": self._stream,
            **self._call,
            "from": CALLER,
            "to": CALLED,
            "custom_parameters": self._parameters,
            "media_format": {"encoding": "audio/x-raw", "sample_rate": str(self._rate_hz), "bit_rate": "16"},
        }
        return (json.dumps({"event": "connected"}), self.message("start", start=start))

    def media(self, coded: bytes, chunk: int, at_ms: int) -> Outgoing:
        payload = base64.b64encode(coded).decode()
        return self.message("media", media={"chunk": str(chunk), "timestamp": str(at_ms), "payload": payload})

    def goodbye(self) -> Sequence[Outgoing]:
        return (self.message("stop", stop={**self._call, "reason": "callended"}),)


class ExotelProfile(TelephoneBot):
    """A telephone bot that serves Exotel's voicebot stream."""

    kind: Literal["exotel"]
    input_rate_hz: Literal[8_000, 16_000, 24_000] = 8_000
    """The rate both ways: `sample-rate` in the address that Exotel was given."""


PROFILE: Final = ExotelProfile
ABOUT: Final = about_bot(
    "Exotel's voicebot stream",
    settings=("input_rate_hz = 8000       # both ways: 8000, 16000 or 24000, as sample-rate in the address at Exotel",),
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for Exotel; options: `parameters`, `input_rate_hz`, and every wire's."""
    return call(url, ExotelWire(**settings_of(options, "parameters", "input_rate_hz")), options, ABOUT)
