"""The rate at which an agent really sends: samples by the clock, where it sends as it speaks.

Speech at another rate than was stated is slow or quick, and speech all the same, so that no detector objects. But an agent that
sends in real time shows its rate: as many samples come in a second as its clock has. One that sends ahead shows nothing, and a
whole multiple of the stated rate is taken for that: pipecat sends at twice the speed of speech.
"""

from itertools import pairwise
from typing import Final

import numpy as np

from harness.recording.record import Arrival, Recording
from harness.timeline import NS_PER_S

RATES_HZ: Final = (8_000, 16_000, 22_050, 24_000, 44_100, 48_000)
"""The rates at which agents send."""
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
    near = min((stated_hz, *RATES_HZ), key=lambda rate: abs(float(pace) - rate))
    known = uneven_s <= MOST_UNEVEN_S and abs(float(pace) / near - 1) <= WITHIN
    return near if known and near % stated_hz else None
