"""Upper bound on the part of a figure that others on the agent's machine could have caused.

The delay by others cannot be measured: nobody knows which of the agent's threads the reply depended on at each instant. A
bound can. Others delay a reply only while a thread of the agent is ready and something else uses its processor, so between two
samples of the kernel's counters

* by *other programs* no more than the agent's threads waited in the run queue (W, summed over threads), nor more than others
  ran (O, summed over the agent's processors), nor more than passed: **min(W, O, elapsed)**, summed over the samples. Where the
  kernel counts no waiting, O alone, or nothing if its pressure counter shows that no process waited.
* by a *hypervisor* the most that any one processor lost, or, for a thread that moved among them, the share that was taken from
  all the time in which they had work; and never more than was taken in all.
* by a *quota* the time for which it stopped the agent's control group.

Counters are late, and of what is late the most is assumed: a wait is placed once, where it costs most, as far back as the
longest wait reaches; others' work lies between a least and a most at each sample (`_by_programs_ms`). The sum of the three,
and no more than the stretch itself, is *owed at most*. The truth is usually less. It is not valid where threads meet at a
barrier after every step, and leaves out a neighbour that slows a processor without taking it (a shared cache, the other thread
of a core, heat).

The stretch of a figure begins where the agent last rested before the spoken end, at most 1 s before it, because a recogniser
processes the last sound last. It ends with the figure; TTFT's is its own, from the request to the token.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import Final

from harness.recording.machine_track import MachineSample, MachineTrack
from harness.timeline import NS_PER_MS
from harness.timing.figures import Contention, TurnTiming

BEFORE_SPOKEN_END_MS: Final = 1_000.0
RESTED: Final = 0.5
"""Share of the time between two samples in a row: an agent whose threads, all together, ran or were ready for less had moments
in which none of them was ready. For a model of two threads that is idle between two chunks of 100 ms it is 0.13, for one at
work 1.1 and more (seven calls of `tuned-stock`). It does not detect a device that never rests, a GPU with a full queue."""
REST_MS: Final = 90.0
"""Distance of two samples between which an agent may rest: it is idle between any two frames of 20 ms, and that is no rest."""
_AROUND: Final = 10
"""Samples before and after a stretch which may narrow what others ran in it."""
MOST_NAMED: Final = 3
LEAST_NAMED_CORES: Final = 0.02
_FROM_SPOKEN_END: Final = (
    "answer", "first_byte", "first_sound", "first_speech", "first_word", "first_substance", "ttft_from_spoken_end",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Owed:
    """The part of one stretch of time that others could have caused. Times in ms."""

    lasted_ms: float
    others_ms: float
    """Most by other programs."""
    stolen_ms: float
    """Most by a hypervisor."""
    quota_ms: float | None
    others_ran_ms: float
    waited_ms: float | None
    all_stolen_ms: float
    stalled_ms: float | None
    throttled: int | None
    slowest_mhz: float | None

    @property
    def at_most_ms(self) -> float:
        """Most by all of them together."""
        return min(self.lasted_ms, self.others_ms + self.stolen_ms + (self.quota_ms or 0.0))


def owed(track: MachineTrack, begin_ns: int, end_ns: int) -> Owed | None:
    """The part that others could have caused between two instants of the machine's clock; None outside the track."""
    inside = _around(track.samples, begin_ns, end_ns)
    if len(inside) < 2:
        return None
    samples = track.samples[inside.start : inside.stop]
    first, last = samples[0], samples[-1]
    lasted_ms = (last.at_ns - first.at_ns) / NS_PER_MS
    busy_ms, stolen_ms = last.busy_ms - first.busy_ms, max(0.0, last.stolen_ms - first.stolen_ms)
    waited_ms = _between(first.agent_waited_ms, last.agent_waited_ms)
    stalled_ms = _between(first.stalled_ms, last.stalled_ms)
    nobody_waited = waited_ms is None and stalled_ms == 0
    return Owed(
        lasted_ms=lasted_ms,
        others_ms=0.0 if nobody_waited else _by_programs_ms(track, inside),
        stolen_ms=_stolen_at_most_ms(first, last, busy_ms, stolen_ms, lasted_ms),
        quota_ms=_between(first.quota_ms, last.quota_ms),
        others_ran_ms=max(0.0, _others_ran_ms(track, last) - _others_ran_ms(track, first)),
        waited_ms=waited_ms,
        all_stolen_ms=stolen_ms,
        stalled_ms=stalled_ms,
        throttled=last.throttled - first.throttled if last.throttled is not None and first.throttled is not None else None,
        slowest_mhz=min((s.slowest_mhz for s in samples if s.slowest_mhz is not None), default=None),
    )


