"""The cause of a call that was up and brought no speech: no sound, sound that cannot be heard, or sound at another rate.

"Does it hear the caller?" is the wrong question to somebody whose bot did answer, at 48,000 Hz, and was played at 8,000. So
the sound that came is looked at first, then what the bot said of the caller: a bot that shows that it heard has lost its
voice, and one that shows nothing may be deaf.

Speech at another rate than was stated is slow or quick, and speech all the same, so that no detector objects. But an agent
that sends in real time shows its rate by the clock (`paced_rate_hz`). One that sends ahead shows nothing, and a whole multiple
of the stated rate is taken for that: pipecat sends at twice the speed of speech.
"""

from collections.abc import Set
from itertools import pairwise
from typing import Final

import numpy as np

from harness.agents.connections.what_to_check import Place, sentence
from harness.audio.level import AUDIBLE_RMS, block_power
from harness.audio.pcm import FULL_SCALE, Int16, resample, to_float
from harness.audio.vocal import RATE_HZ, WINDOW, VocalDetector, vocal_spans
from harness.recording.record import Arrival, Recording
from harness.recording.why_silent import why_silent
from harness.replies.agent_words import understood
from harness.timeline import NS_PER_S
from harness.timing.figures import NO_REPLY_MS

RATES_HZ: Final = (8_000, 16_000, 24_000, 48_000)
"""The rates at which agents send."""
LEAST_SPEECH_S: Final = 0.25
"""A voice that is shorter may be chance: at a wrong rate the sound is distorted, and the detector may still find a syllable."""
OF_THE_SOUND: Final = ("output_rate_hz", "reply_encoding")
"""Settings of the kinds that say how an agent sends its sound."""
_SIGNS: Final = ("user-started-speaking", "speech_started", "user-transcription", "input_audio_buffer")


def why_no_answer(
    recording: Recording, vocal: VocalDetector, settings: Set[str] = frozenset(), spoke: bool = False, usual: str = ""
) -> str:
    """One sentence: what is wrong, and what to check. `settings`: those of the agent's kind, because advice names no others.

    `spoke`: it was heard in the caller's turn. `usual`: what is usually behind the silence of such an agent.
    """
    if (named := why_silent(recording.marks)) is not None:
        return f"no reply: {named}"
    if spoke:
        into = "it spoke into the caller's turn, and not once the turn was over"
        return f"{into}: it took a pause of the caller for the end, or only murmured"
    place = Place(timeout_s=NO_REPLY_MS / 1000)
    pcm, rate_hz = recording.agent_pcm, recording.agent_rate_hz
    if np.any(block_power(pcm, max(1, rate_hz // 50)) > (AUDIBLE_RMS / FULL_SCALE) ** 2):
        found = {rate: _speech_s(pcm, rate, vocal) for rate in RATES_HZ if rate != rate_hz}
        best = max(found, key=found.__getitem__)
        named = next((setting for setting in OF_THE_SOUND if setting in settings), "the rate that the agent states")
        if found[best] >= LEAST_SPEECH_S:
            mend = f"played at {best:,} Hz it is speech, so check {named}, or have the agent send {rate_hz:,} Hz"
            return sentence("wrong_rate", place, rate_hz=rate_hz, detail=mend)
        if not recording.full_duplex:  # Else it may be the noise between its words.
            mend = f"check {named}, and if the agent sends the encoding of this wire and no other"
            return sentence("wrong_rate", place, rate_hz=rate_hz, detail=mend)
    if (begun := _open_turn(recording)) and "turn_detection" in settings:
        return sentence("no_end", place, detail=f"it reported {begun}")
    more = f"; {usual}" if usual else ""
    if sign := _sign_of_hearing(recording):
        return sentence("one_way", place, detail=sign) + more
    return sentence("silent", place, detail="only silence" if len(pcm) else "no sound") + more


def _speech_s(pcm: Int16, rate_hz: int, vocal: VocalDetector) -> float:
    """Seconds of voice in the sound if it has this rate."""
    spans = vocal_spans(vocal(to_float(resample(pcm, rate_hz, RATE_HZ))))
    return sum(end - start for start, end in spans) * WINDOW / RATE_HZ


def _sign_of_hearing(recording: Recording) -> str:
    """What shows that the agent heard its caller; empty if nothing does."""
    if (words := understood(recording)) is not None:
        return f'it understood "{words[:60]}"'
    return next((f"it reported {m.name}" for m in recording.marks if any(sign in m.name for sign in _SIGNS)), "")


def _open_turn(recording: Recording) -> str:
    """The mark of a turn that the agent found begun and not ended; empty if there is none."""
    said = [m.name for m in recording.marks if m.name.endswith(("speech_started", "speech_stopped", "committed"))]
    return said[-1] if said and said[-1].endswith("speech_started") else ""


_PACED_HZ: Final = (*RATES_HZ, 22_050, 44_100)
LEAST_S: Final = 1.5
"""Length of a stretch that shows a rate; its first half second, which may be sent ahead, is left out."""
GAP_S: Final = 0.3
AHEAD_S: Final = 0.5
WITHIN: Final = 0.03
"""A sender that sleeps between pieces is up to 3 % slow; the nearest two rates are 8 % apart."""
MOST_UNEVEN_S: Final = 0.05
"""Largest deviation from an even pace (RMS): more is a sender with another plan than real time."""


def paced_rate_hz(recording: Recording) -> int | None:
    """The known rate at which the agent sends in real time, where that is not the stated one; None otherwise."""
    stretches = _stretches(recording.arrivals)
    found = {rate for stretch in stretches if (rate := _rate_of(stretch, recording.agent_rate_hz)) is not None}
    return found.pop() if len(found) == 1 else None


def _stretches(arrivals: tuple[Arrival, ...]) -> list[list[Arrival]]:
    made: list[list[Arrival]] = [[*arrivals[:1]]]
    for before, after in pairwise(arrivals):
        if after.arrival_ns - before.arrival_ns > GAP_S * NS_PER_S:
            made.append([])
        made[-1].append(after)
    return made


def _rate_of(stretch: list[Arrival], stated_hz: int) -> int | None:
    """The rate of one stretch; None where it shows none but the stated one."""
    if not stretch:
        return None
    at_s = np.array([(a.arrival_ns - stretch[0].arrival_ns) / NS_PER_S for a in stretch])
    sent = np.array([a.offset_samples - stretch[0].offset_samples for a in stretch], dtype=np.float64)
    steady = at_s >= AHEAD_S
    if at_s[-1] < LEAST_S or steady.sum() < 10:
        return None
    pace, start = np.polyfit(at_s[steady], sent[steady], 1)
    uneven_s = float(np.sqrt(np.mean((sent[steady] - start - pace * at_s[steady]) ** 2))) / max(float(pace), 1.0)
    near = min((stated_hz, *_PACED_HZ), key=lambda rate: abs(float(pace) - rate))
    known = uneven_s <= MOST_UNEVEN_S and abs(float(pace) / near - 1) <= WITHIN
    return near if known and near % stated_hz else None
