"""The wires on which agents of known behaviour take calls, each written from its format's description.

A server that shared code with the connection that it tests would share its mistakes, so none imports
`harness.agents.connections`; pipecat's frames alone come from there, a format's definition that is held against pipecat's own.
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from harness.known.server import Calls, Ready

Serve = Callable[[str, Calls, str, int, Ready], Awaitable[None]]
"""Serves a wire until it is cancelled: (wire, calls, host, port, ready). Port 0: a free one."""
WIRES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "raw-pcm": "sockets", "pipecat": "sockets", "openai-realtime": "realtime", "text": "text",
        "webrtc": "webrtc", "sip": "sip",
        **dict.fromkeys(("twilio", "telnyx", "exotel", "plivo", "vonage", "genesys"), "carriers"),
    }
)  # fmt: skip
"""Wire → the module that serves it. A module is loaded when its wire is served, because some need an extra."""


def server_of(wire: str) -> Serve:
    """The function that serves a wire. Raises `KeyError` for a wire that is none, `ImportError` where its extra is missing."""
    serve: Serve = import_module(f"harness.known.wires.{WIRES[wire]}").serve
    return serve