def _by_programs_ms(track: MachineTrack, inside: range) -> float:
    """The most by other programs: the largest sum of delays, one for each interval, that the counters allow.

    A wait that ended in an interval may be placed there or in those that it reaches back to; the one that must be placed
    soonest goes first, which leaves none out that could have had a place. Between any two samples no more is placed than others
    may have run.
    """
    samples = [track.samples[k] for k in inside]
    least_ms, most_ms = _others_ran_between(track, inside)
    ends_ms = [(sample.at_ns - samples[0].at_ns) / NS_PER_MS for sample in samples]
    from_interval = _waits_by_interval(samples, ends_ms)
    waiting: list[tuple[int, float]] = []
    total_ms, allowed_ms = 0.0, -least_ms[0]
    for k in range(1, len(samples)):
        for wait in from_interval[k]:
            heapq.heappush(waiting, wait)
        room_ms = min(most_ms[k] + allowed_ms - total_ms, ends_ms[k] - ends_ms[k - 1])
        while waiting and room_ms > 0:
            last, left_ms = heapq.heappop(waiting)
            placed_ms = min(left_ms, room_ms)
            room_ms, total_ms = room_ms - placed_ms, total_ms + placed_ms
            if placed_ms < left_ms:
                heapq.heappush(waiting, (last, left_ms - placed_ms))
        while waiting and waiting[0][0] <= k:
            heapq.heappop(waiting)
        allowed_ms = min(allowed_ms, total_ms - least_ms[k])
    return total_ms


def _waits_by_interval(samples: Sequence[MachineSample], ends_ms: Sequence[float]) -> list[list[tuple[int, float]]]:
    """For each interval the waits that can have begun in it at the earliest: (the interval in which it was counted, its ms)."""
    found: list[list[tuple[int, float]]] = [[] for _ in samples]
    for k, (before, after) in enumerate(pairwise(samples), 1):
        waited_ms = _between(before.agent_waited_ms, after.agent_waited_ms)
        waited_ms = ends_ms[k] - ends_ms[k - 1] if waited_ms is None else waited_ms
        if waited_ms > 0:
            reach_ms = after.reach_ms if after.reach_ms is not None else waited_ms
            found[max(1, min(k, bisect_right(ends_ms, ends_ms[k - 1] - reach_ms)))].append((k, waited_ms))
    return found


def _others_ran_between(track: MachineTrack, inside: range) -> tuple[list[float], list[float]]:
    """The least and the most that others can have run up to each sample.

    Their time only grows, so a reading bounds those before and after it too, and it bounds from above what was at least
    `late_ms` before.
    """
    some = range(max(0, inside.start - _AROUND), min(len(track.samples), inside.stop + _AROUND))
    ran_ms = [_others_ran_ms(track, track.samples[k]) for k in some]
    at_ns = [track.samples[k].at_ns for k in some]
    least_ms = list(accumulate((ms - track.grain_ms for ms in ran_ms), max))
    most_ms = list(accumulate(reversed(ran_ms), min))[::-1]
    if track.late_ms:
        later = [bisect_left(at_ns, one_ns + int(track.late_ms * NS_PER_MS)) for one_ns in at_ns]
        seen_ms = [most_ms[k] if k < len(some) else inf for k in later]
        most_ms = [min(ms + track.late_ms, seen) for ms, seen in zip(most_ms, seen_ms, strict=True)]
    here = slice(inside.start - some.start, inside.stop - some.start)
    return least_ms[here], most_ms[here]


