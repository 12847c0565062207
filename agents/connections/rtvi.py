"""RTVI: the messages of pipecat's bots and clients in addition to the audio, over any transport.

Two things go beyond a stock bot, each as RTVI provides for: marks come as a `server-message` `{"type": "mark", "name",
"at_ns", "detail"}`, and RTVI's own events become marks named `rtvi.<type>`. The latter carry no time of their own and are
therefore stamped on arrival, and say so.

Source: the models of `pipecat.processors.frameworks.rtvi` in pipecat 1.14.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from harness.agents.connection import Event, Mark, Transcript
from harness.agents.connections.raw_pcm import mark_of
from harness.agents.connections.wire import Garbage, shown

LABEL: Final = "rtvi-ai"
VERSION: Final = "2.0.0"
"""Any 2.x bot serves a 2.x client; the newest minor version is not needed for what is used here."""
CLIENT_READY: Final = "client-ready"

_TOLD: Final = frozenset(
    {
        "user-started-speaking", "user-stopped-speaking", "vad-user-started-speaking", "vad-user-stopped-speaking",
        "bot-llm-started", "bot-llm-text", "bot-llm-stopped", "bot-tts-started", "bot-tts-stopped",
        "bot-started-speaking", "bot-stopped-speaking", "bot-interrupted", "metrics", "error",
    }
)  # fmt: skip
"""RTVI's own events that become marks. The other messages repeat these, or concern a screen."""


def envelope(kind: str, message_id: str, data: Mapping[str, Any]) -> str:
    """One message of the client, as JSON text."""
    return json.dumps({"label": LABEL, "type": kind, "id": message_id, "data": data})


def client_ready() -> str:
    """The first message of a client; the bot answers `bot-ready`."""
    return envelope(CLIENT_READY, CLIENT_READY, {"version": VERSION, "about": {"library": "heart-voice-harness"}})


def kind_of(message: Mapping[str, Any]) -> str | None:
    """The type of an RTVI message; None for anything else."""
    kind = message.get("type")
    return kind if message.get("label") == LABEL and isinstance(kind, str) else None


def fields_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a message; empty if it has none."""
    data = message.get("data")
    return data if isinstance(data, dict) else {}


def events_of(kind: str, fields: Mapping[str, Any], arrival_ns: int) -> tuple[Event, ...]:
    """The events in a bot's message: transcripts, its own marks, and RTVI's events as marks.

    Raises:
        Garbage: a transcript without text, or a mark without name and time.
    """
    match kind:
        case "server-message" if fields.get("type") == "mark":
            return (mark_of(fields, arrival_ns),)
        case "user-transcription":
            final = bool(fields.get("final", True))
            told = (_told(kind, {}, arrival_ns),) if final else ()
            return (*told, _said("user", fields, final, arrival_ns))
        case "bot-tts-text":
            return (_said("assistant", fields, True, arrival_ns),)
        case _ if kind in _TOLD:
            return (_told(kind, fields, arrival_ns),)
    return ()


def _told(kind: str, fields: Mapping[str, Any], arrival_ns: int) -> Mark:
    return Mark(f"rtvi.{kind}", arrival_ns, arrival_ns, {**fields, "stamped": "arrival"})


def _said(role: Literal["user", "assistant"], fields: Mapping[str, Any], final: bool, arrival_ns: int) -> Transcript:
    text = fields.get("text")
    if not isinstance(text, str):
        raise Garbage(f"a transcript without text: {shown(repr(dict(fields)))}")
    return Transcript(arrival_ns=arrival_ns, role=role, text=text, final=final)
