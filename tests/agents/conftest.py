"""Real agents in real processes, and a caller's sound for them."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pipecat
import pytest
from websockets.asyncio.server import ServerConnection, serve

from harness.agents.connection import Connection, Event
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, load_profile, parse_profile

PEERS = Path(__file__).parent.parent / "peers"
FRAME = 640
"""20 ms at 16 kHz in bytes."""

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]
MakeProfile = Callable[[str, str], AgentProfile]


async def logged(agent: AgentProcess, words: str) -> str:
    """The agent's log once it holds `words` (a pattern): what an agent prints passes through its supervisor first."""
    async with asyncio.timeout(20):
        while not re.search(words, text := agent.log_path.read_text()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return text


@pytest.fixture(scope="session")
def peers() -> Path:
    return PEERS


@pytest.fixture(scope="session")
def peer() -> MakeProfile:
    """Makes the profile of `tests/peers/agent.py` in one of its behaviours."""

    def make(wire: str, behaviour: str) -> AgentProfile:
        text = (
            f'name = "{behaviour}"\nkind = "{wire}"\naccepts_history = true\nopen_timeout_s = 5\n[process]\n'
            f'command = ["{{python}}", "agent.py", "--wire", "{wire}", "--behaviour", "{behaviour}"]\n'
            "ready_timeout_s = 30\nstop_timeout_s = 1\n"
        )
        return parse_profile(text, PEERS / "made-up.toml")

    return make


@pytest.fixture(scope="session")
def profile_of() -> Callable[[str], AgentProfile]:
    """Makes a profile from TOML text, as if its file lay in `tests/peers`."""
    return lambda text: parse_profile(text, PEERS / "made-up.toml")


@dataclass(frozen=True)
class Hosted:
    """An agent of `tests/peers/agent.py` that this process serves itself."""

    url: str


@pytest.fixture
async def host(peers: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[AgentProfile], Awaitable[Hosted]]]:
    """Serves a profile that `peer` made in this process: a process of its own would mostly import."""
    monkeypatch.syspath_prepend(peers)
    agent, wires = import_module("agent"), import_module("wires")
    sessions = list[asyncio.Task[None]]()
    async with AsyncExitStack() as hosted:

        async def host_one(profile: AgentProfile) -> Hosted:
            async def session(socket: ServerConnection) -> None:
                # Some behaviours sleep for an hour, which a server waits for when it closes.
                sessions.append(asyncio.create_task(agent.BEHAVIOURS[profile.name](wires.WIRES[profile.kind](socket))))
                await asyncio.wait(sessions[-1:])

            gate = agent.refuse if profile.name == "turns-away" else None
            server = serve(session, "127.0.0.1", 0, process_request=gate, compression=None, close_timeout=0.1)
            listening = await hosted.enter_async_context(server)
            return Hosted(f"ws://127.0.0.1:{next(iter(listening.sockets)).getsockname()[1]}/")

        yield host_one
        for task in sessions:
            task.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartPeer]:
    """Starts agents by profile or by the name of a profile in `tests/peers`, and stops them after the test."""
    started: list[AgentProcess] = []

    async def start_one(profile: AgentProfile | str) -> AgentProcess:
        if isinstance(profile, str):
            profile = load_profile(PEERS / f"{profile}.toml")
        agent = AgentProcess(profile, {}, tmp_path / f"{profile.name}-{len(started)}.log")
        started.append(agent)
        await agent.start()
        return agent

    yield start_one
    await asyncio.gather(*(agent.stop() for agent in started))


@pytest.fixture(scope="session")
def word() -> Path:
    """A spoken word that comes with pipecat (16 kHz). Said over and over without a gap it convinces any VAD."""
    return Path(pipecat.__file__).parent / "services" / "aws" / "nova_sonic" / "ready.wav"


@pytest.fixture(scope="session")
def spoken() -> bytes:
    """A caller who is easily heard for 0.4 s, then quiet for 2 s: PCM16LE at 16 kHz."""
    tone_s, silence_s = 0.4, 2.0
    tone = 6_000 * np.sin(2 * np.pi * 300 * np.arange(round(16_000 * tone_s)) / 16_000)
    return np.concatenate([tone, np.zeros(round(16_000 * silence_s))]).astype("<i2").tobytes()


@pytest.fixture(scope="session")
def call() -> Call:
    """Speaks to an open connection in real time; gives all that came, until its end or until `until` holds."""
    return _call


async def _call(
    connection: Connection,
    pcm: bytes,
    until: Callable[[Sequence[Event]], bool] | None = None,
    frame_bytes: int = FRAME,
) -> list[Event]:
    events: list[Event] = []
    enough = asyncio.Event()

    async def listen() -> None:
        async for event in connection.events():
            events.append(event)
            if until is not None and until(events):
                enough.set()
        enough.set()

    async def speak() -> None:
        for at in range(0, len(pcm), frame_bytes):
            connection.send(pcm[at : at + frame_bytes].ljust(frame_bytes, b"\0"))
            await asyncio.sleep(0.02)

    listening, speaking = asyncio.create_task(listen()), asyncio.create_task(speak())
    async with asyncio.timeout(30):
        await asyncio.wait({asyncio.create_task(enough.wait()), speaking}, return_when=asyncio.FIRST_COMPLETED)
        speaking.cancel()
        await connection.close()
        await listening
    return events
