"""One session of the cascade: the pipeline that a profile's settings describe, around one WebSocket connection."""

import asyncio
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, cast, get_args

import httpx2
from fastapi import WebSocket
from loguru import logger
from pipecat.evals.serializer import EvalConnectionFlags
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext, LLMContextMessage
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.processors.frameworks.rtvi import RTVIObserverParams
from pipecat.services.stt_service import STTService
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from pydantic import BaseModel, ConfigDict, ValidationError

from harness.agents.cascade.endpoint_policies import (
    AdaptiveSilence,
    BlendedScorer,
    EndpointPolicy,
    FixedSilence,
    ScoredSilence,
    TurnScorer,
)
from harness.agents.cascade.finalizing_whisper import FinalizingWhisperSTT
from harness.agents.cascade.fitted_scorers import HoldingCuesScorer, SpokenCompletenessScorer
from harness.agents.cascade.hazard import HazardSilence, load_head
from harness.agents.cascade.held_audio import HeldAudio
from harness.agents.cascade.llama_prompt import LlamaPrompt
from harness.agents.cascade.llm import CascadeLLM, DeliberateLLM
from harness.agents.cascade.models import Models
from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.session_marks import SessionMarks, stage_ranges
from harness.agents.cascade.settings import (
    CascadeSettings,
    FinalizingWhisper,
    FixedEndpoint,
    GradedEndpoint,
    HazardEndpoint,
    ScorerName,
    SpeechTimeoutEndpoint,
    StockWhisper,
    StreamingEndpoint,
    StreamingMoonshine,
    StreamingStt,
    TwoSpeedEndpoint,
)
from harness.agents.cascade.stock import MarkedPiper, MarkedSilero, MarkedWhisper, aggregators
from harness.agents.cascade.streaming_stt import StreamingSTT, SttTiming
from harness.agents.cascade.turn_scorers import HesitationVeto, LastWordScorer, LengthScorer, LlmTurnScorer, SmartTurnScorer
from harness.agents.cascade.wire import EvalTransport, MarkedTransport
from harness.agents.message import Message

_PIPECAT_OUTPUT_HZ: Final = 24_000