def _others_ran_ms(track: MachineTrack, sample: MachineSample) -> float:
    """The time that others have run so far, as the counters show it."""
    # Where programs' clocks continue while a hypervisor has the processor, their sum is larger than the time that they worked.
    stolen_ms = sample.stolen_ms if track.stolen_counts_as_run else 0.0
    return sample.busy_ms + stolen_ms - sample.agent_ran_ms - sample.harness_ran_ms


def of_turn(track: MachineTrack, t0_ns: int, turn: TurnTiming) -> Contention | None:
    """The contention of one spoken turn of a call whose caller began at `t0_ns`; None where the track does not cover it.

    For a turn without reply, the stretch is the wait for a reply, or the rest of the call.
    """
    begin_ns, end_ns = stretch_ns(track, t0_ns, turn)
    whole = owed(track, begin_ns, end_ns)
    if whole is None:
        return None
    found = {"ttfa": _not_over(whole.at_most_ms, turn.ttfa_ms)}
    if turn.ttft_ms is not None:
        found["ttft"] = _not_over(whole.at_most_ms, turn.ttft_ms)
    for figure, value_ms, begin_ms, end_ms in _stretches(turn, (begin_ns - t0_ns) / NS_PER_MS):
        stretch = owed(track, *(t0_ns + int(ms * NS_PER_MS) for ms in (begin_ms, end_ms)))
        if stretch is not None:
            found[figure] = _not_over(stretch.at_most_ms, value_ms)
    return _contention(track, whole, found, begin_ns, end_ns)


def stretch_ns(track: MachineTrack, t0_ns: int, turn: TurnTiming) -> tuple[int, int]:
    """The beginning and the end of the stretch that the first figure of a turn depends on."""
    spoken_end_ns = t0_ns + int(turn.spoken_end_ms * NS_PER_MS)
    name, waited_ms = turn.first_figure
    if name != "ttfa":
        waited_ms = turn.ttft_from_spoken_end_ms or 0.0
    return _last_rest_ns(track, spoken_end_ns), spoken_end_ns + int(max(0.0, waited_ms) * NS_PER_MS)


def of_call(track: MachineTrack, ttft_ms: float | None) -> Contention | None:
    """The contention of a question in writing, whose call began with the track and whose first token came after `ttft_ms`."""
    if not track.samples:
        return None
    begin_ns = track.samples[0].at_ns
    whole = owed(track, begin_ns, track.samples[-1].at_ns)
    if whole is None:
        return None
    until_ns = begin_ns + int(ttft_ms * NS_PER_MS) if ttft_ms is not None else track.samples[-1].at_ns
    stretch = owed(track, begin_ns, until_ns) or whole
    found = {"ttft": _not_over(stretch.at_most_ms, ttft_ms)}
    return _contention(track, stretch, found, begin_ns, until_ns)


def _last_rest_ns(track: MachineTrack, spoken_end_ns: int) -> int:
    """Time at which an agent last rested before the spoken end: the beginning of the later of two such samples."""
    earliest_ns = spoken_end_ns - int(BEFORE_SPOKEN_END_MS * NS_PER_MS)
    before: list[MachineSample] = []
    for sample in track.samples:
        if earliest_ns <= sample.at_ns <= spoken_end_ns and (
            not before or sample.at_ns - before[-1].at_ns >= REST_MS * NS_PER_MS
        ):
            before.append(sample)
    rested = [_rested(first, last) for first, last in pairwise(before)]
    return max((before[k + 1].at_ns for k, both in enumerate(pairwise(rested)) if all(both)), default=earliest_ns)


def _rested(first: MachineSample, last: MachineSample) -> bool:
    """True if there was a moment in which no thread of the agent had work; False also where waiting is not counted."""
    waited_ms = _between(first.agent_waited_ms, last.agent_waited_ms)
    ran_ms = last.agent_ran_ms - first.agent_ran_ms
    return waited_ms is not None and ran_ms + waited_ms < RESTED * (last.at_ns - first.at_ns) / NS_PER_MS


