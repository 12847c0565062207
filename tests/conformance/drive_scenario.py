"""LangWatch's scenario, calling one agent: `python drive_scenario.py URL OUT.json SETTINGS WAV …`.

The script is one of its own kind: each sound file as a user's turn, each followed by the agent's. What it measured is the
timeline and the latency of its result. No judge is asked and nothing is transcribed.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import scenario
from scenario.voice import (
    AudioChunk,
    STTProvider,
    WebSocketAgentAdapter,
    WebSocketProtocol,
    create_audio_message,
    set_stt_provider,
)
from scenario.voice.script_steps import _load_audio_to_chunk

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]


class RawPcm(WebSocketProtocol):
    """Binary messages of PCM at the rate that scenario has inside, 24 kHz."""

    def encode_audio(self, audio: bytes) -> bytes:
        return audio

    def decode_response(self, message: Any) -> AudioChunk | None:
        return AudioChunk(data=message) if isinstance(message, bytes) else None


class RawPcmAgent(WebSocketAgentAdapter):
    """The generic adapter, which says its rate when it has connected and sends at the pace of speech."""

    frame_ms = 20

    async def connect(self) -> None:
        await super().connect()
        await self._ws.send(json.dumps({"type": "start", "sample_rate": 24_000}))

    async def send_audio(self, chunk: AudioChunk) -> None:
        size, loop = 48 * self.frame_ms, asyncio.get_running_loop()
        began = loop.time()
        for k, at in enumerate(range(0, len(chunk.data), size), start=1):
            await asyncio.sleep(max(0.0, began + k * self.frame_ms / 1_000 - loop.time()))
            await super().send_audio(AudioChunk(data=chunk.data[at : at + size]))


class Caller(scenario.AgentAdapter):
    """A user of our own: the sound files in order."""

    role = scenario.AgentRole.USER
    left = iter(SOUNDS)

    async def call(self, input: scenario.AgentInput) -> Any:
        del input  # what it says is settled
        return create_audio_message(_load_audio_to_chunk(next(self.left)), role="user")


class Ear(STTProvider):
    """The same words for every sound."""

    async def transcribe(self, audio: AudioChunk) -> str:
        return "an answer" if audio.data else ""


async def main() -> dict[str, Any]:
    agent = RawPcmAgent(URL, RawPcm())
    for name, value in json.loads(SETTINGS).items():
        setattr(agent, name, value)
    set_stt_provider(Ear())
    script = [*[scenario.user(), scenario.agent()] * len(SOUNDS), scenario.succeed()]
    result = await scenario.run(name="known", description="A caller talks.", agents=[agent, Caller()], script=script)
    timeline = [{name: value for name, value in asdict(event).items() if value is not None} for event in result.timeline or []]
    return {"latency": asdict(result.latency) if result.latency else None, "timeline": timeline}


if __name__ == "__main__":
    Path(OUT).write_text(json.dumps(asyncio.run(main()), indent=1), encoding="utf-8")
