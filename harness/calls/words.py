"""The words of recorded calls, only where they are asked for: they give the first word and the first word of substance.

The transcriber writes English, and would write English words for any language: of a call in another one no words are given,
and its language is named. Times do not depend on words.
"""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from harness import models
from harness.audio.pcm import Float32, resample_float, to_float
from harness.audio.transcribe import WHISPER_RATE_HZ, Transcriber
from harness.calls.as_run import note
from harness.measuring.transcribe import TRANSCRIBER, Hears, transcribe_all
from harness.progress import RunProgress
from harness.recording.record import Recording
from harness.store.run_store import RunStore
from harness.store.session import Session

WRITES: Final = "en"
SURE: Final = 0.8
"""Least certainty of the model from which another language is believed; of a short or noisy call it is unsure, and such a call
is transcribed."""
LISTENS_S: Final = 30.0
"""As much as the model takes for naming a language."""


class Ear(Protocol):
    """A transcriber that names languages."""

    def transcribe(self, samples: NDArray[np.int16], rate_hz: int, /) -> Hears: ...
    def language_of(self, signal: Float32, /) -> tuple[str, float]: ...


def add_words(store: RunStore, progress: RunProgress, ear: Ear | None = None) -> None:
    """Transcribe each measured call in English that has no transcript; the languages of the others go into the manifest.

    Raises:
        UserError: the transcriber's weights cannot be downloaded.
    """
    waiting = [s for s in store.sessions() if s.status == "finished" and s.heard_text is None and s.timing is not None]
    if not waiting:
        return
    if ear is None:
        ear = Transcriber(models.resolve(TRANSCRIBER))
    progress.phase("Naming languages", len(waiting))
    for session in waiting:
        language, sure = ear.language_of(_beginning(session, store.recording(session)))
        if language != WRITES and sure >= SURE and store.manifest.calls is not None:
            note(store, other_language={**store.manifest.calls.other_language, session.key.context_id: language})
        progress.step(session.key.context_id)
    calls = store.manifest.calls
    transcribe_all(store, progress, ear.transcribe, TRANSCRIBER, calls.other_language if calls is not None else {})


def _beginning(session: Session, recording: Recording) -> Float32:
    """The first of the agent's speech."""
    spoken = [
        turn.spoken_end_ms + sound.start_ms for turn in session.turn_timings for sound in turn.utterances
        if sound.kind != "nonvocal"
    ]  # fmt: skip
    rate_hz = recording.agent_rate_hz
    begin = round(max(0.0, min(spoken, default=0.0)) / 1_000 * rate_hz)
    part = recording.agent_pcm[begin : begin + round(LISTENS_S * rate_hz)]
    return resample_float(to_float(part), rate_hz, WHISPER_RATE_HZ)