def _stretches(turn: TurnTiming, begin_ms: float) -> Iterator[tuple[str, float, float, float]]:
    """(figure, its value, start and end of its stretch on the recording's timeline), without TTFA. `begin_ms`: start of those
    that run from the spoken end."""
    for figure in _FROM_SPOKEN_END:
        value_ms = getattr(turn, f"{figure}_ms")
        if value_ms is not None:
            yield figure, value_ms, begin_ms, turn.spoken_end_ms + max(0.0, value_ms)
    if turn.ttft_ms is not None and turn.ttft_from_spoken_end_ms is not None:
        end_ms = turn.spoken_end_ms + turn.ttft_from_spoken_end_ms
        yield "ttft", turn.ttft_ms, end_ms - turn.ttft_ms, end_ms
    if turn.greeting is not None:
        yield "greeting", turn.greeting.latency_ms, 0.0, turn.greeting.latency_ms


def _contention(track: MachineTrack, whole: Owed, at_most_ms: dict[str, float], begin_ns: int, end_ns: int) -> Contention:
    return Contention(
        others_cores=whole.others_ran_ms / whole.lasted_ms,
        waited_cores=whole.waited_ms / whole.lasted_ms if whole.waited_ms is not None else None,
        stolen_cores=whole.all_stolen_ms / whole.lasted_ms,
        throttled=whole.throttled,
        slowest_mhz=whole.slowest_mhz,
        at_most_ms=at_most_ms,
        others_ms=whole.others_ms,
        stolen_ms=whole.stolen_ms,
        quota_ms=whole.quota_ms,
        cpus=len(track.cpus) or None,
        stalled_share=whole.stalled_ms / whole.lasted_ms if whole.stalled_ms is not None else None,
        others=_programs(track, begin_ns, end_ns),
    )


def _programs(track: MachineTrack, begin_ns: int, end_ns: int) -> tuple[tuple[str, float], ...]:
    """The busiest other programs and their cores, between the readings of names around two instants."""
    at_ns = track.programs.at_ns
    first, last = max(0, bisect_right(at_ns, begin_ns) - 1), min(len(at_ns) - 1, bisect_left(at_ns, end_ns))
    if last <= first:
        return ()
    lasted_ms = (at_ns[last] - at_ns[first]) / NS_PER_MS
    cores = ((name, round((ran_ms[last] - ran_ms[first]) / lasted_ms, 3)) for name, ran_ms in track.programs.ran_ms.items())
    return tuple(sorted((one for one in cores if one[1] >= LEAST_NAMED_CORES), key=lambda one: -one[1])[:MOST_NAMED])


def _stolen_at_most_ms(first: MachineSample, last: MachineSample, busy_ms: float, stolen_ms: float, lasted_ms: float) -> float:
    if not stolen_ms or not last.stolen_by_cpu_ms:
        return stolen_ms
    most_ms = max(after - before for before, after in zip(first.stolen_by_cpu_ms, last.stolen_by_cpu_ms, strict=True))
    return min(stolen_ms, max(most_ms, lasted_ms * stolen_ms / (busy_ms + stolen_ms)))


def _not_over(at_most_ms: float, value_ms: float | None) -> float:
    """The bound, limited to the figure itself."""
    return at_most_ms if value_ms is None or value_ms < 0 else min(at_most_ms, value_ms)


def _between(first: float | None, last: float | None) -> float | None:
    return max(0.0, last - first) if first is not None and last is not None else None


def _around(samples: Sequence[MachineSample], begin_ns: int, end_ns: int) -> range:
    """The numbers of the samples inside, and of the nearest one on either side."""
    first = bisect_right(samples, begin_ns, key=lambda sample: sample.at_ns) - 1
    last = bisect_right(samples, end_ns, key=lambda sample: sample.at_ns)
    return range(max(0, first), min(len(samples), last + 1))
