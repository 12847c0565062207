"""A telephone bot on pipecat's own transport and serializers, which leans on the carrier that calls it.

`python carrier_bot.py PORT CARRIER [RATE]`. It greets for 600 ms and asks for a mark behind it. The caller's first loud sound
gets a reply of two seconds with a mark, all at once as some bots send it, which it interrupts after 1,300 ms; the second
loud sound makes it hang up. It prints each message of the carrier but sound, with the milliseconds since its greeting, and
what it heard in all.
"""

import asyncio
import json
import sys
import time
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, WebSocket
from pipecat.frames.frames import (
    EndFrame,
    Frame,
    InputAudioRawFrame,
    InputDTMFFrame,
    InterruptionFrame,
    OutputTransportMessageFrame,
    TTSAudioRawFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.base_serializer import FrameSerializer
from pipecat.serializers.exotel import ExotelFrameSerializer
from pipecat.serializers.plivo import PlivoFrameSerializer
from pipecat.serializers.telnyx import TelnyxFrameSerializer
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.serializers.vonage import VonageFrameSerializer
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.workers.runner import WorkerRunner

RATE_HZ, TONE_HZ, LEVEL, LOUD = 16_000, 440, 8_000, 1_000
CARRIER = sys.argv[2]
app = FastAPI()


def tone(seconds: float) -> TTSAudioRawFrame:
    samples = LEVEL * np.sin(2 * np.pi * TONE_HZ * np.arange(round(RATE_HZ * seconds)) / RATE_HZ)
    return TTSAudioRawFrame(audio=samples.astype("<i2").tobytes(), sample_rate=RATE_HZ, num_channels=1)


def mark(name: str, stream: str) -> dict[str, Any]:
    match CARRIER:
        case "twilio":
            return {"event": "mark", "streamSid": stream, "mark": {"name": name}}
        case "telnyx":
            return {"event": "mark", "mark": {"name": name}}
        case "exotel":
            return {"event": "mark", "stream_sid": stream, "mark": {"name": name}}
        case "plivo":
            return {"event": "checkpoint", "streamId": stream, "name": name}
    return {"action": "notify", "payload": {"name": name}}


class Bot(FrameProcessor):
    def __init__(self, socket: WebSocket, serializer: FrameSerializer, stream: str) -> None:
        super().__init__()
        self._socket = socket
        self._serializer = serializer
        self._stream = stream
        self.began_s = 0.0
        self._step = 0
        self._heard: list[np.ndarray[Any, Any]] = []
        self._later: asyncio.Task[None] | None = None
        self.worker: PipelineWorker | None = None

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, InputDTMFFrame):
            print("key", frame.button.value, flush=True)
        if not isinstance(frame, InputAudioRawFrame):
            await self.push_frame(frame, direction)
            return
        samples = np.frombuffer(frame.audio, "<i2")
        self._heard.append(samples)
        loud = bool(np.abs(samples.astype(int)).max(initial=0) > LOUD)
        if self._step == 0:
            self._step, self.began_s = 1, time.monotonic()
            await self._say(0.6, "greeted")
            if CARRIER == "plivo":
                await self.push_frame(OutputTransportMessageFrame(message={"event": "sendDTMF", "dtmf": "42#"}))
        elif self._step == 1 and loud:
            self._step = 2
            await self._send(await self._serializer.serialize(tone(2.0)))
            await self._send(json.dumps(mark("cut off", self._stream)))
            self._later = asyncio.create_task(self._interrupt())
        elif self._step == 3 and loud:
            self._step = 4
            self._report()
            assert self.worker is not None
            await self.worker.queue_frame(EndFrame())

    async def _say(self, seconds: float, name: str) -> None:
        await self.push_frame(tone(seconds))
        await self.push_frame(OutputTransportMessageFrame(message=mark(name, self._stream)))

    async def _send(self, message: str | bytes | None) -> None:
        """Past pipecat's transport, which sends at the speed of speech and leaves the carrier next to nothing to drop."""
        await (self._socket.send_bytes(message) if isinstance(message, bytes) else self._socket.send_text(message or ""))

    async def _interrupt(self) -> None:
        await asyncio.sleep(1.3)
        await self.broadcast_frame(InterruptionFrame)
        self._step = 3

    def _report(self) -> None:
        heard = np.concatenate(self._heard).astype(int)
        loud = np.flatnonzero(np.abs(heard) > LOUD)
        spectrum = np.abs(np.fft.rfft(heard[loud[0] : loud[0] + RATE_HZ // 4]))
        print("heard", np.abs(heard).max(), "at", round(float(spectrum.argmax()) * 4), flush=True)


async def serializer_for(socket: WebSocket) -> tuple[FrameSerializer, str]:
    if CARRIER == "vonage":  # pipecat's runner does not know this carrier
        return VonageFrameSerializer(VonageFrameSerializer.InputParams(vonage_sample_rate=int(sys.argv[3]))), ""
    provider, facts = await parse_telephony_websocket(socket)
    assert provider == CARRIER, f"{provider} where {CARRIER} was expected"
    print("call", facts.model_dump_json(by_alias=True), flush=True)
    stream = facts["stream_id"]
    match CARRIER:
        case "twilio":
            return TwilioFrameSerializer(stream, params=TwilioFrameSerializer.InputParams(auto_hang_up=False)), stream
        case "telnyx":
            stay = TelnyxFrameSerializer.InputParams(auto_hang_up=False)
            return TelnyxFrameSerializer(stream, facts["outbound_encoding"], "PCMU", params=stay), stream
        case "exotel":
            return ExotelFrameSerializer(stream), stream
    return PlivoFrameSerializer(stream, params=PlivoFrameSerializer.InputParams(auto_hang_up=False)), stream


@app.websocket("/ws")
async def call(socket: WebSocket) -> None:
    await socket.accept()
    serializer, stream = await serializer_for(socket)
    bot = Bot(socket, serializer, stream)
    understand = serializer.deserialize

    async def overheard(data: str | bytes) -> Frame | None:
        if isinstance(data, str) and '"media"' not in data:
            print("came", round((time.monotonic() - bot.began_s) * 1e3), data, flush=True)
        return await understand(data)

    serializer.deserialize = overheard  # type: ignore[method-assign]
    params = FastAPIWebsocketParams(audio_in_enabled=True, audio_out_enabled=True, serializer=serializer)
    transport = FastAPIWebsocketTransport(socket, params)
    pipeline = Pipeline([transport.input(), bot, transport.output()])
    bot.worker = PipelineWorker(pipeline, params=PipelineParams(audio_in_sample_rate=RATE_HZ, audio_out_sample_rate=RATE_HZ))

    async def hung_up(*_: object) -> None:
        assert bot.worker is not None
        await bot.worker.cancel()

    transport.add_event_handler("on_client_disconnected", hung_up)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(bot.worker)
    await runner.run()
    print("over", flush=True)


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]))
