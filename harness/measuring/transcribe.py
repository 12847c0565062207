"""Transcripts of the replies' audio, made after all calls are over.

Judges read what a listener would have heard, not the agent's own text. The transcriber is the harness's own and
the same for every agent, and it never runs during a call.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from harness import models
from harness.audio.pcm import to_int16
from harness.measuring.timings import keep_timings, timings_from
from harness.progress import RunProgress
from harness.recording import playout
from harness.recording.record import Recording
from harness.replies.kinds import place_of
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.timing.figures import OF_A_FILE, TurnTiming
from harness.timing.words import Word

TRANSCRIBER = "whisper-base"
"""The better of the two shipped transcribers; docs/evidence/callers.md has its word error rate on rendered speech."""

GIVEN: Final = "another, given by its caller"
"""The manifest's entry for a transcriber that is not the harness's own."""


class Hears(Protocol):
    """The result of a transcriber: text, and words with start and end in seconds."""

    @property
    def text(self) -> str: ...
    @property
    def words(self) -> tuple[Word, ...]: ...


Transcribe = Callable[[NDArray[np.int16], int], Hears]


def reply_heard(
    recording: Recording, transcribe: Transcribe, broken_off_ms: float | None = None
) -> tuple[str, tuple[Word, ...]]:
    """The text of the agent's speech from the last caller turn on, and all words of the call (on the recording's timeline).

    Each reply is transcribed alone, so that the last one, which is judged, has the same words whatever came before. A reply
    that was broken off and resumed (`broken_off_ms`: in the silence between, on the recording's timeline) is done in two parts:
    given both at once, Whisper leaves out the words that are spoken a second time.
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


def transcribe_all(
    store: RunStore,
    progress: RunProgress,
    transcribe: Transcribe | None = None,
    named: str = GIVEN,
    but: Collection[str] = (),
) -> None:
    """Transcribe each finished session without transcript, and measure it with its words; failures are stored by name.

    `transcribe` is the shipped transcriber unless another is given, by its name. `but`: contexts whose sessions stay without
    words.

    Raises UserError: the transcriber's weights cannot be downloaded.
    """
    waiting = [s for s in store.sessions() if s.status == "finished" and s.heard_text is None and s.timing is not None]
    waiting = [s for s in waiting if s.timing is not None and s.timing.method != OF_A_FILE]  # their words are known
    waiting = [s for s in waiting if (s.folder / "recording.json").exists() and s.key.context_id not in but]
    if not waiting:
        return
    if transcribe is None:
        from harness.audio.transcribe import Transcriber

        transcribe, named = Transcriber(models.resolve(TRANSCRIBER)).transcribe, TRANSCRIBER
    _name(store, named)  # before the first words, so that even a killed run names their transcriber
    progress.phase("Transcribing the replies", len(waiting))
    for session in waiting:
        found = attempt(session.id, "transcribing", partial(_heard, store, session, transcribe))
        if isinstance(found, StepFailure):
            store.set_step_failure(found)
            progress.step(f"{session.id}: could not be transcribed ({found.detail})", keep=True)
            continue
        text, words = found
        timed = timings_from(store, session, words=words)
        judged = text if isinstance(timed, StepFailure) else _without_backchannels(text, words, timed[-1])
        store.set_heard(session.id, judged, words)
        store.clear_step_failure(session.id, "transcribing")
        keep_timings(store, session.id, timed)
        progress.step(session.key.context_id)


def _without_backchannels(text: str, words: Sequence[Word], turn: TurnTiming) -> str:
    """The judged reply: a listener's "mm-hm" before it, or over the caller, is none of its words."""
    if not turn.backchannels:
        return text
    of_reply = words[len(words) - len(text.split()) :]
    if " ".join(word for word, _, _ in of_reply) != text:
        return text
    places = [
        place_of((word, start_s * 1000 - turn.spoken_end_ms, end_s * 1000 - turn.spoken_end_ms), turn.utterances)
        for word, start_s, end_s in of_reply
    ]
    kept = [
        word
        for (word, _, _), place in zip(of_reply, places, strict=True)
        if place is None or turn.utterances[place].kind != "backchannel"
    ]
    return " ".join(kept)


def _name(store: RunStore, transcriber: str) -> None:
    """Add the transcriber's name to the manifest, after those of earlier sessions."""
    manifest = store.manifest
    before = manifest.transcriber.split("; ") if manifest.transcriber else []
    if transcriber not in before:
        store.set_manifest(manifest.model_copy(update={"transcriber": "; ".join([*before, transcriber])}))


def _heard(store: RunStore, session: Session, transcribe: Transcribe) -> tuple[str, tuple[Word, ...]]:
    return reply_heard(store.recording(session), transcribe, _broken_off_ms(session.timing))


def _broken_off_ms(timing: TurnTiming | None) -> float | None:
    """The middle of the silence after which an agent resumed its reply."""
    event = timing.event if timing is not None else None
    if event is None or event.stop_ms is None or event.silent_ms is None:
        return None
    return event.at_ms + event.stop_ms + event.silent_ms / 2
