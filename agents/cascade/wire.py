"""The cascade's side of the socket: pipecat's FastAPI WebSocket transport, with a mark where audio meets the wire."""

import asyncio
import json
import time
from typing import Any, Final

from fastapi import WebSocket
from pipecat.evals.serializer import EvalConnectionFlags, EvalSerializer, parse_eval_connect
from pipecat.frames.frames import (
    BotStoppedSpeakingFrame,
    Frame,
    InterruptionFrame,
    LLMConfigureOutputFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    OutputAudioRawFrame,
    OutputTransportMessageUrgentFrame,
    TTSAudioRawFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.processors.frameworks.rtvi import models as rtvi
from pipecat.serializers.base_serializer import FrameSerializer
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.transports.websocket.fastapi import (
    FastAPIWebsocketOutputTransport,
    FastAPIWebsocketParams,
    FastAPIWebsocketTransport,
)

from harness.agents import marks
from harness.agents.cascade.llm import REQUEST
from harness.agents.cascade.session_marks import MarkMessage, SessionMarks


class MarkedOutput(FastAPIWebsocketOutputTransport):
    """pipecat's output transport, with marks for the first written audio of each reply and for its end.

    With `send_ahead_ms` above 0 the listener is kept that much ahead of what is heard. pipecat's own clock gives one chunk
    of 40 ms, and each stall of this process uses some of it up for good: synthesis and language model on the same two cores
    held a chunk back by 78 ms in one of 60 replies, although its sound had long been made.
    """

    def __init__(
        self, transport: FastAPIWebsocketTransport, session: SessionMarks, send_ahead_ms: float, **kwargs: Any
    ) -> None:
        super().__init__(transport, transport._client, transport._params, **kwargs)
        self._session = session
        self._send_ahead_s = send_ahead_ms / 1000
        self._request: int | None = None
        self._audio_due = True
        self._supplied_until_s = 0.0
        self._writing = False
        """True while the model's answer is on its way."""
        self._fell_silent = False
        """True if its voice ended before it."""

    def _note_slack(self, frame: TTSAudioRawFrame) -> None:
        """Mark the slack: the audio that the listener has left to hear when the next piece arrives."""
        now_s = time.monotonic()
        if self._supplied_until_s:
            slack_ms = (self._supplied_until_s - now_s) * 1000
            self._session.stamp(marks.SLACK, request=self._request, slack_ms=round(slack_ms, 1))
        self._supplied_until_s = max(now_s, self._supplied_until_s) + frame.num_frames / frame.sample_rate

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        if isinstance(frame, LLMFullResponseStartFrame):
            self._request = frame.metadata.get(REQUEST)
            self._audio_due = True
            self._supplied_until_s = 0.0
            self._writing, self._fell_silent = True, False
        elif isinstance(frame, LLMFullResponseEndFrame):
            self._writing = False
            if self._fell_silent:
                self._session.stamp(marks.REPLY_DONE, request=self._request)
            self._fell_silent = False
        elif isinstance(frame, InterruptionFrame):
            self._writing, self._fell_silent = False, False
        elif isinstance(frame, TTSAudioRawFrame):
            self._fell_silent = False
            self._note_slack(frame)
        await super().process_frame(frame, direction)

    async def push_frame(self, frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM) -> None:
        if isinstance(frame, BotStoppedSpeakingFrame) and direction is FrameDirection.DOWNSTREAM:
            # A voice that waits for the model's next words falls silent too.
            self._fell_silent = self._writing
            if not self._writing:
                self._session.stamp(marks.REPLY_DONE, request=self._request)
        await super().push_frame(frame, direction)

    async def _write_audio_sleep(self) -> None:
        if not self._send_ahead_s:
            await super()._write_audio_sleep()  # type: ignore[no-untyped-call]
            return
        now_s = time.monotonic()
        # The parent's clock, zero after an interruption; here it says when all that was sent will have been heard.
        self._next_send_time = max(self._next_send_time, now_s) + self._send_interval  # type: ignore[assignment]
        await asyncio.sleep(max(0.0, self._next_send_time - now_s - self._send_ahead_s))

    async def _write_frame(self, frame: Frame) -> bool:
        if self._audio_due and isinstance(frame, OutputAudioRawFrame):
            self._audio_due = False
            self._session.stamp(marks.AUDIO_SENT, request=self._request)
        written: bool = await super()._write_frame(frame)
        return written


class MarkedTransport(FastAPIWebsocketTransport):
    """One connection. `send_mark` writes a mark to the socket at once, past everything that waits in the pipeline."""

    def __init__(
        self,
        websocket: WebSocket,
        session: SessionMarks,
        send_ahead_ms: float = 0,
        serializer: FrameSerializer | None = None,
    ) -> None:
        """`serializer`: the wire format; pipecat's protobuf if left out."""
        wire = serializer or ProtobufFrameSerializer()
        params = FastAPIWebsocketParams(audio_in_enabled=True, audio_out_enabled=True, serializer=wire)
        super().__init__(websocket, params)
        self._output = MarkedOutput(self, session, send_ahead_ms)

    async def send_mark(self, mark: MarkMessage) -> None:
        message = rtvi.ServerMessage(data=mark).model_dump()
        await self._output.send_message(OutputTransportMessageUrgentFrame(message=message))


FIRST_MESSAGE_S: Final = 10.0
"""Timeout for a caller's first message, which an honest one sends at once."""


async def asked_for(websocket: WebSocket) -> EvalConnectionFlags | None:
    """The flags of the evaluation from its first message; None if that is something else, or does not come."""
    try:
        async with asyncio.timeout(FIRST_MESSAGE_S):
            message = await websocket.receive_text()
        return parse_eval_connect(json.loads(message))
    except (TimeoutError, ValueError, KeyError):
        return None


class EvalTransport(MarkedTransport):
    """One evaluation.

    It is pipecat's own evaluation wire, so that pipecat's evaluations can drive the cascade as they drive any bot. Its first
    message says what the evaluation asks for: written answers alone (`skip_tts`), or the sound as well (`capture_bot_audio`).
    Everything after is RTVI in JSON, the caller's sound and the conversation so far among it.

    Source: `pipecat.evals.fastapi_transport` and `pipecat.evals.serializer` of pipecat 1.14.
    """

    def __init__(
        self, websocket: WebSocket, session: SessionMarks, flags: EvalConnectionFlags, send_ahead_ms: float = 0
    ) -> None:
        serializer = EvalSerializer()  # type: ignore[no-untyped-call]
        serializer.set_capture_audio(flags.capture_bot_audio)
        super().__init__(websocket, session, send_ahead_ms, serializer)
        self._flags = flags

    async def _on_client_connected(self, websocket: Any) -> None:
        # Before anything is said, so that nothing is spoken in a written evaluation.
        await self._input.push_frame(LLMConfigureOutputFrame(skip_tts=self._flags.skip_tts))
        await super()._on_client_connected(websocket)  # type: ignore[no-untyped-call]
