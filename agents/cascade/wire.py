"""The cascade's side of the socket: pipecat's FastAPI WebSocket transport, with a mark where audio meets the wire."""

import time
from typing import Any

from fastapi import WebSocket
from pipecat.frames.frames import (
    BotStoppedSpeakingFrame,
    Frame,
    LLMFullResponseStartFrame,
    OutputAudioRawFrame,
    OutputTransportMessageUrgentFrame,
    TTSAudioRawFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.processors.frameworks.rtvi import models as rtvi
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.transports.websocket.fastapi import (
    FastAPIWebsocketOutputTransport,
    FastAPIWebsocketParams,
    FastAPIWebsocketTransport,
)

from agents import marks
from agents.cascade.llm import REQUEST
from agents.cascade.session_marks import MarkMessage, SessionMarks


class MarkedOutput(FastAPIWebsocketOutputTransport):
    """pipecat's output transport; marks the first audio of each reply as it is written, and the reply's end."""

    def __init__(self, transport: FastAPIWebsocketTransport, session: SessionMarks, **kwargs: Any) -> None:
        super().__init__(transport, transport._client, transport._params, **kwargs)
        self._session = session
        self._request: int | None = None
        self._audio_due = True
        self._supplied_until_s = 0.0

    def _note_slack(self, frame: TTSAudioRawFrame) -> None:
        """Each piece's audio extends what the listener has left to hear; the rest of that on arrival is the slack."""
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
        elif isinstance(frame, TTSAudioRawFrame):
            self._note_slack(frame)
        await super().process_frame(frame, direction)

    async def push_frame(self, frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM) -> None:
        if isinstance(frame, BotStoppedSpeakingFrame) and direction is FrameDirection.DOWNSTREAM:
            self._session.stamp(marks.REPLY_DONE, request=self._request)
        await super().push_frame(frame, direction)

    async def _write_frame(self, frame: Frame) -> bool:
        if self._audio_due and isinstance(frame, OutputAudioRawFrame):
            self._audio_due = False
            self._session.stamp(marks.AUDIO_SENT, request=self._request)
        written: bool = await super()._write_frame(frame)
        return written


class MarkedTransport(FastAPIWebsocketTransport):
    """One connection. `send_mark` writes a mark to the socket at once, past everything that waits in the pipeline."""

    def __init__(self, websocket: WebSocket, session: SessionMarks) -> None:
        params = FastAPIWebsocketParams(
            audio_in_enabled=True, audio_out_enabled=True, serializer=ProtobufFrameSerializer()
        )
        super().__init__(websocket, params)
        self._output = MarkedOutput(self, session)

    async def send_mark(self, mark: MarkMessage) -> None:
        message = rtvi.ServerMessage(data=mark).model_dump()
        await self._output.send_message(OutputTransportMessageUrgentFrame(message=message))
