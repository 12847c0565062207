"""Turns whose wait is not known, with the reason: of a person's sitting, and of a call that already happened.

*Sittings*: lost sound is silence in the recording, so an answer that began inside it would seem to begin after it. Gaps keep
their length, so each delays an onset by no more than itself; what is lost after the onset changes no wait. Without a loop-back
trial the answer lies late by the latency of a page, often more than a person waits.

*Recorded calls*: a production call ends when somebody hangs up, mostly after a goodbye that nobody answers. That is no silence
of the agent, nor is music on hold. But a caller who waited for five seconds and then hung up, or spoke again, was not answered.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.recording.record import Recording, SpokenTurn
from harness.timing.figures import NO_REPLY_MS, TurnTiming

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


CALL_ENDED: Final = "the call ended before an answer"
ON_HOLD: Final = "music, or another long sound without speech, in place of an answer"
"""`TurnTiming.discarded` of such turns."""
GAVE_UP_MS: Final = 5_000.0
"""Silence of a call's end from which nobody answered: a caller's own pauses are shorter (`recorded_turns.LONGEST_PAUSE_S`)."""
LEAST_HOLD_MS: Final = 3_000.0
"""Shortest sound without speech that holds the line; a chime or a keyboard is shorter."""


def of_recorded_call(turns: Sequence[TurnTiming], recording: Recording) -> tuple[TurnTiming, ...]:
    """The timings of a recorded call, without the figures that such a recording cannot give."""
    caller = recording.caller
    lasts_ms = 1_000 * max(len(caller.played) / caller.rate_hz, len(recording.agent_pcm) / recording.agent_rate_hz)
    spoke_on = _spoke_on(caller.turns)
    return tuple(
        _known(replace(turn, labels=()) if k in spoke_on else turn, lasts_ms, is_last=k == len(turns) - 1)
        for k, turn in enumerate(turns)
    )


def _spoke_on(spoken: Sequence[SpokenTurn]) -> frozenset[int]:
    """The turns whose reply the caller interrupted and spoke on into a turn, whose own wait says how that was answered."""
    found, turns = set(), 0
    for k, one in enumerate(spoken):
        turns += one.kind == "turn"
        after = spoken[k + 1] if k + 1 < len(spoken) else None
        if one.kind == "barge_in" and after is not None and after.kind == "turn" and after.start_sample == one.end_sample:
            found.add(turns - 1)
    return frozenset(found)


def _known(turn: TurnTiming, lasts_ms: float, *, is_last: bool) -> TurnTiming:
    turn = replace(turn, waterfall=None, first_byte_ms=None)
    if not turn.no_reply:
        return turn
    # From the caller's end on, because the music may have begun long before they asked whether anybody is there.
    if any(u.kind == "nonvocal" and u.start_ms < NO_REPLY_MS and u.end_ms - max(0.0, u.start_ms) >= LEAST_HOLD_MS
           for u in turn.utterances):  # fmt: skip
        return _unknown(turn, ON_HOLD)
    if is_last and lasts_ms - turn.spoken_end_ms < GAVE_UP_MS:
        return _unknown(turn, CALL_ENDED)
    return turn


def _unknown(turn: TurnTiming, why: str) -> TurnTiming:
    endpointing = replace(turn.endpointing, discarded=why) if turn.endpointing is not None else None
    return replace(turn, no_reply=False, discarded=why, endpointing=endpointing)