class Session:
    """A caller's connection with its pipeline; both end with `run`."""

    def __init__(
        self,
        websocket: WebSocket,
        settings: CascadeSettings,
        models: Models,
        evaluation: EvalConnectionFlags | None = None,
        name: str = "call",
    ) -> None:
        """Build the pipeline. `evaluation`: the flags of pipecat's evaluation, if one calls over its own wire; `name`: the
        session's, in a profiler's trace."""
        self._settings = settings
        self._marks = SessionMarks(stage_ranges(name))
        ahead_ms = settings.tts.send_ahead_ms
        self._transport = (
            MarkedTransport(websocket, self._marks, ahead_ms)
            if evaluation is None
            else EvalTransport(websocket, self._marks, evaluation, ahead_ms)
        )
        written = evaluation is not None and evaluation.skip_tts
        self._context = LLMContext()
        system = system_instruction(settings.reply)
        native_url = models.endpoint.native_url
        self._prompt = LlamaPrompt(native_url, system) if native_url is not None else None
        llm_class = DeliberateLLM if settings.reply.revisions else CascadeLLM
        stops = models.server.stopped_between if models.server is not None else None
        self._llm = llm_class(models.endpoint, settings, self._marks, system, stops)
        # A tuned profile has the voice's own rate, since resampling delays a piece's end.
        output_hz = models.voice.config.sample_rate if settings.tts.native_rate else _PIPECAT_OUTPUT_HZ
        self._worker = PipelineWorker(
            Pipeline(self._processors(models)),
            params=PipelineParams(audio_in_sample_rate=16_000, audio_out_sample_rate=output_hz),
            # Drafts and dropped speculation are not what is said; the synthesis messages are. In writing there are neither.
            rtvi_observer_params=RTVIObserverParams(bot_llm_enabled=written, user_llm_enabled=False),
            idle_timeout_secs=None,
            enable_turn_tracking=False,
        )
        self._worker.rtvi.event_handler("on_client_message")(self._on_client_message)
        self._transport.event_handler("on_client_disconnected")(self._on_client_disconnected)

    def _processors(self, models: Models) -> list[FrameProcessor]:
        settings = self._settings
        if isinstance(settings.stt, StreamingStt):
            stt: FrameProcessor = self._streaming_stt(settings.stt, models)
            params = LLMUserAggregatorParams()
        else:
            stt = self._stock_stt(settings.stt, models)
            vad = MarkedSilero(settings.vad, self._marks)
            params = LLMUserAggregatorParams(vad_analyzer=vad, user_turn_strategies=self._turn_strategies())
        user, assistant = aggregators(self._context, params, self._marks)
        tts = MarkedPiper(models.voice, self._marks, settings.tts, settings.delays, self._model_stops(models))
        held = [HeldAudio()] if settings.speculate else []
        return [self._transport.input(), stt, user, self._llm, tts, *held, self._transport.output(), assistant]

    def _stock_stt(self, stt: StockWhisper | FinalizingWhisper, models: Models) -> STTService:
        """A recogniser that leaves the turn to pipecat's strategies."""
        delays = self._settings.delays
        if isinstance(stt, StockWhisper):
            return MarkedWhisper(models.recogniser, self._marks, stt, delays)
        ttfs_p99_s = stt.ttfs_p99_ms / 1000
        return FinalizingWhisperSTT(models.recogniser, ttfs_p99_s=ttfs_p99_s, session=self._marks, delay_ms=delays.asr_ms)

    def _streaming_stt(self, stt: StreamingStt, models: Models) -> StreamingSTT:
        endpoint = self._settings.endpoint
        assert isinstance(endpoint, StreamingEndpoint)
        return StreamingSTT(
            models.recogniser,
            make_policy(endpoint, lambda name: self._scorer(name, models)),
            session=self._marks,
            timing=SttTiming(
                stt.speech_probability,
                stt.eager_silence_ms,
                stt.partial_every_ms if isinstance(stt, StreamingMoonshine) else None,
                self._settings.delays.asr_ms,
            ),
            on_words=self._warm_words if self._settings.llm.warm_prefix else None,
            alone=self._model_stops(models),
            enable_eager_end_of_turn=self._settings.speculate,
        )

    def _scorer(self, name: ScorerName, models: Models) -> TurnScorer:
        if name == "smart-turn":
            return SmartTurnScorer()
        if name == "spoken":
            return SpokenCompletenessScorer()
        if name == "holding-cues":
            return HoldingCuesScorer(models.recogniser.states)
        if name == "last-word" or self._prompt is None:
            return LastWordScorer()
        return LlmTurnScorer(self._prompt, lambda: self._context.messages)

    def _model_stops(self, models: Models) -> Callable[[], AbstractContextManager[None]]:
        """A maker of contexts in which the language model is stopped, so that what the caller waits for has the cores."""
        if models.server is None or not self._settings.llm.pause_for_first_audio:
            return nullcontext
        return models.server.paused

    async def _warm_words(self, words: str) -> None:
        if self._prompt is not None:
            await self._prompt.warm(self._context.messages, words)

    def _turn_strategies(self) -> UserTurnStrategies | None:
        endpoint = self._settings.endpoint
        if isinstance(endpoint, SpeechTimeoutEndpoint):
            timeout_s = endpoint.timeout_ms / 1000
            return UserTurnStrategies(stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=timeout_s)])
        return None

    async def run(self) -> None:
        """Serve the connection until the client leaves or the agent stops."""
        if self._prompt is not None:
            # Otherwise the server would remember one caller's conversation when the same is played again.
            await self._prompt.warm([])
        runner = WorkerRunner(handle_sigint=False, check_dangling_tasks=False)
        await runner.add_workers(self._worker)
        reporting = asyncio.create_task(self._marks.deliver(self._transport.send_mark))
        try:
            await runner.run()
        finally:
            reporting.cancel()
            self._marks.close()
            if self._prompt is not None:
                await self._prompt.close()

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
        if self._settings.llm.warm_prefix and self._prompt is not None:
            try:
                await self._prompt.warm(history)
            except httpx2.HTTPError as failed:
                await rtvi.send_error_response(message, f"language model failed on the history: {failed}")
                return
        logger.info("history of {} messages taken", len(history))
        await rtvi.send_server_response(message, {"accepted": len(history)})


