"""Upper bound on the part of a figure that others on the agent's machine could have caused.

A latency is due to the agent only as far as the machine let it work. The delay by others cannot be measured: nobody knows
which of the agent's threads the reply depended on at each instant. A bound can. Others delay a reply only while a
thread of the agent is ready and something else uses its processor, so over any stretch of time

* by *other programs* no more than the agent's threads waited in the run queue (W, summed over threads, and a reply depends
  on one at a time), nor more than others ran (O, summed over the processors that the agent may use, because no thread is denied
  a processor on which no other ran): **min(W, O)**. An agent that waits for its own threads has a large W beside a small O; a
  program on a core that the agent leaves idle makes a large O beside a small W. Where the kernel counts no waiting, O alone,
  or nothing if its pressure counter shows that no process waited.
* by a *hypervisor* no more than it took from these processors (S). A thread runs on one of them at a time, so of many
  processors it cannot lose the sum: the most that any single one lost, or, for a thread that moved among them, the share that
  was taken from all the time in which they had work; and never more than S.
* by a *quota* no more than the time for which it stopped the agent's control group.

The sum of the three, and no more than the stretch itself, is *owed at most*. It is summed over threads and
processors, so the truth is usually far less: an agent of many threads that all continue past the instant of its first sound may
have lost nothing of it. The bound is not valid where threads meet at a barrier after every step: a hypervisor that
takes turns among 32 processors can delay such work by more than it took from any of them. It also leaves out that a busy
neighbour slows a processor that it does not take: by a shared cache, by the other thread of a core, by heat. The harness
itself is not among the others: its caller costs every agent the same, on every machine.

The stretch of a figure begins before the spoken end, because a recogniser processes the last sound last: time lost before
the spoken end delays the work after it. It begins where the agent last rested, because then it had finished all delayed
work, and 1 s before the spoken end where it did not rest in that second. It ends with the figure: TTFA's at the first
sound, a later word's at that word. TTFT's is its own, from the request to the token.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from harness.recording.machine_track import MachineSample, MachineTrack
from harness.timeline import NS_PER_MS
from harness.timing.figures import TurnTiming
from harness.timing.others_share import Contention

BEFORE_SPOKEN_END_MS: Final = 1_000.0
RESTED: Final = 0.5
"""Share of the time between two samples in a row: an agent whose threads, all together, ran or were ready for less had moments
in which none of them was ready. For a model of two threads that is idle between two chunks of 100 ms it is 0.13, for one at
work 1.1 and more (seven calls of `tuned-stock`). It does not detect a device that never rests, a GPU with a full queue."""
LEAST_MS: Final = 200.0
"""Distance of two samples: a shorter stretch has no usable difference, and is extended to this length."""
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
    first, last = inside[0], inside[-1]
    lasted_ms = (last.at_ns - first.at_ns) / NS_PER_MS
    if lasted_ms < LEAST_MS:
        return None
    busy_ms, stolen_ms = last.busy_ms - first.busy_ms, max(0.0, last.stolen_ms - first.stolen_ms)
    own_ms = last.agent_ran_ms - first.agent_ran_ms + last.harness_ran_ms - first.harness_ran_ms
    # Where programs' clocks continue while a hypervisor has the processor, their sum is larger than the time that they worked.
    others_ran_ms = max(0.0, busy_ms + (stolen_ms if track.stolen_counts_as_run else 0.0) - own_ms)
    waited_ms = _between(first.agent_waited_ms, last.agent_waited_ms)
    stalled_ms = _between(first.stalled_ms, last.stalled_ms)
    nobody_waited = waited_ms is None and stalled_ms == 0
    return Owed(
        lasted_ms=lasted_ms,
        others_ms=0.0 if nobody_waited else min(others_ran_ms, waited_ms if waited_ms is not None else others_ran_ms),
        stolen_ms=_stolen_at_most_ms(first, last, busy_ms, stolen_ms, lasted_ms),
        quota_ms=_between(first.quota_ms, last.quota_ms),
        others_ran_ms=others_ran_ms,
        waited_ms=waited_ms,
        all_stolen_ms=stolen_ms,
        stalled_ms=stalled_ms,
        throttled=last.throttled - first.throttled if last.throttled is not None and first.throttled is not None else None,
        slowest_mhz=min((s.slowest_mhz for s in inside if s.slowest_mhz is not None), default=None),
    )


def of_turn(track: MachineTrack, t0_ns: int, turn: TurnTiming) -> Contention | None:
    """The contention of one spoken turn of a call whose caller began at `t0_ns`; None where the track does not cover it.

    For a turn without reply, the stretch is the wait for a reply, or the rest of the call.
    """
    spoken_end_ns = t0_ns + int(turn.spoken_end_ms * NS_PER_MS)
    name, waited_ms = turn.first_figure
    if name != "ttfa":
        waited_ms = turn.ttft_from_spoken_end_ms or 0.0
    begin_ns = _last_rest_ns(track, spoken_end_ns)
    whole = owed(track, begin_ns, spoken_end_ns + int(max(0.0, waited_ms) * NS_PER_MS))
    if whole is None:
        return None
    found = {"ttfa": _not_over(whole.at_most_ms, turn.ttfa_ms)}
    if turn.ttft_ms is not None:
        found["ttft"] = _not_over(whole.at_most_ms, turn.ttft_ms)
    for figure, value_ms, begin_ms, end_ms in _stretches(turn, (begin_ns - t0_ns) / NS_PER_MS):
        stretch = owed(track, *(t0_ns + int(ms * NS_PER_MS) for ms in (begin_ms, end_ms)))
        if stretch is not None:
            found[figure] = _not_over(stretch.at_most_ms, value_ms)
    return _contention(track, whole, found)


def of_call(track: MachineTrack, ttft_ms: float | None) -> Contention | None:
    """The contention of a question in writing, whose call began with the track and whose first token came after `ttft_ms`."""
    if not track.samples:
        return None
    begin_ns = track.samples[0].at_ns
    whole = owed(track, begin_ns, track.samples[-1].at_ns)
    if whole is None:
        return None
    until_ns = begin_ns + int(max(ttft_ms, LEAST_MS) * NS_PER_MS) if ttft_ms is not None else track.samples[-1].at_ns
    stretch = owed(track, begin_ns, until_ns) or whole
    return _contention(track, stretch, {"ttft": _not_over(stretch.at_most_ms, ttft_ms)})


def _last_rest_ns(track: MachineTrack, spoken_end_ns: int) -> int:
    """Time at which an agent last rested before the spoken end: the beginning of the later of two such samples."""
    earliest_ns = spoken_end_ns - int(BEFORE_SPOKEN_END_MS * NS_PER_MS)
    before = [sample for sample in track.samples if earliest_ns <= sample.at_ns <= spoken_end_ns]
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
        yield "ttft", turn.ttft_ms, end_ms - max(turn.ttft_ms, LEAST_MS), end_ms
    if turn.greeting is not None:
        yield "greeting", turn.greeting.latency_ms, 0.0, max(turn.greeting.latency_ms, LEAST_MS)


def _contention(track: MachineTrack, whole: Owed, at_most_ms: dict[str, float]) -> Contention:
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
    )


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


def _around(samples: Sequence[MachineSample], begin_ns: int, end_ns: int) -> Sequence[MachineSample]:
    """The samples inside, and the nearest one on either side."""
    return [
        sample
        for k, sample in enumerate(samples)
        if begin_ns <= sample.at_ns <= end_ns
        or (k + 1 < len(samples) and sample.at_ns < begin_ns <= samples[k + 1].at_ns)
        or (k > 0 and samples[k - 1].at_ns <= end_ns < sample.at_ns)
    ]
