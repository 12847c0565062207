"""Whisper in the place of a vendor's streaming recogniser, for pipecat's default turn strategies.

With pipecat's own Whisper service an earlier stretch can arrive after the caller has gone on, and counts as the turn's last
words (docs/evidence/endpointing.md). What the default strategies are worth can only be seen beside a recogniser that streams.
This one behaves as pipecat's Deepgram service does: when the VAD has heard its stop, the audio so far is finalized, and the
transcript is final only if it answers the newest request. There are no interim transcripts, which could only open a turn that
the VAD opens anyway.
"""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pipecat.frames.frames import Frame, TranscriptionFrame, VADUserStartedSpeakingFrame, VADUserStoppedSpeakingFrame
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import STTService
from pipecat.transcriptions.language import Language
from pipecat.utils.time import time_now_iso8601

from harness.agents import marks
from harness.agents.cascade.recogniser import RATE_HZ, timed
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.short_context_whisper import ShortContextWhisper

_BYTES_PER_SAMPLE: Final = 2
LEAD_IN_SAMPLES: Final = RATE_HZ // 2
"""Audio before the VAD's start: it needs 200 ms to be sure, and speech begins before it is heard as such."""
LONGEST_SAMPLES: Final = 20 * RATE_HZ
"""A stretch without a stop is transcribed in pieces of this length, as vendors do: Whisper takes 30 s at most."""


class FinalizingWhisperSTT(STTService):
    """A streaming service in pipecat's sense over a loaded recogniser. Expects 16 kHz mono input."""

    def __init__(
        self,
        recogniser: ShortContextWhisper,
        *,
        ttfs_p99_s: float,
        session: SessionMarks | None = None,
        delay_ms: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(settings=STTSettings(model="loaded", language=Language.EN), ttfs_p99_latency=ttfs_p99_s, **kwargs)
        self._recogniser = recogniser
        self._session = session or SessionMarks()
        self._delay_s = delay_ms / 1000
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="whisper")
        self._in_order = asyncio.Lock()
        self._audio = bytearray()
        self._speaking = False
        self._request = 0

    async def cleanup(self) -> None:
        await super().cleanup()  # type: ignore[no-untyped-call]
        self._worker.shutdown(wait=False)

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        """Take the next audio; words come when the VAD has heard its stop."""
        self._audio += audio
        if not self._speaking:
            del self._audio[: -LEAD_IN_SAMPLES * _BYTES_PER_SAMPLE]
        elif len(self._audio) >= LONGEST_SAMPLES * _BYTES_PER_SAMPLE:
            self.create_task(self._hear(self._taken(), None))
        yield None

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, VADUserStartedSpeakingFrame):
            self._speaking = True
        elif isinstance(frame, VADUserStoppedSpeakingFrame):
            self._speaking = False
            self._request += 1
            self.request_finalize()  # type: ignore[no-untyped-call]
            self.create_task(self._hear(self._taken(), self._request))

    def _taken(self) -> NDArray[np.float32]:
        samples = np.frombuffer(bytes(self._audio), np.int16).astype(np.float32) / np.float32(32768)
        self._audio.clear()
        return samples

    async def _hear(self, samples: NDArray[np.float32], request: int | None) -> None:
        """Transcribe a stretch, and mark its words as final if they answer the newest request."""
        async with self._in_order:
            self._session.stamp(marks.ASR_STARTED, audio_ms=round(len(samples) / RATE_HZ * 1000))
            await asyncio.sleep(self._delay_s)
            loop = asyncio.get_running_loop()
            heard, done_ns = await loop.run_in_executor(self._worker, timed, self._recogniser, samples)
            self._session.stamp(marks.ASR_DONE, at_ns=done_ns, text=heard.text, retries=heard.retries or None)
            if any(character.isalnum() for character in heard.text):
                if request == self._request:
                    # Without effect if the caller has gone on: the VAD's start withdraws the request.
                    self.confirm_finalize()  # type: ignore[no-untyped-call]
                await self.push_frame(TranscriptionFrame(heard.text, self._user_id, time_now_iso8601(), Language.EN))
