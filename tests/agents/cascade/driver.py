"""A caller small enough to read: streams PCM at exactly 1x to a cascade and notes everything that comes back.

Not the harness's caller, which is tested with it: this one lets the cascade's tests and tuning run without any of it.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import websockets
from numpy.typing import NDArray
from pipecat.frames.protobufs import frames_pb2

RATE_HZ = 16_000
FRAME_SAMPLES = 320


@dataclass(slots=True)
class Call:
    """What happened in one session. Times are monotonic nanoseconds; audio is the agent's PCM with arrivals."""

    speech_end_ns: int = 0
    audio: list[tuple[int, NDArray[np.int16], int]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    messages: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def first_sound_ms(self) -> float | None:
        """Speech end to the first agent sample above -40 dBFS, by arrival and offset in the message."""
        play_ns = 0
        for arrival_ns, pcm, rate_hz in self.audio:
            play_ns = max(play_ns, arrival_ns)
            loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > 327)
            if loud.size:
                return (play_ns + int(loud[0]) * 1_000_000_000 // rate_hz - self.speech_end_ns) / 1e6
            play_ns += len(pcm) * 1_000_000_000 // rate_hz
        return None

    @property
    def said(self) -> str:
        return " ".join(m["data"]["text"] for _, m in self.messages if m["type"] == "bot-tts-text")

    @property
    def understood(self) -> str:
        final = [m["data"]["text"].strip() for _, m in self.messages if m["type"] == "user-transcription"]
        return " ".join(final)

    def mark_ms(self, name: str) -> list[float]:
        """When each mark of this name happened, in ms after the speech end."""
        return [(m["at_ns"] - self.speech_end_ns) / 1e6 for m in self.marks if m["name"] == name]


async def call(
    url: str,
    speech: NDArray[np.int16],
    history: Sequence[Mapping[str, str]] = (),
    quiet_s: float = 2.0,
    limit_s: float = 20.0,
) -> Call:
    """Give the history, say `speech` (16 kHz), and listen until `quiet_s` after the last agent audio.

    The lead-in is half a second of silence. `speech` should end on its last loud sample.
    """
    heard = Call()
    async with websockets.connect(url, compression=None, max_size=None, ping_interval=None) as socket:
        acknowledged = asyncio.Event()
        listening = asyncio.create_task(_listen(socket, heard, acknowledged))
        await socket.send(_message({"type": "client-ready", "id": "0", "data": {"version": "2.0.0"}}))
        await socket.send(
            _message({"type": "client-message", "id": "1", "data": {"t": "history", "d": {"messages": list(history)}}})
        )
        await asyncio.wait_for(acknowledged.wait(), 60)
        track = np.concatenate([np.zeros(RATE_HZ // 2, np.int16), speech])
        start_ns = time.monotonic_ns()
        heard.speech_end_ns = start_ns + len(track) * 1_000_000_000 // RATE_HZ
        frame = 0
        while True:
            due_ns = start_ns + (frame + 1) * 20_000_000
            await asyncio.sleep(max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
            piece = track[frame * FRAME_SAMPLES : (frame + 1) * FRAME_SAMPLES]
            piece = np.pad(piece, (0, FRAME_SAMPLES - len(piece)))
            await socket.send(_audio(piece))
            frame += 1
            now_ns = time.monotonic_ns()
            last_ns = max([heard.speech_end_ns, *(at for at, _, _ in heard.audio[-1:])])
            waited_s = (now_ns - last_ns) / 1e9
            if waited_s > (quiet_s if heard.audio and last_ns > heard.speech_end_ns else limit_s):
                break
        listening.cancel()
    return heard


async def _listen(socket: Any, heard: Call, acknowledged: asyncio.Event) -> None:
    async for data in socket:
        arrival_ns = time.monotonic_ns()
        frame = frames_pb2.Frame.FromString(data)
        kind = frame.WhichOneof("frame")
        if kind == "audio":
            pcm = np.frombuffer(frame.audio.audio, np.int16)
            heard.audio.append((arrival_ns, pcm, frame.audio.sample_rate))
        elif kind == "message":
            message = json.loads(frame.message.data)
            heard.messages.append((arrival_ns, message))
            if message["type"] == "server-message" and message["data"].get("type") == "mark":
                heard.marks.append(message["data"])
            if message["type"] == "server-response":
                acknowledged.set()


def _message(content: dict[str, Any]) -> bytes:
    frame = frames_pb2.Frame()
    frame.message.data = json.dumps({"label": "rtvi-ai", **content})
    return bytes(frame.SerializeToString())


def _audio(samples: NDArray[np.int16]) -> bytes:
    frame = frames_pb2.Frame()
    frame.audio.audio = samples.tobytes()
    frame.audio.sample_rate = RATE_HZ
    frame.audio.num_channels = 1
    return bytes(frame.SerializeToString())
