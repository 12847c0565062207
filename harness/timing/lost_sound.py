"""Turns of a person's sitting whose wait is not known: the microphone lost sound before the answer began, or nobody knows how
late it recorded.

Lost sound is silence in the recording, so an answer that began inside it would seem to begin after it, and a cut-in could
vanish. Gaps keep their length, so each delays an onset by no more than itself. What is lost after the onset changes no wait.
Without a loop-back trial the answer lies late by the latency of a page, often more than a person waits; then nothing is known
that compares the answer with the caller. What was said is the same in both cases.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.timing.figures import TurnTiming

LOST: Final = "the microphone lost sound before the answer began"
NO_LATENCY: Final = "the latency of the page is not known"
"""`TurnTiming.discarded` of such turns."""
MOST_ERROR_MS: Final = 20.0
"""The error that a wait in the supporter's seat may have at most (p95), a tenth of the 200 ms that people leave between turns.
A page that is less exact says so; with less sound lost in all, no onset moved by more."""


def with_losses(timings: Sequence[TurnTiming], lost_ms: Sequence[tuple[float, float]]) -> tuple[TurnTiming, ...]:
    """The timings, those discarded of which more than `MOST_ERROR_MS` of sound was lost from the first of the take to the onset
    of the answer. `lost_ms`: stretches in ms of the take."""
    return tuple(_without_floor(t, LOST) if _lost_before(t, lost_ms) > MOST_ERROR_MS else t for t in timings)


def without_latency(timings: Sequence[TurnTiming]) -> tuple[TurnTiming, ...]:
    """The timings of a take of unknown latency, all discarded, without any figure that compares it with the caller."""
    return tuple(
        replace(
            _without_floor(turn, NO_LATENCY),
            signed_ms=None,
            first_byte_ms=None,
            first_sound_ms=None,
            first_speech_ms=None,
            first_word_ms=None,
            first_substance_ms=None,
            yield_ms=None,
        )
        for turn in timings
    )


def _without_floor(turn: TurnTiming, why: str) -> TurnTiming:
    """A discarded turn, of which neither the wait nor who spoke over whom is known."""
    endpointing = turn.endpointing
    if endpointing is not None:
        endpointing = replace(endpointing, pauses=(), dead_air_ms=None, decision_ms=None, talking_at_end=False, discarded=why)
    return replace(
        turn,
        ttfa_ms=None,
        cut_in=False,
        pauses_marked=0,
        pauses_cut=0,
        pause_durations_ms=(),
        pause_was_cut=(),
        endpointing=endpointing,
        discarded=why,
    )


def _lost_before(turn: TurnTiming, lost_ms: Sequence[tuple[float, float]]) -> float:
    onset_ms = turn.ttfa_ms if turn.ttfa_ms is not None else turn.signed_ms
    until_ms = float("inf") if onset_ms is None else turn.spoken_end_ms + onset_ms
    return sum(max(0.0, min(end, until_ms) - start) for start, end in lost_ms)
