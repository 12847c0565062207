"""pipecat's own Whisper, Piper, silero and turn aggregation with marks, known delays, and models loaded beforehand.

Nothing here changes what the services do: each subclass hands over a model that is already in memory, because one pipeline is
made for each connection and loading takes seconds, and stamps a mark where its parent does the thing.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from faster_whisper import WhisperModel
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADParams, VADState
from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
    Frame,
    InterruptionFrame,
    LLMFullResponseStartFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.piper.tts import PiperTTSService
from pipecat.services.tts_service import TTSService
from pipecat.services.whisper.stt import WhisperSTTService
from piper import PiperVoice

from harness.agents import marks
from harness.agents.cascade.clauses import ClauseAggregator
from harness.agents.cascade.llm import REQUEST
from harness.agents.cascade.recogniser import on_threads
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.settings import SettingsFailed, StockWhisper, TestDelays, TtsSettings, VadSettings

_AUDIBLE: Final = 250
"""Sample value over which audio counts as sound: about -42 dB of full scale, over a voice model's idle noise."""


_WARM_SAMPLES: Final = 16_000


def load_whisper(settings: StockWhisper, weights: str) -> WhisperModel:
    """The faster-whisper model that the stock service runs."""
    model = WhisperModel(weights, device=settings.device, compute_type=settings.compute_type, cpu_threads=settings.threads)
    if settings.device == "cuda":
        # CUDA's libraries are loaded at the first use: one that is missing must not be found out by a caller.
        list(model.transcribe(np.zeros(_WARM_SAMPLES, np.float32))[0])
    return model


def load_voice(settings: TtsSettings, weights: str) -> PiperVoice:
    """A Piper voice; a `VoiceInParts` if the settings ask for one.

    Raises:
        agents.cascade.settings.SettingsFailed: parts are asked for that this voice cannot give, or CUDA that is not there.
    """
    if settings.use_cuda:
        _need_cuda(onnxruntime.get_available_providers(), "is built without it")
    voice = PiperVoice.load(Path(weights), use_cuda=settings.use_cuda)
    if settings.use_cuda:
        _need_cuda(voice.session.get_providers(), "could not load it: the CUDA libraries of its version are not installed")
    options = on_threads(settings.threads)
    if settings.in_parts:
        from harness.agents.cascade.voice_in_parts import VoiceInParts

        return VoiceInParts(voice, Path(weights), options)
    # With Piper's options of each provider: by its own, CUDA would search for the quickest convolution at every length of text.
    providers = list(voice.session.get_provider_options().items())
    voice.session = onnxruntime.InferenceSession(weights, sess_options=options, providers=providers)
    return voice


def _need_cuda(providers: Sequence[str], why: str) -> None:
    """Refuse a missing CUDA: onnxruntime silently falls back to the processor, and a GPU would seem slow."""
    if "CUDAExecutionProvider" not in providers:
        raise SettingsFailed(
            f"tts.use_cuda: onnxruntime has no CUDA here, it {why}; install onnxruntime-gpu in place of onnxruntime "
            "(docs/gpu.md), or remove use_cuda"
        )


def trim_start(pcm: bytes, rate_hz: int) -> bytes:
    """The audio (PCM16LE mono) without the near-silence before its first sound, except its last 10 ms.

    Voices begin 30–60 ms after the start of their audio, which a caller would hear as delay.
    """
    samples = np.frombuffer(pcm, np.int16)
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > _AUDIBLE)
    start = max(0, int(loud[0]) - rate_hz // 100) if loud.size else 0
    return samples[start:].tobytes()


class MarkedWhisper(WhisperSTTService):
    """pipecat's Whisper service over a loaded model."""

    def __init__(self, model: WhisperModel, session: SessionMarks, settings: StockWhisper, delays: TestDelays) -> None:
        self._loaded = model
        self._session = session
        self._delay_s = delays.asr_ms / 1000
        super().__init__(settings=self.Settings(model="loaded"), trailing_silence_secs=settings.trailing_silence_ms / 1000)

    def _load(self) -> None:
        self._model = self._loaded

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame, None]:
        self._session.stamp(marks.ASR_STARTED)
        await asyncio.sleep(self._delay_s)
        frames = [frame async for frame in super().run_stt(audio)]
        text = " ".join(frame.text.strip() for frame in frames if isinstance(frame, TranscriptionFrame))
        self._session.stamp(marks.ASR_DONE, text=text)
        for frame in frames:
            yield frame


