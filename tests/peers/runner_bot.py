"""A user's bot as pipecat's own scaffold writes it: its runner, its routes, its services; nothing of this project.

Its services are of known behaviour instead of rented: the recogniser takes 60 ms, the model 150 ms to its first token
(behind an OpenAI-compatible address in this process) and says how many messages it was asked with and what the first said,
the voice takes 40 ms and says one word per three written. With GREETS set it introduces itself to who connects, as
pipecat's own examples do. With NO_EVAL set it is as the scaffold writes it unless asked: without the evaluation wire. With
BROKEN set it fails on every caller.
"""

import asyncio
import json
import os
import threading
import time
import wave
from collections.abc import AsyncGenerator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pipecat
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.evals.transport import EvalTransportParams
from pipecat.frames.frames import Frame, LLMRunFrame, TranscriptionFrame, TTSAudioRawFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.runner.types import RunnerArguments
from pipecat.runner.utils import create_transport
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.settings import STTSettings, TTSSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_transport import TransportParams
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.time import time_now_iso8601
from pipecat.utils.tracing.service_decorators import traced_tts
from pipecat.workers.runner import WorkerRunner

STT_S, FIRST_TOKEN_S, TTS_S = 0.06, 0.15, 0.04
GREETING = "Hello and welcome to this line."
WORD = Path(pipecat.__file__).parent / "services" / "aws" / "nova_sonic" / "ready.wav"


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        spoken = [m for m in asked["messages"] if m["role"] in ("user", "assistant")]
        said = f"I know {len(spoken)} messages and the first was {spoken[0]['content']}." if spoken else GREETING
        time.sleep(FIRST_TOKEN_S)
        parts = [{"id": "1", "choices": [{"index": 0, "delta": {"content": f"{word} "}}]} for word in said.split()]
        lines = [f"data: {json.dumps(part)}\n\n" for part in parts]
        body = "".join([*lines, "data: [DONE]\n\n"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class KnownSTT(SegmentedSTTService):
    def can_generate_metrics(self) -> bool:
        return True

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        assert audio
        await self.start_processing_metrics()
        await asyncio.sleep(STT_S)
        await self.stop_processing_metrics()
        yield TranscriptionFrame("what the caller said", "", time_now_iso8601(), None)


class Voice(TTSService):
    def can_generate_metrics(self) -> bool:
        return True

    @traced_tts
    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        with wave.open(str(WORD)) as file:
            rate_hz, word = file.getframerate(), file.readframes(file.getnframes())[3_000:16_400]
        await asyncio.sleep(TTS_S)
        await self.stop_ttfb_metrics()
        audio = word * max(2, len(text.split()) // 3)
        yield TTSAudioRawFrame(audio=audio, sample_rate=rate_hz, num_channels=1, context_id=context_id)


async def run_bot(transport: Any, model_url: str) -> None:
    llm = OpenAILLMService(api_key="none", base_url=model_url, settings=OpenAILLMService.Settings(model="known"))
    context = LLMContext([{"role": "developer", "content": "Be kind."}])
    stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.3)
    params = LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer(), user_turn_strategies=UserTurnStrategies(stop=[stop]))
    user, assistant = LLMContextAggregatorPair(context, user_params=params)
    ears = KnownSTT(settings=STTSettings(model=None, language=None))
    voice = Voice(settings=TTSSettings(model=None, voice=None, language=None), push_start_frame=True, push_stop_frames=True)
    worker = PipelineWorker(
        Pipeline([transport.input(), ears, user, llm, voice, transport.output(), assistant]),
        params=PipelineParams(enable_metrics=True, audio_out_sample_rate=16_000),
        enable_tracing=bool(os.environ.get("TRACED")),
    )
    if os.environ.get("TRACED"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from pipecat.utils.tracing.setup import setup_tracing

        setup_tracing("runner-bot", exporter=OTLPSpanExporter())
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)

    async def connected(*_: object) -> None:
        if os.environ.get("GREETS"):
            await worker.queue_frames([LLMRunFrame()])

    async def hung_up(*_: object) -> None:
        print("the caller hung up", flush=True)
        await runner.cancel()

    transport.add_event_handler("on_client_connected", connected)
    transport.add_event_handler("on_client_disconnected", hung_up)
    await runner.run()


async def bot(arguments: RunnerArguments) -> None:
    if os.environ.get("BROKEN"):
        raise RuntimeError("no key for the model")
    params = {
        "websocket": lambda: FastAPIWebsocketParams(
            audio_in_enabled=True, audio_out_enabled=True, serializer=ProtobufFrameSerializer()
        ),
        "eval": lambda: EvalTransportParams(audio_in_enabled=True, audio_out_enabled=True),
        "webrtc": lambda: TransportParams(audio_in_enabled=True, audio_out_enabled=True),
    }
    if os.environ.get("NO_EVAL"):
        del params["eval"]
    transport = await create_transport(arguments, params)
    await run_bot(transport, f"http://127.0.0.1:{model.server_port}/v1")


if __name__ == "__main__":
    from pipecat.runner.run import main

    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    main()
