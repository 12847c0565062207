"""What the agent does when the caller interrupts it: how long it talks on, and whether it then answers.

`yield` runs from the first audible sample of the interruption to the agent's last one. It is read from the heard track and not
from the agent's word: an agent that reports an interruption and lets its buffer play out has not yielded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from audio.level import first_sample
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.recording.record import CallerTrack, SpokenTurn
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.utterances import AUDIBLE_POWER, Sound

SILENT_S: Final = 0.2
"""Longer than the gaps between words, shorter than the quickest new answer."""
ANSWERED: Final = "barge-in answered"
NOT_ANSWERED: Final = "barge-in not answered"
NOT_SOUNDING: Final = "agent silent at barge-in"


@dataclass(frozen=True, slots=True)
class BargeIn:
    """`yield_ms` is None when the agent did not sound when the interruption began. `label` is one of the three above."""

    yield_ms: float | None
    label: str


def judge_barge_in(track: HeardTrack, vocal: Sequence[Sound], caller: CallerTrack, spoken: SpokenTurn) -> BargeIn:
    """How the agent took one interruption."""
    dry = caller.dry[spoken.start_sample : spoken.end_sample]
    onset = spoken.start_sample + (first_sample(dry, caller.rate_hz) or 0)
    at = _heard_sample(onset, caller)
    silent = _silent_from(track, at)
    end = _heard_sample(spoken.end_sample, caller)
    answered = any(s.start >= silent and s.end > end for s in vocal) or any(s.start >= end for s in vocal)
    if not any(s.start <= at < s.end for s in vocal):
        return BargeIn(None, NOT_SOUNDING)
    yield_ms = samples_to_ns(silent - at, HEARD_RATE_HZ) / NS_PER_MS
    return BargeIn(yield_ms, ANSWERED if answered else NOT_ANSWERED)


def _heard_sample(caller_sample: int, caller: CallerTrack) -> int:
    return round(caller_sample * HEARD_RATE_HZ / caller.rate_hz)


def _silent_from(track: HeardTrack, at: int) -> int:
    """The end of the sound that is heard at a sample: where `SILENT_S` of silence begins."""
    loud = np.flatnonzero(track.samples[at:] ** 2 > AUDIBLE_POWER)
    if not len(loud):
        return at
    gaps = np.flatnonzero(np.diff(loud) > SILENT_S * HEARD_RATE_HZ)
    return at + int(loud[gaps[0]] if len(gaps) else loud[-1]) + 1
