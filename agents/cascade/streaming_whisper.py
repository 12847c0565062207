"""A pipecat STT service that transcribes at every first silence and decides when the turn is over.

Modelled on services that predict the end of a turn before they commit to it: at the first silence of a pause the words so
far go out as an eager transcript, and the rest of the pipeline may begin to answer; if the caller goes on, it is
withdrawn; once the silence has lasted as long as the endpoint policy asks, it is committed with the very same text, so
that the prepared answer is valid. A long turn is transcribed in pieces (`turn_text`), each frozen at a pause, so that
the last transcription never costs more than the last few seconds; the frozen ones are heard again together once the
caller speaks on.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
from loguru import logger
from numpy.typing import NDArray
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    ProposedUserStartedSpeakingFrame,
    ProposedUserStoppedSpeakingFrame,
    STTMetadataFrame,
    TranscriptionFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import STTService
from pipecat.transcriptions.language import Language
from pipecat.turns.eager_end_of_turn_mixin import EagerEndOfTurnSTTServiceMixin
from pipecat.turns.user_stop import EagerUserTurnStopStrategy, ExternalUserTurnStopStrategy
from pipecat.utils.time import time_now_iso8601

from harness.agents import marks
from harness.agents.cascade.endpoint_policies import EndpointPolicy, PauseEvidence
from harness.agents.cascade.hazard import ListeningPolicy
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.short_context_whisper import RATE_HZ, Heard, ShortContextWhisper
from harness.agents.cascade.turn_text import TurnText
from harness.agents.cascade.turn_tracker import GOES_ON_WITHIN_SAMPLES, WINDOW_SAMPLES, SpeechEvent, TurnTracker

_MEMORY_WINDOWS: Final = 94
"""Three seconds of 32 ms windows: long enough for a few gaps between words, short enough to follow a changing room."""
_FLOOR_PERCENTILE: Final = 10.0
_CALLER_PERCENTILE: Final = 90.0
_CLEAR_SHARE: Final = 0.5
_LEAST_CLEAR_DB: Final = 5.0
_MOST_CLEAR_DB: Final = 8.0
"""A window must be half way between the noise floor and the caller's level, which follows how loud the talkers behind are.
Tried on the 60 turns of heart-open under `babble10`, with the waits of `polaris-like` and the language model's score held
still: with 5 dB whatever the levels, 5 turns were open two seconds after their end, and the median wait was 521 ms; half
way, but 5 to 8 dB, 1 turn and 413 ms, for 10 of 172 short pauses cut instead of 5. A share of 0.6 up to 10 dB took more gaps
between words for silences of 410 ms (126, against 52 and 11). On the clean line the median silence is seen 1 ms sooner."""
_QUIETEST_DB: Final = -80.0


@dataclass(slots=True)
class LevelGate:
    """The gate. It needs every window in order; `push` returns True for one that is clearly above the noise floor.

    It separates the caller's voice from background voices by level. A voice detector answers "is this speech?", and babble is
    speech: among other talkers it never falls silent and the caller's turn never ends. The caller is the loudest voice on the
    line. So a window counts as the caller's only if it is clearly above the noise floor of the line between the caller's
    words, tracked as a low percentile of the last seconds. On a clean line that level is far below speech, and the gate only
    closes sooner than the detector, which lags.
    """

    _levels_db: deque[float] = field(default_factory=lambda: deque(maxlen=_MEMORY_WINDOWS))

    def push(self, window: NDArray[np.int16]) -> bool:
        power = float(np.mean(np.square(window.astype(np.float64) / 32768)))
        level_db = max(_QUIETEST_DB, 10 * float(np.log10(power + 1e-12)))
        self._levels_db.append(level_db)
        floor_db, caller_db = np.percentile(self._levels_db, [_FLOOR_PERCENTILE, _CALLER_PERCENTILE])
        clear_db = min(max(_CLEAR_SHARE * (caller_db - floor_db), _LEAST_CLEAR_DB), _MOST_CLEAR_DB)
        return bool(level_db >= floor_db + clear_db)


LEAD_IN_SAMPLES: Final = RATE_HZ // 4
"""Audio before the start of detected speech: speech begins before silero is sure of it, and this saves first consonants."""
TAIL_SAMPLES: Final = RATE_HZ // 10
_NO_POLL_S: Final = 24 * 3600.0
"""pipecat's strategy looks every half second whether a turn has been left open, for services whose transcript may come late.
Here it comes before the proposal to stop, and in one of fifty turns the look fell into the few milliseconds in which
that proposal was taken up: the same turn was ended twice, and two replies were spoken."""
_LISTENED_SAMPLES: Final = 8 * RATE_HZ
"""Length of audio for smart-turn: eight seconds, including a turn that was ended too soon."""
_LOOK_S: Final = 0.01
"""Interval of checks of the silence: audio arrives every 20 ms."""
_Answer = TypeVar("_Answer")


def least_words(heard_before: int) -> int:
    """Least credible number of words in a piece that has only grown since: corrections remove one or two."""
    return math.floor(0.6 * heard_before)


@dataclass(slots=True)
class _Pause:
    """One pause of the caller, from its first silent window until speech resumes or the turn ends."""

    needed_ms: float
    text: str | None = None
    piece: str = ""
    task: asyncio.Task[None] | None = None
    listening: asyncio.Task[Mapping[str, float]] | None = None
    """The scores of the voice, if the policy uses it."""


class StreamingWhisperSTT(EagerEndOfTurnSTTServiceMixin, STTService):
    """Whisper with eager transcripts and an endpoint policy. Expects 16 kHz mono input.

    `on_frozen` gets the words of this turn that have changed while the caller speaks on, so that a language model can
    have them in its cache before they are asked about.
    """

    def __init__(
        self,
        recogniser: ShortContextWhisper,
        policy: EndpointPolicy,
        *,
        session: SessionMarks | None = None,
        speech_probability: float = 0.5,
        eager_silence_ms: float = 0,
        delay_ms: float = 0,
        on_frozen: Callable[[str], Awaitable[None]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(audio_passthrough=False, settings=STTSettings(model="loaded", language=Language.EN), **kwargs)
        self._recogniser = recogniser
        self._policy = policy
        self._session = session or SessionMarks()
        # The window that first fell silent has passed by the time it is known to be silent.
        self._eager_wait_s = max(0.0, eager_silence_ms / 1000 - WINDOW_SAMPLES / RATE_HZ)
        self._delay_s = delay_ms / 1000
        self._on_frozen = on_frozen
        self._vad = SileroVADAnalyzer(sample_rate=RATE_HZ)
        self._vad.set_sample_rate(RATE_HZ)
        self._gate = LevelGate()
        self._tracker = TurnTracker(speech_probability)
        self._worker = ThreadPoolExecutor(max_workers=2, thread_name_prefix="whisper")
        self._transcribing = asyncio.Lock()
        # A repeated transcription must not delay words that a caller waits for: in 3 of 24 calls these came after 0.8 to 2.3 s.
        self._hearing_again = asyncio.Lock()
        self._audio = np.zeros(0, np.int16)
        self._audio_start = 0
        self._turn: TurnText | None = None
        self._pause: _Pause | None = None
        self._ended: tuple[int, str] | None = None

    @property
    def supports_ttfs(self) -> bool:
        return False

    def service_metadata_frame(self) -> STTMetadataFrame:
        """Recommends turn strategies that leave the turn to this service."""
        frame = super().service_metadata_frame()
        strategies = self.recommended_user_turn_strategies(enable_interruptions=True)
        stop = EagerUserTurnStopStrategy if self._enable_eager_end_of_turn else ExternalUserTurnStopStrategy
        strategies.stop = [stop(timeout=_NO_POLL_S)]
        frame.user_turn_strategies = strategies
        return frame

    async def cleanup(self) -> None:
        await super().cleanup()  # type: ignore[no-untyped-call]
        await self._vad.cleanup()  # type: ignore[no-untyped-call]
        self._worker.shutdown(wait=False)

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        """Not used: transcription is started by pauses, not by audio."""
        del audio
        yield None

    async def process_audio_frame(self, frame: InputAudioRawFrame, _direction: FrameDirection) -> None:
        """Take the next audio, and detect speech, pauses and the end of the turn in it."""
        self._audio = np.concatenate([self._audio, np.frombuffer(frame.audio, np.int16)])
        while self._tracker.position + WINDOW_SAMPLES <= self._audio_start + len(self._audio):
            begin = self._tracker.position - self._audio_start
            window = self._audio[begin : begin + WINDOW_SAMPLES]
            probability = float(np.squeeze(self._vad.voice_confidence(window.tobytes())))
            await self._follow(self._tracker.push(probability if self._gate.push(window) else 0.0))
        await self._end_turn_if_due(marks.SILENCE_SEEN)
        self._forget_old_audio()

    async def _follow(self, event: SpeechEvent | None) -> None:
        if event is SpeechEvent.STARTED:
            self._session.stamp(marks.SPEECH_STARTED)
            begin = max(self._audio_start, self._tracker.speech_start - LEAD_IN_SAMPLES)
            self._turn = TurnText(begin, self._said_before(self._tracker.speech_start))
            await self.push_frame(ProposedUserStartedSpeakingFrame())
        elif event is SpeechEvent.FELL_SILENT:
            self._session.stamp(marks.SILENCE_SEEN)
            self._pause = _Pause(self._policy.longest_ms)
            self._pause.task = self.create_task(self._hear(self._pause))
            if isinstance(self._policy, ListeningPolicy):
                self._pause.listening = self.create_task(self._listen(self._policy, self._pause))
        elif event is SpeechEvent.RESUMED and self._pause is not None:
            await self._resume(self._pause)

    def _said_before(self, speech_start: int) -> str:
        """The words of the turn before, if it was ended so recently that the caller goes on with it."""
        if self._ended is None or speech_start - self._ended[0] > GOES_ON_WITHIN_SAMPLES:
            return ""
        return self._ended[1]

    async def _resume(self, pause: _Pause) -> None:
        self._pause = None
        for task in (pause.task, pause.listening):
            # A question about words that are no longer the last ones would keep the model from the next.
            if task is not None:
                await self.cancel_task(task)
        await self._cancel_eager_end_of_turn()  # type: ignore[no-untyped-call]
        resumed_at = self._tracker.position - 2 * WINDOW_SAMPLES
        self._policy.observe_pause((resumed_at - self._tracker.silence_start) / RATE_HZ * 1000)
        assert self._turn is not None
        silence_start = self._tracker.silence_start
        next_start = max(silence_start, resumed_at - LEAD_IN_SAMPLES)
        if pause.text is not None and self._turn.freeze(pause.piece, silence_start, next_start):
            self.create_task(self._hear_again(self._turn, silence_start))

    async def _hear_again(self, turn: TurnText, silence_start: int) -> None:
        """Transcribe the frozen pieces as one while the caller speaks on: what one lacked as context, another has."""
        async with self._hearing_again:
            if turn is not self._turn or self._pause is not None:
                return
            least, open_from = least_words(turn.stretch_words), turn.piece_start
            heard = await self._transcribe(self._slice(turn.stretch_start, silence_start + TAIL_SAMPLES), least)
            # A piece that was frozen meanwhile is not in what was heard.
            if len(heard.text.split()) < least or turn.piece_start != open_from:
                return
            turn.heard_again(heard.text)
        if self._on_frozen is None or turn is not self._turn or self._pause is not None:
            return
        try:
            await self._on_frozen(turn.frozen)
        except Exception as failed:
            # The next answer comes later for it, and that is all.
            logger.warning("nothing was made of the words heard again: {!r}", failed)

    async def _hear(self, pause: _Pause) -> None:
        """Transcribe the words before a pause, ask the policy about them, and offer them for an answer."""
        await asyncio.sleep(self._eager_wait_s)
        async with self._transcribing:
            if pause is not self._pause or self._turn is None:
                return
            turn = self._turn
            samples = self._slice(turn.piece_start, self._tracker.silence_start + TAIL_SAMPLES)
            heard = await self._transcribe(samples, least_words(turn.piece_words))
            turn.heard_piece(len(heard.text.split()))
        if pause is not self._pause:
            return
        pause.piece = heard.text
        text = turn.with_piece(heard.text)
        if any(character.isalnum() for character in text):
            evidence = PauseEvidence(text, samples, turn.said_before, heard.states)
            weighed: Mapping[str, float] = {}
            if isinstance(self._policy, ListeningPolicy):
                weighed = await self._asked(self._policy.weigh_words(evidence), {})
            else:
                pause.needed_ms = await self._asked(self._policy.silence_needed_ms(evidence), self._policy.longest_ms)
                self._session.stamp(marks.TURN_SCORED, needed_ms=round(pause.needed_ms))
            if pause is not self._pause:
                return
            await self._push_eager_end_of_turn(text, user_id="")
            pause.text = text
            if isinstance(self._policy, ListeningPolicy) and pause.listening is not None:
                weighed = {**weighed, **await asyncio.shield(pause.listening)}
                pause.needed_ms = self._policy.silence_for_ms(weighed)
                scores = {name: round(p, 3) for name, p in weighed.items()}
                self._session.stamp(marks.TURN_SCORED, needed_ms=round(pause.needed_ms), scores=scores)
        pause.text = text
        await self._end_turn_if_due(marks.TURN_SCORED)

    async def _listen(self, policy: ListeningPolicy, pause: _Pause) -> Mapping[str, float]:
        """The scores of the voice, after the silence that the policy needs."""
        until = self._tracker.silence_start + round(policy.listens_ms / 1000 * RATE_HZ)
        while self._audio_start + len(self._audio) < until:
            await asyncio.sleep(_LOOK_S)
            if pause is not self._pause:
                return {}
        samples = self._slice(until - _LISTENED_SAMPLES, until)
        return await self._asked(policy.weigh_voice(PauseEvidence("", samples)), {})

    async def _asked(self, question: Awaitable[_Answer], otherwise: _Answer) -> _Answer:
        try:
            return await question
        except Exception as failed:
            # A scorer that fails must cost the caller a longer wait, never the answer.
            logger.warning("endpoint policy failed, waiting longer: {!r}", failed)
            return otherwise

    async def _transcribe(self, samples: NDArray[np.float32], least_words: int) -> Heard:
        loop = asyncio.get_running_loop()
        self._session.stamp(marks.ASR_STARTED, audio_ms=round(len(samples) / RATE_HZ * 1000))
        await asyncio.sleep(self._delay_s)
        heard, done_ns = await loop.run_in_executor(self._worker, self._timed, samples, least_words)
        self._session.stamp(marks.ASR_DONE, at_ns=done_ns, text=heard.text, retries=heard.retries or None)
        return heard

    def _timed(self, samples: NDArray[np.float32], least_words: int) -> tuple[Heard, int]:
        heard = self._recogniser.transcribe(samples, least_words)
        return heard, time.monotonic_ns()

    async def _end_turn_if_due(self, waited_for: str) -> None:
        pause = self._pause
        # A voiced window is not yet a resumption, but no moment to start talking either: the next one decides.
        if pause is None or pause.text is None or self._tracker.voiced:
            return
        silent_samples = self._audio_start + len(self._audio) - self._tracker.silence_start
        if silent_samples / RATE_HZ * 1000 < pause.needed_ms:
            return
        self._session.stamp(marks.ENDPOINT_REACHED, cause=waited_for)
        assert self._turn is not None
        self._ended = (self._tracker.position, f"{self._turn.said_before} {pause.text}".strip())
        self._pause = None
        self._turn = None
        self._tracker.end_turn()
        self._clear_eager_end_of_turn()  # type: ignore[no-untyped-call]
        if any(character.isalnum() for character in pause.text):
            await self.push_frame(TranscriptionFrame(pause.text, "", time_now_iso8601(), Language.EN, finalized=True))
        await self.push_frame(ProposedUserStoppedSpeakingFrame())

    def _slice(self, start: int, end: int) -> NDArray[np.float32]:
        piece = self._audio[max(0, start - self._audio_start) : end - self._audio_start]
        return piece.astype(np.float32) / np.float32(32768)

    def _forget_old_audio(self) -> None:
        keep_from = self._tracker.position - _LISTENED_SAMPLES - LEAD_IN_SAMPLES
        if self._turn is not None:
            keep_from = min(keep_from, self._turn.stretch_start)
        drop = keep_from - self._audio_start
        if drop > RATE_HZ:
            self._audio = self._audio[drop:]
            self._audio_start += drop
