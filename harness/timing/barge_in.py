"""The agent's reaction to a barge-in: how long it talks on, and whether it then answers.

`yield` runs from the first audible sample of the interruption to the agent's last one. It is measured in the heard track and
not taken from the agent's reports: an agent that reports an interruption and lets its buffer play out has not yielded. Nor has
one that pauses between two sentences (`harness.timing.falling_silent`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.audio.level import first_sample
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.recording.record import CallerTrack, SpokenTurn
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.falling_silent import silent_from
from harness.timing.utterances import Sound

ANSWERED: Final = "barge-in answered"
NOT_ANSWERED: Final = "barge-in not answered"
NOT_SOUNDING: Final = "agent silent at barge-in"


@dataclass(frozen=True, slots=True)
class BargeIn:
    """A reaction. `yield_ms` is None when the agent was silent as the interruption began. `label`: one of the three above."""

    yield_ms: float | None
    label: str


def judge_barge_in(
    track: HeardTrack, vocal: Sequence[Sound], clears: Sequence[int], caller: CallerTrack, spoken: SpokenTurn
) -> BargeIn:
    """The agent's reaction to one interruption. `clears`: samples of the track at which it dropped audio that it had sent."""
    dry = caller.dry[spoken.start_sample : spoken.end_sample]
    at = heard_sample(spoken.start_sample + (first_sample(dry, caller.rate_hz) or 0), caller)
    silent = silent_from(track, at, clears)
    end = heard_sample(spoken.end_sample, caller)
    answered = any(s.start >= silent and s.end > end for s in vocal) or any(s.start >= end for s in vocal)
    if not any(s.start <= at < s.end for s in vocal):
        return BargeIn(None, NOT_SOUNDING)
    yield_ms = samples_to_ns(silent - at, HEARD_RATE_HZ) / NS_PER_MS
    return BargeIn(yield_ms, ANSWERED if answered else NOT_ANSWERED)


def heard_sample(caller_sample: int, caller: CallerTrack) -> int:
    """The sample of the heard track at which a sample of the caller was spoken."""
    return round(caller_sample * HEARD_RATE_HZ / caller.rate_hz)
