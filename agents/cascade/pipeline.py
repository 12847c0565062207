"""One session of the cascade: the pipeline that a profile's settings describe, around one WebSocket connection."""

import asyncio
from typing import Any, cast

from fastapi import WebSocket
from loguru import logger
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext, LLMContextMessage
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.processors.frameworks.rtvi import RTVIObserverParams
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from pydantic import ValidationError

from agents.cascade.deliberate import DeliberateLLM
from agents.cascade.history import parse_history
from agents.cascade.llm import CascadeLLM
from agents.cascade.models import Models
from agents.cascade.prefix_cache import PrefixCache
from agents.cascade.prompt import system_instruction
from agents.cascade.session_marks import SessionMarks
from agents.cascade.settings import CascadeSettings, SpeechTimeoutEndpoint
from agents.cascade.stock import MarkedPiper, MarkedSilero, MarkedWhisper, aggregators
from agents.cascade.wire import MarkedTransport


class Session:
    """A caller's connection and everything that serves it; nothing of it outlives `run`."""

    def __init__(self, websocket: WebSocket, settings: CascadeSettings, models: Models) -> None:
        self._settings = settings
        self._marks = SessionMarks()
        self._transport = MarkedTransport(websocket, self._marks)
        self._context = LLMContext()
        system = system_instruction(settings.reply)
        self._cache = PrefixCache(models.endpoint.native_url, system)
        llm_class = DeliberateLLM if settings.reply.revisions else CascadeLLM
        self._llm = llm_class(models.endpoint, settings, self._marks, system)
        self._worker = PipelineWorker(
            Pipeline(self._processors(models)),
            params=PipelineParams(audio_in_sample_rate=16_000),
            rtvi_observer_params=RTVIObserverParams(bot_llm_enabled=False, user_llm_enabled=False),
            idle_timeout_secs=None,
            enable_turn_tracking=False,
        )
        self._worker.rtvi.event_handler("on_client_message")(self._on_client_message)
        self._transport.event_handler("on_client_disconnected")(self._on_client_disconnected)

    def _processors(self, models: Models) -> list[FrameProcessor]:
        settings = self._settings
        stt = MarkedWhisper(models.recogniser, self._marks, settings.delays)
        params = LLMUserAggregatorParams(
            vad_analyzer=MarkedSilero(settings.vad, self._marks), user_turn_strategies=self._turn_strategies()
        )
        user, assistant = aggregators(self._context, params, self._marks)
        tts = MarkedPiper(models.voice, self._marks, settings.delays)
        return [self._transport.input(), stt, user, self._llm, tts, self._transport.output(), assistant]

    def _turn_strategies(self) -> UserTurnStrategies | None:
        endpoint = self._settings.endpoint
        if isinstance(endpoint, SpeechTimeoutEndpoint):
            timeout_s = endpoint.timeout_ms / 1000
            return UserTurnStrategies(stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=timeout_s)])
        return None

    async def run(self) -> None:
        """Serve the connection until the client leaves or the agent stops."""
        await self._cache.reset()
        runner = WorkerRunner(handle_sigint=False, check_dangling_tasks=False)
        await runner.add_workers(self._worker)
        reporting = asyncio.create_task(self._marks.deliver(self._transport.send_mark))
        try:
            await runner.run()
        finally:
            reporting.cancel()

    async def stop(self) -> None:
        """End the session from the agent's side."""
        await self._worker.cancel()

    async def _on_client_disconnected(self, _transport: Any, _websocket: Any) -> None:
        await self._worker.cancel()

    async def _on_client_message(self, rtvi: Any, message: Any) -> None:
        if message.type != "history":
            await rtvi.send_error_response(message, f"unknown client message {message.type!r}")
            return
        try:
            history = parse_history(message.data)
        except ValidationError as wrong:
            await rtvi.send_error_response(message, f"history refused: {wrong.errors()[0]['msg']}")
            return
        self._context.set_messages(cast(list[LLMContextMessage], history))
        if self._settings.llm.warm_prefix:
            await self._cache.warm(history)
        logger.info("history of {} messages taken", len(history))
        await rtvi.send_server_response(message, {"accepted": len(history)})
