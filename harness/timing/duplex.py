"""Both sides at once: the overlap of a full-duplex agent with its caller, its backchannels, and the regularity of its units.

Such an agent listens while it speaks, so overlap is its mode of talk: the figures say how much, and not that it is wrong. A
backchannel is counted apart, because it leaves the floor with the caller (`harness.replies.kinds`).

An agent that makes a unit of 80 ms needs to send one every 80 ms. Its cadence is the length of the sound that mostly comes at
once, and not the time between arrivals: of an agent that is always too slow, all would be as late as each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from harness.audio.level import first_sample
from harness.recording.playout import is_endless
from harness.recording.record import CallerTrack, Recording, SpokenTurn
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.endpointing import inner_gaps
from harness.timing.figures import Duplex, Utterance, Where
from harness.timing.utterances import TALK

LATE: Final = 1.5
"""Times its cadence after which a unit is late: halfway to a unit that is missing."""
AT_ONCE: Final = 0.5
"""Part of its own length within which a message belongs to the unit before: some agents cut a unit into messages."""

SpanMs = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a call: the length of one; of each but the first, when it began to arrive, and the time since the last."""

    cadence_ms: float
    gaps: tuple[tuple[int, float], ...]


def units_of(recording: Recording) -> Units | None:
    """The units of a full-duplex agent; None of every other, and of one that did not send all the time."""
    arrivals, rate = [a for a in recording.arrivals if a.count_samples], recording.agent_rate_hz
    if not recording.full_duplex or not is_endless(recording, [True] * len(recording.arrivals)):
        return None
    lengths_ms = [samples_to_ns(arrivals[0].count_samples, rate) / NS_PER_MS]
    gaps: list[tuple[int, float]] = []
    for before, after in pairwise(arrivals):
        gap_ms = (after.arrival_ns - before.arrival_ns) / NS_PER_MS
        length_ms = samples_to_ns(after.count_samples, rate) / NS_PER_MS
        if gap_ms < AT_ONCE * length_ms:
            lengths_ms[-1] += length_ms
        else:
            lengths_ms.append(length_ms)
            gaps.append((after.arrival_ns, gap_ms))
    return Units(median(lengths_ms), tuple(gaps))


def speech_of(caller: CallerTrack, turn: SpokenTurn, spoken_end: int) -> list[tuple[int, int]]:
    """The stretches of a turn that are speech, in samples of the caller's track, without pauses of 200 ms and more."""
    begin = turn.start_sample + (first_sample(caller.dry[turn.start_sample : turn.end_sample], caller.rate_hz) or 0)
    gaps = [gap for gap in inner_gaps(caller, turn) if begin < gap.end_sample and gap.start_sample < spoken_end]
    starts, ends = [begin, *(gap.end_sample for gap in gaps)], [*(gap.start_sample for gap in gaps), spoken_end]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end > start]


def duplex_of(
    speech: Sequence[SpanMs],
    utterances: Sequence[Utterance],
    window: SpanMs,
    units: Units | None,
    window_ns: tuple[int, int | None],
) -> Duplex:
    """The figures of one turn; times are relative to its spoken end. `window`: from the turn's begin to the next one's."""
    talk = [_within(u, window) for u in utterances if u.kind in TALK]
    murmurs = [_within(u, window) for u in utterances if u.kind == "backchannel"]
    begin_ns, until_ns = window_ns
    gaps = [ms for at_ns, ms in units.gaps if begin_ns <= at_ns and (until_ns is None or at_ns < until_ns)] if units else []
    return Duplex(
        caller_ms=sum(end - start for start, end in speech),
        agent_ms=sum(end - start for start, end in talk),
        overlap_ms=_together(speech, talk),
        murmured_ms=_together(speech, murmurs),
        where=tuple(_place(start, speech) for start, _ in murmurs),
        cadence_ms=units.cadence_ms if units else None,
        unit_gaps_ms=tuple(ms for ms in gaps if units and ms > LATE * units.cadence_ms),
        units=len(gaps),
    )


def _within(utterance: Utterance, window: SpanMs) -> SpanMs:
    return max(utterance.start_ms, window[0]), min(utterance.end_ms, window[1])


def _together(one: Sequence[SpanMs], other: Sequence[SpanMs]) -> float:
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in one for b in other)


def _place(at_ms: float, speech: Sequence[SpanMs]) -> Where:
    if at_ms >= 0.0:
        return "after_turn"
    return "over_speech" if any(start <= at_ms < end for start, end in speech) else "in_pause"
