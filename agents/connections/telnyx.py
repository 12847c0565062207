"""Telnyx media streaming with the harness in Telnyx's place, to call unmodified telephone bots.

Telnyx tells the bot in `start` in which law it sends the caller (`encoding`), and takes the bot's sound in the law that was
agreed when the stream was ordered (`stream_bidirectional_codec`, here `reply_encoding`): two settings, because they differ in
practice. pipecat follows the first and always answers in PCMU. A bot need not name the stream. A `clear` sends waiting marks
back. L16, G.722, Opus and AMR-WB are left out: no bot to check them against was found, nor the byte order of L16.

Source: Telnyx's specification of its media streaming WebSocket, mode `rtp`.
"""

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

from harness.agents.connection import Connection
from harness.agents.connections.carrier import (
    CALLED,
    CALLER,
    RATE_HZ,
    CarrierWire,
    Encoding,
    TelephoneBot,
    about_bot,
    call,
)
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import Outgoing

Law = Literal["PCMU", "PCMA"]
_LAWS: Final[Mapping[str, Encoding]] = MappingProxyType({"PCMU": "ulaw", "PCMA": "alaw"})


class TelnyxWire(CarrierWire):
    """One call over Telnyx media streaming."""

    kind = "telnyx"
    stream_key = "stream_id"
    sequence_key = "sequence_number"

    def __init__(
        self, parameters: Mapping[str, str] | None = None, encoding: Law = "PCMU", reply_encoding: Law = "PCMU"
    ) -> None:
        super().__init__(parameters, heard=_LAWS[encoding], said=_LAWS[reply_encoding])
        self._encoding = encoding
        self._stream = str(uuid.uuid4())
        self._user_id = str(uuid.uuid4())
        self._call_id = "v3:" + secrets.token_urlsafe(40)

    def begin(self) -> Sequence[Outgoing]:
        start = {
            "user_id": self._user_id,
            "call_control_id": self._call_id,
            "call_session_id": str(uuid.uuid4()),
            "from": CALLER,
            "to": CALLED,
            "custom_parameters": self._parameters,
            "media_format": {"encoding": self._encoding, "sample_rate": RATE_HZ, "channels": 1},
        }
        return (json.dumps({"event": "connected", "version": "1.0.0"}), self.message("start", start=start))

    def goodbye(self) -> Sequence[Outgoing]:
        return (self.message("stop", stop={"user_id": self._user_id, "call_control_id": self._call_id}),)


class TelnyxProfile(TelephoneBot):
    """A telephone bot that serves Telnyx media streaming."""

    kind: Literal["telnyx"]
    encoding: Law = "PCMU"
    """The law in which it hears the caller."""
    reply_encoding: Law = "PCMU"
    """The law in which it speaks: `stream_bidirectional_codec` of the stream."""


PROFILE: Final = TelnyxProfile
ABOUT: Final = about_bot(
    "Telnyx media streaming",
    settings=(
        'encoding = "PCMU"          # how it hears the caller: PCMU or PCMA',
        'reply_encoding = "PCMU"    # how it speaks: stream_bidirectional_codec of the stream',
    ),
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for Telnyx; options: `parameters`, `encoding`, `reply_encoding`, and every wire's."""
    return call(url, TelnyxWire(**settings_of(options, "parameters", "encoding", "reply_encoding")), options, ABOUT)
