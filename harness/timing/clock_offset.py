"""An agent on another machine stamps its marks by a clock of its own; how far that clock is from the caller's, and how surely.

Two facts bound the offset without any protocol. A mark cannot arrive before it was stamped: the quickest mark of the
session gives an upper bound. And an agent cannot hear the caller before the caller speaks: its first mark about the
caller's speech gives a lower one. The estimate is their middle and the uncertainty half the distance, which is at most
half of what the quickest mark and the agent's detector took together. Marks that lie between being stamped and being read
by less than a second were made on the caller's own clock, whose offset is zero exactly: clocks of different machines count
from their own start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents import marks
from agents.connection import Mark
from harness.recording.record import CallerTrack
from harness.timeline import NS_PER_S, samples_to_ns

SAME_CLOCK_NS: Final = NS_PER_S
_HEARS_THE_CALLER: Final = frozenset(
    (marks.SPEECH_STARTED, marks.SILENCE_SEEN, marks.ASR_STARTED, marks.ASR_DONE, marks.TURN_DECIDED)
)


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """What to add to the agent's stamps, in ns. `refused` names a contradiction; the stamps are then of no use."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    refused: str | None = None


def estimate(found: Sequence[Mark], caller: CallerTrack) -> ClockOffset:
    """The offset of the clock that stamped the marks of a session."""
    if not found:
        return ClockOffset()
    upper = min(mark.arrival_ns - mark.at_ns for mark in found)
    if 0 <= upper < SAME_CLOCK_NS:
        return ClockOffset()
    first_turn = min((t.start_sample for t in caller.turns), default=caller.speech_start_sample)
    speech_ns = caller.t0_ns + samples_to_ns(first_turn, caller.rate_hz)
    heard = [mark.at_ns for mark in found if mark.name in _HEARS_THE_CALLER]
    if not heard:
        return ClockOffset(upper, 0, "the agent's clock is another one and nothing bounds its offset from below")
    lower = speech_ns - min(heard)
    if lower > upper:
        return ClockOffset(0, 0, "the agent's marks contradict one another: heard before it was said, or read before sent")
    return ClockOffset((lower + upper) // 2, (upper - lower) // 2)
