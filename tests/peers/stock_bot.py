"""A user's bot: stock pipecat, nothing of this project. It says back what it heard, by its own VAD.

With WIRE=twilio it answers Twilio's Media Streams instead. With HISTORY set it also does the three lines that make a bot
accept a history, as `docs/agents.md` gives them.
"""

import os
import time

import uvicorn
from fastapi import FastAPI, WebSocket
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    TTSAudioRawFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.processors.frameworks.rtvi import RTVIProcessor
from pipecat.processors.frameworks.rtvi.models import ClientMessage
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.base_serializer import FrameSerializer
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.workers.runner import WorkerRunner

app = FastAPI()


class Parrot(FrameProcessor):
    heard, listening = bytearray(), False

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, VADUserStartedSpeakingFrame):
            self.heard, self.listening = bytearray(), True
        elif isinstance(frame, InputAudioRawFrame) and self.listening:
            self.heard += frame.audio
        elif isinstance(frame, VADUserStoppedSpeakingFrame) and self.listening:
            self.listening = False
            await self.push_frame(TTSAudioRawFrame(audio=bytes(self.heard), sample_rate=16_000, num_channels=1))
        if not isinstance(frame, InputAudioRawFrame):
            await self.push_frame(frame, direction)


async def serializer_for(socket: WebSocket) -> FrameSerializer:
    if os.environ.get("WIRE") != "twilio":
        return ProtobufFrameSerializer()
    provider, facts = await parse_telephony_websocket(socket)
    assert provider == "twilio"
    assert facts.body == {"patient": "no"}
    keep_line = TwilioFrameSerializer.InputParams(auto_hang_up=False)
    return TwilioFrameSerializer(stream_sid=facts["stream_id"], call_sid=facts["call_id"], params=keep_line)


@app.websocket("/ws")
async def call(socket: WebSocket) -> None:
    await socket.accept()
    serializer = await serializer_for(socket)
    params = FastAPIWebsocketParams(audio_in_enabled=True, audio_out_enabled=True, serializer=serializer)
    transport = FastAPIWebsocketTransport(socket, params)
    vad = VADProcessor(vad_analyzer=SileroVADAnalyzer())
    pipeline = Pipeline([transport.input(), vad, Parrot(), transport.output()])
    worker = PipelineWorker(pipeline, params=PipelineParams(audio_in_sample_rate=16_000, audio_out_sample_rate=24_000))

    async def hung_up(*_: object) -> None:
        await worker.cancel()

    transport.add_event_handler("on_client_disconnected", hung_up)

    if os.environ.get("HISTORY"):

        async def on_client_message(rtvi: RTVIProcessor, message: ClientMessage) -> None:
            if message.type == "history":
                await rtvi.send_server_response(message, {"taken": len((message.data or {})["messages"])})
                await rtvi.send_server_message({"type": "mark", "name": "history", "at_ns": time.monotonic_ns()})

        worker.rtvi.add_event_handler("on_client_message", on_client_message)

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]))
