"""Turns of a call that already happened: what its recording cannot say is unknown, with the reason.

A call of a run goes on until nothing was heard for 15 s. A production call ends when somebody hangs up, mostly right after
the caller's goodbye, which nobody answers: that is no silence of the agent. Nor is music on hold. Such a turn is unknown, and
counts on no side. But a caller who waited for five seconds and then hung up, or spoke again, was not answered.

A recording has no arrivals of messages and no marks, so nothing is said of them either.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.recording.record import Recording, SpokenTurn
from harness.timing.figures import NO_REPLY_MS, TurnTiming

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
