"""Turns whose wait is not known, because the microphone lost sound before the answer began.

Lost sound is silence in the recording, so an answer that began inside it would seem to begin after it, and a cut-in could
vanish. Gaps keep their length, so each delays an onset by no more than itself. What is lost after the onset changes no wait.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.timing.figures import TurnTiming

LOST: Final = "the microphone lost sound before the answer began"
"""`TurnTiming.discarded` of such a turn."""
MOST_LOST_MS: Final = 20.0
"""The error that a wait in the supporter's seat may have at most (p95): with less lost in all, no onset moved by more."""


def with_losses(timings: Sequence[TurnTiming], lost_ms: Sequence[tuple[float, float]]) -> tuple[TurnTiming, ...]:
    """The timings, those discarded of which more than `MOST_LOST_MS` of sound was lost from the first of the take to the onset
    of the answer. `lost_ms`: stretches in ms of the take."""
    return tuple(replace(t, ttfa_ms=None, discarded=LOST) if _lost_before(t, lost_ms) > MOST_LOST_MS else t for t in timings)


def _lost_before(turn: TurnTiming, lost_ms: Sequence[tuple[float, float]]) -> float:
    onset_ms = turn.ttfa_ms if turn.ttfa_ms is not None else turn.signed_ms
    until_ms = float("inf") if onset_ms is None else turn.spoken_end_ms + onset_ms
    return sum(max(0.0, min(end, until_ms) - start) for start, end in lost_ms)
