"""The specification of a connection: plain data for the caller's process, and the function that makes the connection.

Each wire format is a module, with its connection (`connect`), what a profile may say of it (`PROFILE`) and what people are to
know of it (`ABOUT`), and one line here. It is imported only when it is asked for, because the caller's process must start fast
and hold nothing it does not use. Others add wire formats through the entry-point group `heart_voice_harness.connections`: a
name, and a callable `(url, options) -> Connection`.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, cast

from harness.agents.connection import Connection
from harness.agents.connections.about import About

ENTRY_POINT_GROUP: Final = "heart_voice_harness.connections"

Factory = Callable[[str, Mapping[str, Any]], Connection]

WIRES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pipecat": "harness.agents.connections.pipecat_ws",
        "pipecat-eval": "harness.agents.connections.pipecat_eval",
        "raw-pcm": "harness.agents.connections.raw_pcm",
        "websocket": "harness.agents.connections.described",
        "openai-realtime": "harness.agents.connections.openai_realtime",
        "openai-live": "harness.agents.connections.openai_live",
        "gemini-live": "harness.agents.connections.gemini_live",
        "elevenlabs": "harness.agents.connections.elevenlabs",
        "deepgram-agent": "harness.agents.connections.deepgram_agent",
        "vapi": "harness.agents.connections.vapi",
        "ultravox": "harness.agents.connections.ultravox",
        "twilio": "harness.agents.connections.twilio",
        "plivo": "harness.agents.connections.plivo",
        "telnyx": "harness.agents.connections.telnyx",
        "exotel": "harness.agents.connections.exotel",
        "vonage": "harness.agents.connections.vonage",
        "genesys": "harness.agents.connections.genesys",
        "webrtc": "harness.agents.connections.webrtc",
        "sip": "harness.agents.connections.sip",
        "livekit": "harness.agents.connections.livekit",
    }
)
"""Kind → its module."""


def about(kind: str) -> About | None:
    """What the file of a wire says of it for people; None for a kind that has no file here."""
    return getattr(importlib.import_module(WIRES[kind]), "ABOUT", None) if kind in WIRES else None


class UnknownConnection(ValueError):
    """No connection of that kind is installed."""


@dataclass(frozen=True, slots=True)
class ConnectionSpec:
    """A connection in plain data. `options` are the wire format's own, JSON values only."""

    kind: str
    url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The specification as JSON values, for `from_json`."""
        return {"kind": self.kind, "url": self.url, "options": dict(self.options)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ConnectionSpec":
        """The spec that `to_json` wrote."""
        return cls(kind=str(data["kind"]), url=str(data.get("url", "")), options=dict(data.get("options", {})))


def kinds() -> tuple[str, ...]:
    """The shipped kinds and those of other packages, sorted."""
    return tuple(sorted({*WIRES, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))}))


def make(spec: ConnectionSpec) -> Connection:
    """The connection of a spec, not yet open.

    Raises:
        UnknownConnection: no connection of that kind is installed.
    """
    return _factory(spec.kind)(spec.url, spec.options)


def _factory(kind: str) -> Factory:
    if kind in WIRES:
        return cast(Factory, importlib.import_module(WIRES[kind]).connect)
    if (found := _factory_elsewhere(kind)) is not None:
        return found
    raise UnknownConnection(f'no connection of kind "{kind}" is installed; there are: {", ".join(kinds())}')


@cache
def _factory_elsewhere(kind: str) -> Factory | None:
    """The factory of another package. Searching the installed packages blocks the caller's loop, so it is done once."""
    return next((cast(Factory, point.load()) for point in entry_points(group=ENTRY_POINT_GROUP, name=kind)), None)
