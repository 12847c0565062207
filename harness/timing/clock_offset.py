"""Offset of the clock by which an agent on another machine stamps its marks from the caller's clock, and its uncertainty.

Two facts bound it without any protocol: a mark cannot arrive before it was stamped (the quickest mark of a session bounds from
above), and an agent cannot hear the caller before the caller speaks (its first mark about that bounds from below). The
estimate is their middle, the uncertainty half their distance. Marks read less than a second after their stamp are of the
caller's own clock, because clocks of different machines count from their own start. Where the bounds contradict each other,
the side with fewer marks is refused, or both: a single false mark must not move the clock of all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.agents import marks
from harness.agents.connection import Mark
from harness.recording.record import CallerTrack
from harness.timeline import NS_PER_S, samples_to_ns

SAME_CLOCK_NS: Final = NS_PER_S
_HEARS_THE_CALLER: Final = frozenset(
    (marks.SPEECH_STARTED, marks.SILENCE_SEEN, marks.ASR_STARTED, marks.ASR_DONE, marks.TURN_DECIDED)
)
_NO_STAGES: Final = marks.OF_THE_SERVER | marks.OF_TOOLS
KNOWN: Final = frozenset(v for name, v in vars(marks).items() if name.isupper() and isinstance(v, str)) - _NO_STAGES
_UNBOUNDED: Final = "the agent's clock is another one and nothing bounds its offset from below"
_CONTRADICTION: Final = "the agent's marks contradict one another: heard before it was said, or read before sent"


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The offset to add to the agent's stamps, in ns. `refused` names a contradiction; the stamps are then useless."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    refused: str | None = None
    is_the_caller_s: bool = True


@dataclass(frozen=True, slots=True)
class Believed:
    """The marks that can be true, and the reasons, by name, why others cannot."""

    marks: tuple[Mark, ...]
    refused: tuple[str, ...] = ()


def estimate(found: Sequence[Mark], caller: CallerTrack) -> ClockOffset:
    """The offset of the clock that stamped the marks of a session."""
    found = [mark for mark in found if _has_a_time(mark)]
    quick = sum(0 <= mark.arrival_ns - mark.at_ns < SAME_CLOCK_NS for mark in found)
    ahead = sum(mark.arrival_ns < mark.at_ns for mark in found)
    if not found or (quick and quick >= ahead):
        return ClockOffset()
    clock = _bounded(found, caller)
    if clock.refused is not _CONTRADICTION:
        return clock
    spoke_ns, upper = _first_speech_ns(caller), _upper(found)
    lower = spoke_ns - min(mark.at_ns for mark in found if mark.name in _HEARS_THE_CALLER)
    too_late = [mark for mark in found if mark.arrival_ns - mark.at_ns < lower]
    too_early = [mark for mark in found if mark.name in _HEARS_THE_CALLER and spoke_ns - mark.at_ns > upper]
    if len(too_late) == len(too_early):
        return clock
    lying = {id(mark) for mark in min(too_late, too_early, key=len)}
    return _bounded([mark for mark in found if id(mark) not in lying], caller)


def believed(found: Sequence[Mark], caller: CallerTrack, clock: ClockOffset) -> Believed:
    """The marks without those that their clock shows to be impossible, beyond its uncertainty."""
    if clock.refused is not None:
        return Believed((), (clock.refused,))
    kept: list[Mark] = []
    refused: dict[str, None] = {}
    for mark in found:
        why = _impossible(mark, caller, clock)
        if why is None:
            kept.append(mark)
        elif mark.name in KNOWN:
            # The agent's own names are part of no figure.
            refused[f"{mark.name} {why}"] = None
    return Believed(tuple(kept), tuple(refused))


def _has_a_time(mark: Mark) -> bool:
    return 0 <= mark.at_ns < 2**63


def _impossible(mark: Mark, caller: CallerTrack, clock: ClockOffset) -> str | None:
    if not _has_a_time(mark):
        return "stamped with a time that no clock gives"
    earliest, latest = (mark.at_ns + clock.offset_ns + sign * clock.uncertainty_ns for sign in (-1, 1))
    if earliest > mark.arrival_ns:
        return "stamped after it had arrived"
    if latest < caller.t0_ns:
        return "stamped before the session began"
    # On the caller's own clock this is a detector that took noise for speech.
    if not clock.is_the_caller_s and mark.name in _HEARS_THE_CALLER and latest + 1 < _first_speech_ns(caller):
        return "stamped before the caller had spoken"
    return None


def _bounded(found: Sequence[Mark], caller: CallerTrack) -> ClockOffset:
    upper = _upper(found)
    heard = [mark.at_ns for mark in found if mark.name in _HEARS_THE_CALLER]
    if not heard:
        return ClockOffset(upper, 0, _UNBOUNDED, is_the_caller_s=False)
    lower = _first_speech_ns(caller) - min(heard)
    if lower > upper:
        return ClockOffset(0, 0, _CONTRADICTION, is_the_caller_s=False)
    return ClockOffset((lower + upper) // 2, (upper - lower + 1) // 2, is_the_caller_s=False)


def _upper(found: Sequence[Mark]) -> int:
    return min((mark.arrival_ns - mark.at_ns for mark in found), default=0)


def _first_speech_ns(caller: CallerTrack) -> int:
    first_turn = min((t.start_sample for t in caller.turns), default=caller.speech_start_sample)
    return caller.t0_ns + samples_to_ns(first_turn, caller.rate_hz)
