"""The agent's reaction to a sound beside its speech: a "mm-hm", a cough, a door, another person's voice.

It is measured in the heard track and not taken from the agent's reports, as `yield` is. A stop is where its speech ends
(`harness.timing.falling_silent`) while the event sounds or soon after. The audio alone cannot distinguish a reply that was
broken off from one that had just come to its end: `harness.timing.event_words` uses the agent's own words, and an event of no
sound at all, the control, shows how often a reply ends or stalls by itself there.
"""

from collections.abc import Sequence
from typing import Final

from harness.audio.level import first_sample, last_sample
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.recording.record import CallerTrack, SpokenTurn
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.barge_in import heard_sample
from harness.timing.falling_silent import silent_from
from harness.timing.figures import EventTaken
from harness.timing.utterances import Sound

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
    at_ms = _ms(onset)
    if not any(s.start <= onset < s.end for s in vocal):
        return EventTaken(METHOD, spoken.event, at_ms, "not_sounding")
    silent = silent_from(track, onset, clears)
    if silent > end + STOP_WITHIN_S * HEARD_RATE_HZ:
        return EventTaken(METHOD, spoken.event, at_ms, "went_on")
    stop_ms = _ms(silent - onset)
    again = min((s.start for s in vocal if s.start >= silent), default=None)
    cleared = any(onset <= c <= end + STOP_WITHIN_S * HEARD_RATE_HZ for c in clears)
    if again is None:
        return EventTaken(METHOD, spoken.event, at_ms, "stopped", stop_ms, cleared=cleared)
    return EventTaken(METHOD, spoken.event, at_ms, "spoke_again", stop_ms, _ms(again - silent), cleared)


def _ms(samples: int) -> float:
    return samples_to_ns(samples, HEARD_RATE_HZ) / NS_PER_MS
