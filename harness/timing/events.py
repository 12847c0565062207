"""What the agent does when something sounds beside its speech: a "mm-hm", a cough, a door, another person's voice.

Such an event asks for nothing, so the agent should talk on. It is read from the heard track and not from the agent's
word, as `yield` is: an agent that reports an interruption and plays on has not stopped. A stop is a quiet of
`UTTERANCE_GAP_S` or more, longer than what synthesisers leave between sentences, that begins while the event sounds or
soon after. Two things the audio alone cannot tell. A reply that stopped and one that had just come to its end look alike:
events belong into the first part of a long reply, and a reply that ends there counts as stopped. An agent that stops and
goes on after less than that quiet counts as having gone on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.utterances import AUDIBLE_POWER, UTTERANCE_GAP_S, Sound

STOP_WITHIN_S: Final = 1.5
"""After the event's end. Chosen, not measured: time for a slow endpointer to take the event for a turn and clear its buffer."""
WENT_ON: Final = "went on"
STOPPED: Final = "false stop"
RESTARTED: Final = "false stop and restart"
NOT_SOUNDING: Final = "agent silent at event"


@dataclass(frozen=True, slots=True)
class EventResponse:
    """How the agent took one event. `label` is one of the four above.

    `stop_ms` runs from the event's onset to the agent's last audible sample, None unless it stopped. `silent_ms` is the
    quiet that follows, None unless it spoke again: it is then a restart, of the same words or of others.
    """

    label: str
    stop_ms: float | None = None
    silent_ms: float | None = None


def judge_event(track: HeardTrack, vocal: Sequence[Sound], onset: int, end: int) -> EventResponse:
    """How the agent took one event that sounds from `onset` to `end` (samples of the heard track).

    Raises `ValueError` for an event that ends before it begins or begins before the track does.
    """
    if not 0 <= onset <= end:
        raise ValueError(f"an event cannot run from sample {onset} to sample {end}")
    if not any(s.start <= onset < s.end for s in vocal):
        return EventResponse(NOT_SOUNDING)
    loud = onset + np.flatnonzero(track.samples[onset:] ** 2 > AUDIBLE_POWER)
    if not len(loud):
        return EventResponse(NOT_SOUNDING)
    gaps = np.flatnonzero(np.diff(loud) > UTTERANCE_GAP_S * HEARD_RATE_HZ)
    silent = int(loud[gaps[0]] if len(gaps) else loud[-1]) + 1
    if silent > end + STOP_WITHIN_S * HEARD_RATE_HZ:
        return EventResponse(WENT_ON)
    stop_ms = _ms(silent - onset)
    again = min((s.start for s in vocal if s.start >= silent), default=None)
    if again is None:
        return EventResponse(STOPPED, stop_ms)
    return EventResponse(RESTARTED, stop_ms, _ms(again - silent))


def _ms(samples: int) -> float:
    return samples_to_ns(samples, HEARD_RATE_HZ) / NS_PER_MS
