"""The cascade over pipecat's own evaluation wire, so that pipecat's evaluations can drive it as they drive any bot.

Its first message says what the evaluation asks for: written answers alone (`skip_tts`), or the sound as well
(`capture_bot_audio`). Everything after is RTVI in JSON, the caller's sound and the conversation so far among it.

Source: `pipecat.evals.fastapi_transport` and `pipecat.evals.serializer` of pipecat 1.14.
"""

import asyncio
import json
from typing import Any, Final

from fastapi import WebSocket
from pipecat.evals.serializer import EvalConnectionFlags, EvalSerializer, parse_eval_connect
from pipecat.frames.frames import LLMConfigureOutputFrame

from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.wire import MarkedTransport

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
    """One evaluation."""

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
