"""A pipecat bot in front of a known agent: `python drive_pipecat.py URL OUT.json SETTINGS WAV …`.

The pipeline is the one of its Realtime example with our address, so that the answers are those of the known agent; a sound
file is played into its input at the pace of speech, and its output is paced as its own sound card's. What it measured is what
`UserBotLatencyObserver` emitted. Setting `vad`: silero finds the caller's end, and the server's turn detection is off, as its
documentation asks.
"""

import asyncio
import json
import sys
import time
import wave
from pathlib import Path
from typing import Any

from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import InputAudioRawFrame, OutputAudioRawFrame, StartFrame
from pipecat.observers.user_bot_latency_observer import UserBotLatencyObserver
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.services.openai.realtime.events import AudioConfiguration, AudioInput, SessionProperties
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.runner import WorkerRunner

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
RATE_HZ, FRAME = 16_000, 320
QUIET_S, REST_S, LONGEST_S = 2.0, 1.0, 15.0
PARAMS = TransportParams(audio_in_enabled=True, audio_out_enabled=True)


class Line(BaseInputTransport):
    """A microphone: frames of 20 ms at their time, silence between turns."""

    left = b""

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)
        self.create_task(self._talk())

    async def _talk(self) -> None:
        at = time.monotonic()
        while True:
            at += FRAME / RATE_HZ
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            said, self.left = self.left[: 2 * FRAME].ljust(2 * FRAME, b"\0"), self.left[2 * FRAME :]
            await self.push_audio_frame(InputAudioRawFrame(audio=said, sample_rate=RATE_HZ, num_channels=1))


class Speaker(BaseOutputTransport):
    """A sound card: a frame is taken when the one before it is over."""

    free_at = heard_at = 0.0

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        await asyncio.sleep(max(0.0, self.free_at - time.monotonic()))
        self.free_at = max(self.free_at, time.monotonic()) + len(frame.audio) / 2 / frame.sample_rate
        if any(frame.audio):
            self.heard_at = time.monotonic()
        return True


def sound(path: str) -> bytes:
    with wave.open(path) as file:
        assert file.getframerate() == RATE_HZ
        return file.readframes(file.getnframes())


async def main() -> dict[str, Any]:
    own_vad = bool(json.loads(SETTINGS).get("vad"))
    off = AudioConfiguration(input=AudioInput(turn_detection=False)) if own_vad else None
    properties = SessionProperties(audio=off) if off else SessionProperties()
    llm = OpenAIRealtimeLLMService(
        api_key="none", base_url=URL, settings=OpenAIRealtimeLLMService.Settings(session_properties=properties)
    )
    user_params = LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer()) if own_vad else None
    user, assistant = LLMContextAggregatorPair(LLMContext(), user_params=user_params)
    observer, line, speaker = UserBotLatencyObserver(), Line(PARAMS), Speaker(PARAMS)
    worker = PipelineWorker(
        Pipeline([line, user, llm, speaker, assistant]),
        params=PipelineParams(enable_metrics=True, audio_in_sample_rate=RATE_HZ),
        observers=[observer],
    )
    turns: list[dict[str, Any]] = []

    async def measured(_: Any, seconds: float) -> None:
        turns[-1]["latencies_s"].append(seconds)

    async def broken_down(_: Any, breakdown: Any) -> None:
        turns[-1]["breakdowns"].append(breakdown.model_dump(mode="json"))

    observer.add_event_handler("on_latency_measured", measured)
    observer.add_event_handler("on_latency_breakdown", broken_down)

    async def converse() -> None:
        for path in SOUNDS:
            await asyncio.sleep(REST_S)
            turns.append({"turn": len(turns) + 1, "latencies_s": [], "breakdowns": []})
            line.left = sound(path)
            end = time.monotonic() + len(line.left) / 2 / RATE_HZ
            while time.monotonic() < end + LONGEST_S:
                await asyncio.sleep(0.1)
                if speaker.heard_at > end and time.monotonic() > speaker.heard_at + QUIET_S:
                    break
        await runner.cancel()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    talking = asyncio.create_task(converse())
    await runner.run()
    await talking
    return {"turns": turns}


if __name__ == "__main__":
    Path(OUT).write_text(json.dumps(asyncio.run(main()), indent=1), encoding="utf-8")