class MarkedPiper(PiperTTSService):
    """pipecat's Piper service over a loaded voice, with whole sentences or clauses; drops withdrawn speculation.

    `alone` is entered while a reply's first piece is synthesised: what competes for the cores can be stopped there.
    """

    def __init__(
        self,
        voice: PiperVoice,
        session: SessionMarks,
        settings: TtsSettings,
        delays: TestDelays,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
        **kwargs: Any,
    ) -> None:
        # The parent's constructor would load the voice again, or fetch one by name.
        TTSService.__init__(
            self,
            push_start_frame=True,
            push_stop_frames=True,
            settings=self.Settings(model=None, voice="loaded", language=None),
            **kwargs,
        )
        self._voice = voice
        self._session = session
        self._trim = settings.trim_silence
        self._alone = alone
        if settings.cut == "clause":
            self._text_aggregator = ClauseAggregator(settings.least_words, settings.most_first_words)  # type: ignore[assignment]
        self._delay_s = delays.tts_ms / 1000
        self._request: int | None = None
        self._piece = 0

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        if isinstance(frame, LLMFullResponseStartFrame):
            self._request = frame.metadata.get(REQUEST)
            self._piece = 0
        elif isinstance(frame, EagerEndOfTurnCancelFrame):
            # The parent passes this on and would go on speaking to nobody.
            await self._start_interruption()  # type: ignore[no-untyped-call]
            await self._handle_interruption(InterruptionFrame(), direction)
        await super().process_frame(frame, direction)

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        self._piece += 1
        detail = {"request": self._request, "piece": self._piece}
        if self._piece == 1:
            self._session.stamp(marks.FIRST_CLAUSE, text=text, **detail)
        self._session.stamp(marks.TTS_STARTED, text=text, **detail)
        started_s = time.monotonic()
        samples = 0
        rate_hz = self.sample_rate
        with ExitStack() as quiet:
            if self._piece == 1:
                quiet.enter_context(self._alone())
                await asyncio.sleep(self._delay_s)
            async for frame in super().run_tts(text, context_id):
                quiet.close()
                if isinstance(frame, TTSAudioRawFrame):
                    if self._trim and not samples:
                        frame.audio = trim_start(frame.audio, rate_hz)
                        # The transport counts in it how much there is left to hear.
                        frame.num_frames = len(frame.audio) // 2
                    if not samples:
                        self._session.stamp(marks.TTS_FIRST_AUDIO, **detail)
                    samples += frame.num_frames
                yield frame
        audio_s = samples / rate_hz
        self._session.stamp(
            marks.TTS_DONE,
            audio_ms=round(audio_s * 1000, 1),
            real_time_factor=(time.monotonic() - started_s) / audio_s if audio_s else None,
            **detail,
        )


class MarkedSilero(SileroVADAnalyzer):
    """pipecat's silero analyser; marks the windows in which speech began and first fell silent."""

    def __init__(self, settings: VadSettings, session: SessionMarks) -> None:
        super().__init__(
            params=VADParams(
                confidence=settings.confidence,
                start_secs=settings.start_ms / 1000,
                stop_secs=settings.stop_ms / 1000,
                min_volume=settings.min_volume,
            )
        )
        self._session = session

    async def analyze_audio(self, buffer: bytes) -> VADState:
        before = self._vad_state
        state = await super().analyze_audio(buffer)
        if before == VADState.SPEAKING and state in (VADState.STOPPING, VADState.QUIET):
            self._session.stamp(marks.SILENCE_SEEN)
        elif before in (VADState.QUIET, VADState.STARTING) and state == VADState.SPEAKING:
            self._session.stamp(marks.SPEECH_STARTED)
        return state


class MarkedUserAggregator(LLMUserAggregator):
    """pipecat's user aggregator; marks the moment in which its strategies decide that the turn is over.

    A strategy asks for the reply and ends the turn in one breath, in that order; the first of the two is the decision.
    """

    def __init__(self, context: LLMContext, params: LLMUserAggregatorParams, session: SessionMarks) -> None:
        super().__init__(context, params=params)
        self._session = session
        self._decided = False

    def _decide(self, strategy: object) -> None:
        if not self._decided:
            self._session.stamp(marks.TURN_DECIDED, strategy=type(strategy).__name__)
        self._decided = True

    async def _on_user_turn_started(self, controller: Any, strategy: Any, params: Any) -> None:
        self._decided = False
        await super()._on_user_turn_started(controller, strategy, params)

    async def _on_user_turn_inference_triggered(self, controller: Any, strategy: Any, speculation: Any = None) -> None:
        if speculation is None:
            self._decide(strategy)
        await super()._on_user_turn_inference_triggered(controller, strategy, speculation)

    async def _on_user_turn_stopped(self, controller: Any, strategy: Any, params: Any) -> None:
        self._decide(strategy)
        await super()._on_user_turn_stopped(controller, strategy, params)


def aggregators(
    context: LLMContext, params: LLMUserAggregatorParams, session: SessionMarks
) -> tuple[MarkedUserAggregator, LLMAssistantAggregator]:
    """The two halves of pipecat's context aggregation, joined as `LLMContextAggregatorPair` joins them."""
    user = MarkedUserAggregator(context, params, session)
    return user, LLMAssistantAggregator(context, _paired_user_aggregator=user)
