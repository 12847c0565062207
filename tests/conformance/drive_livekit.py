"""A LiveKit agent in front of a known one: `python drive_livekit.py URL OUT.json SETTINGS WAV …`.

The session is LiveKit's own, with OpenAI's Realtime model at our address, so that the answers are those of the known agent; a
sound file is played into its input at the pace of speech, and its output is taken as a room takes it. What it measured is
the `lk.e2e_latency` of its own spans, by turn. Setting `vad`: silero finds the caller's end.
"""

import asyncio
import json
import sys
import time
import wave
from pathlib import Path
from typing import Any

from livekit import rtc
from livekit.agents import Agent, AgentSession
from livekit.agents.telemetry import set_tracer_provider
from livekit.agents.voice import io
from livekit.plugins import openai, silero
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
RATE_HZ, FRAME = 24_000, 480
QUIET_S, REST_S, LONGEST_S = 2.0, 1.0, 15.0


class Line(io.AudioInput):
    """A microphone: frames of 20 ms at their time, silence between turns."""

    def __init__(self) -> None:
        super().__init__(label="line")
        self.left = b""
        self.at = time.monotonic()

    async def __anext__(self) -> rtc.AudioFrame:
        self.at += FRAME / RATE_HZ
        await asyncio.sleep(max(0.0, self.at - time.monotonic()))
        said, self.left = self.left[: 2 * FRAME].ljust(2 * FRAME, b"\0"), self.left[2 * FRAME :]
        return rtc.AudioFrame(said, RATE_HZ, 1, FRAME)


class Room(io.AudioOutput):
    """An output that plays what it gets from its first frame on, as long as it lasts."""

    def __init__(self) -> None:
        super().__init__(label="room", capabilities=io.AudioOutputCapabilities(pause=False), sample_rate=RATE_HZ)
        self.began: float | None = None
        self.finishing: asyncio.Task[None] | None = None
        self.played_s = 0.0
        self.heard_at = time.monotonic()

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        if self.began is None:
            self.began = time.time()
            self.on_playback_started(created_at=self.began)
        self.played_s += frame.duration
        self.heard_at = time.monotonic() + max(0.0, self.began + self.played_s - time.time())

    def flush(self) -> None:
        super().flush()
        if self.began is not None:
            self.finishing = asyncio.create_task(self._finish(self.began + self.played_s - time.time(), self.played_s))
        self.began, self.played_s = None, 0.0

    async def _finish(self, left_s: float, played_s: float) -> None:
        await asyncio.sleep(max(0.0, left_s))
        self.on_playback_finished(playback_position=played_s, interrupted=False)

    def clear_buffer(self) -> None:
        if self.began is not None:
            self.on_playback_finished(playback_position=time.time() - self.began, interrupted=True)
        self.began, self.played_s = None, 0.0


def sound(path: str) -> bytes:
    with wave.open(path) as file:
        assert file.getframerate() == RATE_HZ
        return file.readframes(file.getnframes())


async def main() -> dict[str, Any]:
    settings = json.loads(SETTINGS)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    set_tracer_provider(provider)
    named: dict[str, Any] = {"vad": silero.VAD.load()} if settings.get("vad") else {}
    session: AgentSession[None] = AgentSession(llm=openai.realtime.RealtimeModel(base_url=URL, api_key="none"), **named)
    line, room = Line(), Room()
    session.input.audio, session.output.audio = line, room
    await session.start(Agent(instructions="Answer."))
    turns = []
    for number, path in enumerate(SOUNDS, start=1):
        await asyncio.sleep(REST_S)
        line.left = sound(path)
        began = room.heard_at = time.monotonic()
        said_s = len(line.left) / 2 / RATE_HZ
        while time.monotonic() < began + said_s + LONGEST_S:
            await asyncio.sleep(0.1)
            if room.heard_at > began + said_s and time.monotonic() > room.heard_at + QUIET_S:
                break
        attributes = [dict(span.attributes or {}) for span in exporter.get_finished_spans()]
        exporter.clear()
        measured = [{"attributes": each} for each in attributes if "lk.e2e_latency" in each]
        turns.append({"turn": number, "spans": measured})
    await session.aclose()
    return {"turns": turns}


if __name__ == "__main__":
    Path(OUT).write_text(json.dumps(asyncio.run(main()), indent=1, default=str), encoding="utf-8")