class _History(BaseModel):
    model_config = ConfigDict(extra="forbid")

    messages: list[Message]


def parse_history(data: Any) -> list[dict[str, str]]:
    """The `data` of an RTVI `client-message` of type `history` as messages for a chat model.

    Raises:
        pydantic.ValidationError: `data` is not `{"messages": [{"role": "user" | "assistant", "text": …}, …]}`.
    """
    return [{"role": turn.role, "content": turn.text} for turn in _History.model_validate(data).messages]


_SLOW: Final[frozenset[ScorerName]] = frozenset(("llm", "smart-turn"))
"""Scorers that run a model: asked last, and only if they can change the result."""
_BY_VOICE: Final[frozenset[ScorerName]] = frozenset(("smart-turn", "holding-cues"))

MakeScorer = Callable[[ScorerName], TurnScorer]


def make_policy(settings: StreamingEndpoint, make_scorer: MakeScorer) -> EndpointPolicy:
    """The policy of a profile. `make_scorer` is called only for the scorers that it uses and that need more than words."""
    if isinstance(settings, HazardEndpoint):
        return _hazard(settings, make_scorer)
    policy = _without_adaption(settings, make_scorer)
    if settings.adapt is None:
        return policy
    return AdaptiveSilence(policy, settings.adapt.quantile, settings.adapt.factor, settings.adapt.most_ms)


def _hazard(settings: HazardEndpoint, make_scorer: MakeScorer) -> HazardSilence:
    head = load_head(settings.without)
    used: list[ScorerName] = [name for name in get_args(ScorerName) if name in head.weights]
    return HazardSilence(
        words={name: make_scorer(name) for name in used if name not in _BY_VOICE},
        voice={name: make_scorer(name) for name in used if name in _BY_VOICE},
        head=head,
        price=settings.price,
        least_ms=settings.least_ms,
        longest_ms=settings.longest_ms,
        sure_from=math.inf if settings.sure_from is None else settings.sure_from,
    )


def _without_adaption(settings: FixedEndpoint | TwoSpeedEndpoint | GradedEndpoint, make_scorer: MakeScorer) -> EndpointPolicy:
    if isinstance(settings, FixedEndpoint):
        return FixedSilence(settings.silence_ms)
    low = settings.complete_from if isinstance(settings, TwoSpeedEndpoint) else settings.incomplete_below
    scorer = _scorer(settings, make_scorer, (low, settings.complete_from))
    if settings.hesitation_veto:
        scorer = HesitationVeto(scorer)
    return ScoredSilence(scorer, settings.short_ms, settings.long_ms, low, settings.complete_from)


def _scorer(settings: TwoSpeedEndpoint | GradedEndpoint, make_scorer: MakeScorer, settled: tuple[float, float]) -> TurnScorer:
    def made(name: ScorerName) -> TurnScorer:
        length = settings.length
        return LengthScorer(length.words_at_half, length.spread_words) if name == "length" else make_scorer(name)

    slow_last = sorted(settings.scorers.items(), key=lambda item: item[0] in _SLOW)
    asked = [(made(name), weight) for name, weight in slow_last]
    return asked[0][0] if len(asked) == 1 else BlendedScorer(asked, settled)
