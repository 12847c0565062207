"""The agent's side of the wires, written from the formats' descriptions and not from our connections.

A peer that shared code with the connection it tests would share its mistakes.
"""

import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pipecat.frames.protobufs.frames_pb2 as protobuf
from websockets.asyncio.server import ServerConnection

RATE_HZ = 16_000


class RawPcmPeer:
    """Binary PCM16LE; JSON text for the rest."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.history: list[dict[str, str]] | None = None

    async def greet(self, acknowledge: bool = True) -> None:
        start = json.loads(await self.socket.recv())
        assert start["type"] == "start"
        assert start["sample_rate"] == RATE_HZ
        self.history = start.get("history")
        await self.socket.send(json.dumps({"type": "start", "sample_rate": RATE_HZ}))
        if self.history is not None and acknowledge:
            await self.socket.send(json.dumps({"type": "ready"}))

    async def hear(self) -> AsyncIterator[bytes]:
        async for message in self.socket:
            if isinstance(message, bytes):
                yield message

    async def speak(self, pcm: bytes) -> None:
        await self.socket.send(pcm)

    async def mark(self, name: str, **detail: Any) -> None:
        fact = {"type": "mark", "name": name, "at_ns": time.monotonic_ns(), "detail": detail}
        await self.socket.send(json.dumps(fact))

    async def transcript(self, role: str, text: str) -> None:
        await self.socket.send(json.dumps({"type": "transcript", "role": role, "text": text, "final": True}))

    async def clear(self) -> None:
        await self.socket.send(json.dumps({"type": "clear"}))

    async def garbage(self) -> None:
        await self.socket.send(b"odd")


class PipecatPeer:
    """Protobuf frames; RTVI messages inside for the rest."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.history: list[dict[str, str]] | None = None

    async def greet(self, acknowledge: bool = True) -> None:
        ready = await self._message()
        assert ready["type"] == "client-ready"
        await self._tell("bot-ready", {"version": "2.0.0"}, ready["id"])
        if self.history is None and acknowledge:
            asked = await self._message()
            assert asked["type"] == "client-message"
            assert asked["data"]["t"] == "history"
            self.history = asked["data"]["d"]["messages"]
            await self._tell("server-response", {"t": "history", "d": {"taken": True}}, asked["id"])

    async def hear(self) -> AsyncIterator[bytes]:
        async for message in self.socket:
            frame = protobuf.Frame.FromString(message)
            if frame.WhichOneof("frame") == "audio":
                assert frame.audio.sample_rate == RATE_HZ
                assert frame.audio.num_channels == 1
                yield frame.audio.audio

    async def speak(self, pcm: bytes) -> None:
        frame = protobuf.Frame()
        frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels = pcm, RATE_HZ, 1
        await self.socket.send(frame.SerializeToString())

    async def mark(self, name: str, **detail: Any) -> None:
        fact = {"type": "mark", "name": name, "at_ns": time.monotonic_ns(), "detail": detail}
        await self._tell("server-message", fact)

    async def transcript(self, role: str, text: str) -> None:
        kind = "user-transcription" if role == "user" else "bot-tts-text"
        await self._tell(kind, {"text": text, "final": True})

    async def clear(self) -> None:
        frame = protobuf.Frame()
        frame.interruption.name = "InterruptionFrame#0"
        await self.socket.send(frame.SerializeToString())

    async def garbage(self) -> None:
        await self.socket.send(b"\xff\xff\xff")

    async def _message(self) -> dict[str, Any]:
        frame = protobuf.Frame.FromString(await self.socket.recv())
        message: dict[str, Any] = json.loads(frame.message.data)
        assert message["label"] == "rtvi-ai"
        return message

    async def _tell(self, kind: str, data: dict[str, Any], message_id: str = "0") -> None:
        frame = protobuf.Frame()
        frame.message.data = json.dumps({"label": "rtvi-ai", "type": kind, "id": message_id, "data": data})
        await self.socket.send(frame.SerializeToString())


WIRES: dict[str, Callable[[ServerConnection], RawPcmPeer | PipecatPeer]] = {"raw-pcm": RawPcmPeer, "pipecat": PipecatPeer}
