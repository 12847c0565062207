"""A pipecat STT service that transcribes while the caller speaks and decides when the turn is over.

Modelled on services that predict the end of a turn before they commit to it: at the first silence of a pause the words so
far go out as an eager transcript, and the rest of the pipeline may begin to answer; if the caller goes on, it is
withdrawn; once the silence has lasted as long as the endpoint policy asks, it is committed with the very same text, so
that the prepared answer is valid.

The answer waits for the last transcript, so that must be quick. Words are transcribed now and then while they are spoken, and
the last transcript continues from what these agree on (a recogniser that cannot continue begins anew). A long turn is
transcribed in pieces (`turn_text`), each closed at a pause, or in mid-speech if there is none; the closed ones are heard again
together while the caller speaks on.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
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
from harness.agents.cascade.recogniser import RATE_HZ, Heard, Recogniser, quietest_place, timed
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.turn_text import Pause, TurnText, least_words
from harness.agents.cascade.turn_tracker import GOES_ON_WITHIN_SAMPLES, WINDOW_SAMPLES, LevelGate, SpeechEvent, TurnTracker
from harness.agents.cascade.voice_edge import voice_edge

LEAD_IN_SAMPLES: Final = RATE_HZ // 4
"""Audio before the start of detected speech: speech begins before silero is sure of it, and this saves first consonants."""
TAIL_SAMPLES: Final = RATE_HZ // 10
_NO_POLL_S: Final = 24 * 3600.0
"""pipecat's strategy looks every half second whether a turn has been left open, for services whose transcript may come late.
Here it comes before the proposal to stop, and in one of fifty turns the look fell into the few milliseconds in which
that proposal was taken up: the same turn was ended twice, and two replies were spoken."""
LISTENED_SAMPLES: Final = 8 * RATE_HZ
"""Length of audio for smart-turn: eight seconds, including a turn that was ended too soon."""
_SPEECH_PIECES: Final = 3
"""A piece that has found no pause is closed in mid-speech once it is this many times as long as one must be."""
NOT_HEARD: Final = 0.1
"""The score of one that is not ready, or failed: it speaks against an end, because the quickest alone must not cut a pause that
the others would know. At 0.1 a turn ends at once without smart-turn if the rest is sure, and without the ear for holding cues
only if words and smart-turn are nearly certain."""
_ALONE_S: Final = 0.5
"""Longest time for which the scores of the voice stop other work: a scorer that hangs must not hold up the reply."""
NEWEST_SAMPLES: Final = RATE_HZ // 50
"""20 ms: one frame of the caller's audio."""
_DOUBT_S: Final = 0.1
"""Longest time for which sound that the detector takes for no speech puts off the end of a turn."""
_LOOK_S: Final = 0.01
"""Interval of checks of the silence: audio arrives every 20 ms."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class SttTiming:
    """When a recogniser hears speech, and when it transcribes. `partial_every_ms`: None: not before the caller is silent."""

    speech_probability: float = 0.5
    eager_silence_ms: float = 0
    partial_every_ms: float | None = None
    delay_ms: float = 0


class StreamingSTT(EagerEndOfTurnSTTServiceMixin, STTService):
    """A recogniser with eager transcripts and an endpoint policy. Expects 16 kHz mono input.

    `on_words` gets the words of this turn so far while the caller speaks on, so that a language model can have them in its
    cache before they are asked about. `alone` is entered while the voice is weighed: what competes for the cores can be stopped
    there.
    """

    def __init__(
        self,
        recogniser: Recogniser,
        policy: EndpointPolicy,
        *,
        session: SessionMarks | None = None,
        timing: SttTiming = SttTiming(),
        on_words: Callable[[str], Awaitable[None]] | None = None,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
        **kwargs: Any,
    ) -> None:
        super().__init__(audio_passthrough=False, settings=STTSettings(model="loaded", language=Language.EN), **kwargs)
        self._recogniser = recogniser
        self._policy = policy
        self._session = session or SessionMarks()
        # The window that first fell silent has passed by the time it is known to be silent.
        self._eager_wait_s = max(0.0, timing.eager_silence_ms / 1000 - WINDOW_SAMPLES / RATE_HZ)
        self._delay_s = timing.delay_ms / 1000
        self._on_words = on_words
        self._alone = alone
        self._vad = SileroVADAnalyzer(sample_rate=RATE_HZ)
        self._vad.set_sample_rate(RATE_HZ)
        self._gate = LevelGate()
        self._tracker = TurnTracker(timing.speech_probability)
        self._worker = ThreadPoolExecutor(max_workers=3, thread_name_prefix="recogniser")
        self._transcribing = asyncio.Lock()
        every_ms = timing.partial_every_ms
        self._partial_samples = None if every_ms is None else round(every_ms / 1000 * RATE_HZ)
        self._partial: asyncio.Task[None] | None = None
        self._partial_stop = threading.Event()
        self._transcribed_until = 0
        # A repeated transcription must not delay words that a caller waits for: in 3 of 24 calls these came after 0.8 to 2.3 s.
        self._hearing_again = asyncio.Lock()
        self._audio = np.zeros(0, np.int16)
        self._audio_start = 0
        self._turn: TurnText | None = None
        self._pause: Pause | None = None
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
        pause, self._pause, self._turn = self._pause, None, None
        for task in (self._partial, *(() if pause is None else (pause.task, pause.listening))):
            if task is not None and not task.done():
                await self.cancel_task(task)
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
        self._hear_partial_if_due()
        await self._end_turn_if_due(marks.SILENCE_SEEN)
        self._forget_old_audio()

    async def _follow(self, event: SpeechEvent | None) -> None:
        if event is SpeechEvent.STARTED:
            self._session.stamp(marks.SPEECH_STARTED)
            begin = max(self._audio_start, self._tracker.speech_start - LEAD_IN_SAMPLES)
            said_before = self._said_before(self._tracker.speech_start)
            self._turn = TurnText.heard_by(self._recogniser, begin, said_before)
            self._transcribed_until = begin
            await self.push_frame(ProposedUserStartedSpeakingFrame())
        elif event is SpeechEvent.FELL_SILENT:
            self._session.stamp(marks.SILENCE_SEEN)
            self._partial_stop.set()
            self._pause = Pause(self._policy.longest_ms, self._tracker.silence_start)
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

    async def _resume(self, pause: Pause) -> None:
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
            self.create_task(self._hear_again(self._turn, silence_start + TAIL_SAMPLES))

    def _hear_partial_if_due(self) -> None:
        """Transcribe the open piece while the caller speaks, so that little of it is new when they fall silent."""
        if self._partial_samples is None or self._turn is None or self._pause is not None or not self._tracker.in_turn:
            return
        if self._tracker.position - max(self._transcribed_until, self._turn.piece_start) < self._partial_samples:
            return
        if self._partial is None or self._partial.done():
            self._transcribed_until = self._tracker.position
            self._partial_stop = threading.Event()
            self._partial = self.create_task(self._hear_partial(self._turn, self._turn.piece_start, self._partial_stop))

    async def _hear_partial(self, turn: TurnText, piece_start: int, stop: threading.Event) -> None:
        samples = self._slice(piece_start, self._tracker.position)
        before, cut = turn.known, 0
        if len(samples) > _SPEECH_PIECES * turn.piece_from_samples:
            cut = quietest_place(samples)
            samples = samples[:cut]
        loop = asyncio.get_running_loop()
        heard, _ = await loop.run_in_executor(self._worker, timed, self._recogniser, samples, 0, () if cut else before, stop)
        if stop.is_set() or turn is not self._turn or piece_start != turn.piece_start:
            return
        if cut:
            if turn.freeze(heard.text, piece_start + cut, piece_start + cut):
                await self._hear_again(turn, piece_start + cut)
            return
        turn.heard_piece(0, heard.tokens, self._recogniser.agreed)
        if self._on_words is not None and self._pause is None:
            # All but the last word, which may be half a word.
            await self._prepare(turn.with_piece(self._recogniser.text_of(self._recogniser.agreed(heard.tokens, heard.tokens))))

    async def _hear_again(self, turn: TurnText, until: int) -> None:
        """Transcribe the frozen pieces as one while the caller speaks on: what one lacked as context, another has."""
        async with self._hearing_again:
            if turn is not self._turn or self._pause is not None:
                return
            least, open_from = least_words(turn.stretch_words), turn.piece_start
            heard = await self._transcribe(self._slice(turn.stretch_start, until), least)
            # A piece that was frozen meanwhile is not in what was heard.
            if len(heard.text.split()) < least or turn.piece_start != open_from:
                return
            turn.heard_again(heard.text)
        if self._on_words is not None and turn is self._turn and self._pause is None:
            await self._prepare(turn.with_piece(self._recogniser.text_of(turn.known)))

    async def _prepare(self, words: str) -> None:
        assert self._on_words is not None
        try:
            await self._on_words(words)
        except Exception as failed:
            # The next answer comes later for it, and that is all.
            logger.warning("nothing was made of the words so far: {!r}", failed)

    async def _hear(self, pause: Pause) -> None:
        """Transcribe the words before a pause, ask the policy about them, and offer them for an answer."""
        await asyncio.sleep(self._eager_wait_s)
        async with self._transcribing:
            if pause is not self._pause or self._turn is None:
                return
            turn = self._turn
            samples = self._slice(turn.piece_start, self._tracker.silence_start + TAIL_SAMPLES)
            heard = await self._transcribe(samples, least_words(turn.piece_words), turn.known)
            turn.heard_piece(len(heard.text.split()), heard.tokens, self._recogniser.agreed)
            self._transcribed_until = self._tracker.position
        if pause is not self._pause:
            return
        pause.piece = heard.text
        text = turn.with_piece(heard.text)
        if any(character.isalnum() for character in text):
            evidence = PauseEvidence(text, samples, turn.said_before)
            if not isinstance(self._policy, ListeningPolicy):
                pause.needed_ms = await self._asked(self._policy.silence_needed_ms(evidence), self._policy.longest_ms)
                self._session.stamp(marks.TURN_SCORED, needed_ms=round(pause.needed_ms))
            if pause is not self._pause:
                return
            await self._push_eager_end_of_turn(text, user_id="")
            pause.text = text
            if isinstance(self._policy, ListeningPolicy) and pause.listening is not None:
                pause.words = await self._asked(self._policy.weigh_words(evidence), {})
                self._weigh(self._policy, pause)
                await asyncio.shield(pause.listening)
        pause.text = text
        await self._end_turn_if_due(marks.TURN_SCORED)

    async def _listen(self, policy: ListeningPolicy, pause: Pause) -> None:
        """Score the voice, after the silence that the policy needs."""
        until = self._tracker.silence_start + round(policy.listens_ms / 1000 * RATE_HZ)
        if not await self._heard_until(until, pause):
            return
        samples = self._slice(until - LISTENED_SAMPLES, until)
        pause.edge = voice_edge(samples, until - self._tracker.silence_start)
        if pause.edge is not None:
            pause.silent_from = until - pause.edge.silent_samples
        if await self._heard_until(pause.silent_from + round(policy.asks_after_ms / 1000 * RATE_HZ), pause):
            evidence = PauseEvidence("", samples)
            with ExitStack() as quiet:
                quiet.enter_context(self._alone())
                asyncio.get_running_loop().call_later(_ALONE_S, quiet.close)
                await asyncio.gather(*(self._score(policy, pause, name, evidence) for name in policy.voices))

    async def _score(self, policy: ListeningPolicy, pause: Pause, scorer: str, evidence: PauseEvidence) -> None:
        pause.voice[scorer] = await self._asked(policy.weigh_voice(scorer, evidence), NOT_HEARD)
        if pause is self._pause:
            self._weigh(policy, pause)
            await self._end_turn_if_due(marks.TURN_SCORED)

    def _weigh(self, policy: ListeningPolicy, pause: Pause) -> None:
        """Set the silence that the scores so far ask for: the quickest of the voice need not wait for the slowest."""
        if pause.words is None or not pause.voice:
            return
        weighed = {**dict.fromkeys(policy.voices, NOT_HEARD), **pause.words, **pause.voice}
        pause.needed_ms = policy.silence_for_ms(weighed)
        scores = {name: round(p, 3) for name, p in weighed.items()}
        self._session.stamp(marks.TURN_SCORED, needed_ms=round(pause.needed_ms), scores=scores)

    async def _heard_until(self, position: int, pause: Pause) -> bool:
        """Wait for audio up to a position; False if the pause is over before."""
        while self._audio_start + len(self._audio) < position:
            await asyncio.sleep(_LOOK_S)
            if pause is not self._pause:
                return False
        return True

    async def _asked(self, question: Awaitable[_Answer], otherwise: _Answer) -> _Answer:
        try:
            return await question
        except Exception as failed:
            # A scorer that fails must cost the caller a longer wait, never the answer.
            logger.warning("endpoint policy failed, waiting longer: {!r}", failed)
            return otherwise

    async def _transcribe(self, samples: NDArray[np.float32], least_words: int, known: tuple[int, ...] = ()) -> Heard:
        loop = asyncio.get_running_loop()
        self._session.stamp(marks.ASR_STARTED, audio_ms=round(len(samples) / RATE_HZ * 1000))
        await asyncio.sleep(self._delay_s)
        heard, done_ns = await loop.run_in_executor(self._worker, timed, self._recogniser, samples, least_words, known, None)
        self._session.stamp(marks.ASR_DONE, at_ns=done_ns, text=heard.text, retries=heard.retries or None)
        return heard

    async def _end_turn_if_due(self, waited_for: str) -> None:
        pause = self._pause
        # A voiced window is not yet a resumption, but no moment to start talking either: the next one decides.
        if pause is None or pause.text is None or self._tracker.voiced:
            return
        now = self._audio_start + len(self._audio)
        if (now - pause.silent_from) / RATE_HZ * 1000 < pause.needed_ms or self._may_be_going_on(pause, now):
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

    def _may_be_going_on(self, pause: Pause, now: int) -> bool:
        """True if there is sound in the newest audio that the detector has not judged yet."""
        if pause.edge is None or now - pause.silent_from > round((pause.needed_ms / 1000 + _DOUBT_S) * RATE_HZ):
            return False
        return pause.edge.is_sound(self._slice(now - NEWEST_SAMPLES, now))

    def _slice(self, start: int, end: int) -> NDArray[np.float32]:
        piece = self._audio[max(0, start - self._audio_start) : end - self._audio_start]
        return piece.astype(np.float32) / np.float32(32768)

    def _forget_old_audio(self) -> None:
        keep_from = self._tracker.position - LISTENED_SAMPLES - LEAD_IN_SAMPLES
        if self._turn is not None:
            keep_from = min(keep_from, self._turn.stretch_start)
        drop = keep_from - self._audio_start
        if drop > RATE_HZ:
            self._audio = self._audio[drop:]
            self._audio_start += drop
