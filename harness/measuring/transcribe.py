"""What was heard: the reply's audio turned back into words, after all calls are over.

Judges read what a listener would have heard, not what the agent says it said. The transcriber is the harness's own and
the same for every agent, and it never runs while a call is on.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from harness import models
from harness.audio.pcm import to_int16
from harness.progress import RunProgress
from harness.recording import playout
from harness.recording.record import Recording
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.timing.event_words import with_event_words
from harness.timing.figures import TurnTiming
from harness.timing.words import Word, all_with_words

TRANSCRIBER = "whisper-base"
"""The better of the two that ship; its word error rate on rendered speech stands in docs/voices.md."""

GIVEN: Final = "another, given by its caller"
"""What a manifest says of a transcriber that is not the harness's own."""


class Hears(Protocol):
    """What a transcriber gives: text, and words with start and end in seconds."""

    @property
    def text(self) -> str: ...
    @property
    def words(self) -> tuple[Word, ...]: ...


Transcribe = Callable[[NDArray[np.int16], int], Hears]


def reply_heard(
    recording: Recording, transcribe: Transcribe, broken_off_ms: float | None = None
) -> tuple[str, tuple[Word, ...]]:
    """Text of what the agent said from the last caller turn on, and the words (on the recording's timeline) of the whole call.

    Each reply is heard alone, so that the last one, which is judged, is the same words whatever came before. One that was
    broken off and taken up again (`broken_off_ms`: in the quiet between, on the recording's timeline) is heard in two parts:
    Whisper, given both at once, leaves out the words that are said a second time.
    """
    track = playout.heard(recording)
    caller = recording.caller
    starts = [turn.start_sample for turn in caller.turns if turn.kind == "turn"] or [caller.speech_start_sample]
    begins = [round(start / caller.rate_hz * playout.HEARD_RATE_HZ) for start in starts]
    again = round(broken_off_ms / 1000 * playout.HEARD_RATE_HZ) if broken_off_ms is not None else None
    texts: list[str] = []
    words: list[Word] = []
    for begin, end in zip(begins, [*begins[1:], len(track.samples)], strict=True):
        cuts = [again] if again is not None and begin < again < end else []
        texts = []
        for start, stop in zip([begin, *cuts], [*cuts, end], strict=True):
            heard = track.samples[start:stop]
            if np.any(heard):
                found = transcribe(to_int16(heard), playout.HEARD_RATE_HZ)
                offset_s = start / playout.HEARD_RATE_HZ
                texts.append(found.text)
                words += [(w, from_s + offset_s, to_s + offset_s) for w, from_s, to_s in found.words]
    return " ".join(text for text in texts if text), tuple(words)


def transcribe_all(store: RunStore, progress: RunProgress, transcribe: Transcribe | None = None) -> None:
    """Transcribe every finished session that has not been, and give its timing the first words; what fails is named and kept.

    `transcribe` is the one that ships unless another is given.

    Raises:
        UserError: the transcriber's weights cannot be had.
    """
    waiting = [s for s in store.sessions() if s.status == "finished" and s.heard_text is None and s.timing is not None]
    waiting = [s for s in waiting if (s.folder / "recording.json").exists()]
    if not waiting:
        return
    named = GIVEN
    if transcribe is None:
        from harness.audio.transcribe import Transcriber

        transcribe, named = Transcriber(models.resolve(TRANSCRIBER)).transcribe, TRANSCRIBER
    _name(store, named)  # before the first words, so that a run that is killed among them does not deny whose they are
    progress.phase("Transcribing what was heard", len(waiting))
    for session in waiting:
        found = attempt(session.id, "transcribing", partial(_heard, store, session, transcribe))
        if isinstance(found, StepFailure):
            store.set_step_failure(found)
            progress.step(f"{session.id}: could not be transcribed ({found.detail})", keep=True)
            continue
        text, words = found
        store.set_heard(session.id, text, words)
        store.clear_step_failure(session.id, "transcribing")
        if session.turn_timings:
            timed = all_with_words(session.turn_timings, words)
            store.set_timing(session.id, (*timed[:-1], with_event_words(timed[-1], words, session.written_text)))
        progress.step(session.key.context_id)


def _name(store: RunStore, transcriber: str) -> None:
    """Put down who hears, after any who heard earlier sessions of the run."""
    manifest = store.manifest
    before = manifest.transcriber.split("; ") if manifest.transcriber else []
    if transcriber not in before:
        store.set_manifest(manifest.model_copy(update={"transcriber": "; ".join([*before, transcriber])}))


def _heard(store: RunStore, session: Session, transcribe: Transcribe) -> tuple[str, tuple[Word, ...]]:
    return reply_heard(store.recording(session), transcribe, _broken_off_ms(session.timing))


def _broken_off_ms(timing: TurnTiming | None) -> float | None:
    """The middle of the quiet after which an agent took up its reply again."""
    event = timing.event if timing is not None else None
    if event is None or event.stop_ms is None or event.silent_ms is None:
        return None
    return event.at_ms + event.stop_ms + event.silent_ms / 2
