"""Known agents on the WebSocket wires of plain sound: raw PCM and pipecat's frames with RTVI messages."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import numpy as np
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as listen
from websockets.exceptions import ConnectionClosed

from harness.agents.connections.pipecat_frames import frame_class
from harness.audio.pcm import Int16
from harness.clock import now_ns
from harness.known.behaviours import Mistake
from harness.known.conduct import Conduct
from harness.known.conduct import Message as Sound
from harness.known.server import CALL_HEADER, Calls, Ready

SAYS_HZ: Final = 24_000
PIPECAT_HZ: Final = 16_000
Message = str | bytes
Session = Callable[[ServerConnection, Calls], Awaitable[None]]


async def serve(wire: str, calls: Calls, host: str, port: int, ready: Ready) -> None:
    """Serve raw PCM or pipecat's frames."""
    await serve_sockets(_SESSIONS[wire], calls, host, port, ready)


async def serve_sockets(session: Session, calls: Calls, host: str, port: int, ready: Ready, path: str = "/") -> None:
    """Serve a wire on WebSockets until cancelled; `path` belongs to the address that callers are given."""

    async def call(socket: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            await session(socket, calls)

    async with listen(call, host, port, compression=None, close_timeout=0.5) as server:
        ready(f"ws://{host}:{next(iter(server.sockets)).getsockname()[1]}{path}")
        await server.serve_forever()


def begin(socket: ServerConnection, calls: Calls, hears_hz: int, says_hz: int, *, streams: bool = False) -> Conduct:
    """The conduct of the call on a socket."""
    assert socket.request is not None
    call = socket.request.headers.get(CALL_HEADER)
    return calls.begin(socket.request.path, hears_hz=hears_hz, says_hz=says_hz, streams=streams, call=call)


async def converse(
    socket: ServerConnection,
    calls: Calls,
    conduct: Conduct,
    says: Callable[[Sound], Iterable[Message]],
    hears: Callable[[Message], Int16 | Message | None],
) -> None:
    """Play a call that is up. `says` writes the agent's sound; `hears` reads the caller's, or gives the answer to a message."""

    async def speak() -> None:
        async for message in conduct.messages():
            written = tuple(says(message))
            conduct.sent(message, now_ns())
            for each in written:
                await socket.send(each)
        await socket.close()

    speaking = asyncio.create_task(speak())
    try:
        async for received in socket:
            found = hears(received)
            if isinstance(found, np.ndarray):
                conduct.hear(found, now_ns())
            elif found is not None:
                await socket.send(found)
    finally:
        calls.end(conduct)
        speaking.cancel()
        await asyncio.gather(speaking, return_exceptions=True)


def pcm(samples: Int16, mistake: Mistake | None = None) -> bytes:
    """PCM16LE of the samples, with the mistake of an agent that makes one."""
    if mistake == "rate":
        samples = samples[::2]
    elif mistake == "stereo":
        samples = np.repeat(samples, 2)
    return samples.astype(">i2" if mistake == "byte-order" else "<i2").tobytes()


def samples_of(data: bytes) -> Int16:
    """The samples of PCM16LE; a byte over is dropped."""
    return np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.int16)


async def converse_binary(socket: ServerConnection, calls: Calls, hears_hz: int, says_hz: int) -> None:
    """Play a call whose sound is binary PCM16LE mono both ways."""
    conduct = begin(socket, calls, hears_hz, says_hz)
    mistake = conduct.behaviour.mistake
    await converse(
        socket, calls, conduct, lambda sound: (pcm(sound.samples, mistake),),
        lambda m: samples_of(m) if isinstance(m, bytes) else None,
    )  # fmt: skip


async def _raw_pcm(socket: ServerConnection, calls: Calls) -> None:
    """JSON for the start of either side, then binary PCM16LE mono."""
    start = json.loads(await socket.recv())
    await socket.send(json.dumps({"type": "start", "sample_rate": SAYS_HZ}))
    if start.get("history") is not None:
        await socket.send(json.dumps({"type": "ready"}))
    await converse_binary(socket, calls, int(start["sample_rate"]), SAYS_HZ)


def rtvi_reply(text: str) -> str | None:
    """The agent's reply to an RTVI message: that it is ready, or that it takes the history; None to any other."""
    said = json.loads(text)
    if said["type"] == "client-ready":
        kind, data = "bot-ready", dict[str, Any](version="2.0.0")
    elif said["type"] == "client-message" and said["data"]["t"] == "history":
        kind, data = "server-response", dict[str, Any](t="history", d={"taken": True})
    else:
        return None
    return json.dumps({"label": "rtvi-ai", "type": kind, "id": said["id"], "data": data})


async def _pipecat(socket: ServerConnection, calls: Calls) -> None:
    """Protobuf frames, with RTVI messages in them for the rest: the history, which is answered, and the bot's readiness."""
    frame_of = frame_class()

    def says(sound: Sound) -> tuple[bytes]:
        frame = frame_of()
        frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels = pcm(sound.samples, mistake), PIPECAT_HZ, 1
        return (bytes(frame.SerializeToString()),)

    def hears(message: Message) -> Int16 | bytes | None:
        frame = frame_of.FromString(message)
        if frame.WhichOneof("frame") != "message":
            return samples_of(frame.audio.audio) if frame.WhichOneof("frame") == "audio" else None
        if (reply := rtvi_reply(frame.message.data)) is None:
            return None
        answer = frame_of()
        answer.message.data = reply
        return bytes(answer.SerializeToString())

    conduct = begin(socket, calls, PIPECAT_HZ, PIPECAT_HZ)
    mistake = conduct.behaviour.mistake
    await converse(socket, calls, conduct, says, hears)


_SESSIONS: Final[dict[str, Session]] = {"raw-pcm": _raw_pcm, "pipecat": _pipecat}
