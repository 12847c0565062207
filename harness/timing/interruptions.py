"""The agent's reaction to a sound from the caller's side during its reply: a barge-in, or an event ("mm-hm", a cough, a door).

It is measured in the heard track and not taken from the agent's reports: an agent that reports an interruption and lets its
buffer play out has not yielded. Nor has one that pauses between two sentences: synthesisers leave 200–400 ms there, so a quiet
longer than any between sentences is the end, and so is a short one in which the agent took back audio that it had sent. Sound
alone cannot distinguish a reply that was broken off from one that had just come to its end: words do
(`harness.timing.words`), and an event of no sound at all, the control, shows how often a reply ends there by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import WINDOW_S, block_power, first_sample, last_sample
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.recording.record import CallerTrack, SpokenTurn
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.figures import EventFate, EventTaken
from harness.timing.utterances import AUDIBLE_POWER, UTTERANCE_GAP_S, Sound

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
    return BargeIn(_ms(silent - at), ANSWERED if answered else NOT_ANSWERED)


def heard_sample(caller_sample: int, caller: CallerTrack) -> int:
    """The sample of the heard track at which a sample of the caller was spoken."""
    return round(caller_sample * HEARD_RATE_HZ / caller.rate_hz)


METHOD: Final = "events-1"
STOP_WITHIN_S: Final = 1.5
"""Time after the event's end. Chosen, not measured: for a slow endpointer to take the event for a turn and clear its buffer."""


def judge_event(
    track: HeardTrack, vocal: Sequence[Sound], clears: Sequence[int], caller: CallerTrack, spoken: SpokenTurn
) -> EventTaken:
    """The agent's reaction to one event. `clears`: samples of the track at which it dropped audio that it had sent."""
    dry = caller.dry[spoken.start_sample : spoken.end_sample]
    last = last_sample(dry, caller.rate_hz)
    onset = heard_sample(spoken.start_sample + (first_sample(dry, caller.rate_hz) or 0), caller)
    end = heard_sample(spoken.end_sample if last is None else spoken.start_sample + last, caller)
    taken = partial(EventTaken, METHOD, spoken.event, _ms(onset))
    if not any(s.start <= onset < s.end for s in vocal):
        return taken("not_sounding")
    silent, until = silent_from(track, onset, clears), end + STOP_WITHIN_S * HEARD_RATE_HZ
    if silent > until:
        return taken("went_on")
    again = min((s.start for s in vocal if s.start >= silent), default=None)
    silent_ms = None if again is None else _ms(again - silent)
    fate: EventFate = "stopped" if again is None else "spoke_again"
    return taken(fate, _ms(silent - onset), silent_ms, any(onset <= c <= until for c in clears))


def _ms(samples: int) -> float:
    return samples_to_ns(samples, HEARD_RATE_HZ) / NS_PER_MS


FLOOR_PERCENTILE: Final = 5.0
OVER_FLOOR: Final = 10.0
"""Power over a track's own noise from which it sounds: 10 dB, as in recordings of rooms (`harness.audio.recorded_turns`). A
line's noise above −65 dB never ends, so by that level alone an agent on such a line would never fall silent."""
SILENT_S: Final = 0.2
"""Longer than the gaps between words, shorter than the quickest new answer. It is enough only where the agent cleared."""


def silent_from(track: HeardTrack, at: int, clears: Sequence[int]) -> int:
    """One past the last audible sample of the speech that is heard at a sample; `at` itself where nothing is heard from there.

    `clears`: samples at which the agent dropped audio that it had sent.
    """
    loud = _audible(track.samples, at)
    if not len(loud):
        return at
    for k in np.flatnonzero(np.diff(loud) > SILENT_S * HEARD_RATE_HZ):
        quiet, again = int(loud[k]), int(loud[k + 1])
        if again - quiet > UTTERANCE_GAP_S * HEARD_RATE_HZ or any(quiet <= c <= again for c in clears):
            return quiet + 1
    return int(loud[-1]) + 1


def _audible(samples: NDArray[np.float32], at: int) -> NDArray[np.intp]:
    """The samples from `at` on that sound; over a noise the last of each 8 ms that do."""
    block = round(WINDOW_S * HEARD_RATE_HZ)
    floor = float(np.percentile(block_power(samples, block), FLOOR_PERCENTILE)) if len(samples) else 0.0
    if floor * OVER_FLOOR <= AUDIBLE_POWER:
        return at + np.flatnonzero(samples[at:] ** 2 > AUDIBLE_POWER)
    blocks = np.flatnonzero(block_power(samples[at:], block) > floor * OVER_FLOOR)
    return np.minimum(at + (blocks + 1) * block, len(samples)) - 1
