"""The caller's process in virtual time, with the agents it calls inside its own loop.

A scripted agent lives there anyhow. An agent of `tests/peers/agent.py` is a process of its own that the run starts, watches and
ends as always; its address names what it does, and here the same code takes the call in its stead, over a socket of this
process. A call to anybody else takes real time.
"""

import socket
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from websockets.asyncio.server import Server, ServerConnection, unix_serve

from tests.virtual_time.clock import VirtualClock, VirtualLoop

HOSTED: Final = (
    "answers", "answers-late", "echo", "never-answers", "closes-early", "garbage", "does-not-acknowledge", "never-greets",
    "says-goodbye", "goes-on-and-on",
)  # fmt: skip
"""Behaviours of `tests/peers/agent.py` that are all in what they say and when: they neither die nor work."""


def install() -> None:
    """Put this process into virtual time."""
    line: Any = import_module("harness.agents.connections.websocket")
    server: Any = import_module("harness.caller.server")
    play_session = server.play_session

    clock = VirtualClock()
    time.monotonic_ns = clock.ns
    time.monotonic = clock.seconds
    hosts, dial = _Hosts(), line.Dialling

    async def connect(url: str, **options: Any) -> Any:
        known = hosted(url)
        return await dial(url, **options, **({"sock": await hosts.socket(*known)} if known else {}))

    async def play(plan: Any, connection: Any, pacer: Any) -> Any:
        if plan.connection.kind == "scripted" or hosted(plan.connection.url):
            return await play_session(plan, connection, pacer)
        with clock.in_real_time():
            return await play_session(plan, connection, pacer)

    line.Dialling = connect
    server.play_session = play
    server.precise_loop = lambda: VirtualLoop(clock)


def hosted(url: str) -> tuple[str, str] | None:
    """The wire and the behaviour that an address names; None for an agent that lives elsewhere."""
    match urlsplit(url).path.split("/"):
        case ["", "raw-pcm" | "pipecat" as wire, behaviour] if behaviour in HOSTED:
            return wire, behaviour
    return None


class _Hosts:
    """The agents of this process, each begun when it is first called."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="virtual-agents-")
        self._servers: dict[str, Server] = {}

    async def socket(self, wire: str, behaviour: str) -> socket.socket:
        """A socket with the agent at its other end."""
        path = str(Path(self._folder.name) / f"{wire}-{behaviour}")
        if path not in self._servers:
            agent: Any = import_module("agent")

            async def session(line: ServerConnection) -> None:
                await agent.BEHAVIOURS[behaviour](agent.WIRES[wire](line))

            self._servers[path] = await unix_serve(session, path, compression=None)
        near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        near.connect(path)
        near.setblocking(False)
        return near
