"""What an agent on this machine could not get: processor time that others had while its threads stood ready to run.

A latency is the agent's only if the machine let it work. Three numbers tell this apart from an agent that is slow by itself:

* how long the agent's threads *waited* for a processor (W, the kernel's run-queue wait). Alone it proves nothing: an agent
  with more threads than there are cores waits for itself.
* how long *others* ran meanwhile (O): everybody but the agent's processes and the harness's. Alone it proves nothing either:
  they may have used a core that the agent did not want.
* what a hypervisor took (steal): work that was due and did not happen.

What others cost the agent is then at most `O`, and of its waiting the share in which others held the processor,
`W × O / (O + A)` with `A` the agent's own processor time. Stolen time counts in proportion to what the agent ran.
So an agent that starves itself is never called contended, nor one that sleeps through another program's work.

The *lost share* is this, over the stretch from one second before the spoken end to the first sound. It is summed over
threads, so it may be larger than what the critical path lost, and larger than 1.
"""

from collections.abc import Sequence
from typing import Final

from harness.recording.machine_track import MachineSample, MachineTrack
from harness.timeline import NS_PER_MS
from harness.timing.figures import NO_REPLY_MS, Contention

BEFORE_SPOKEN_END_MS: Final = 1000.0
"""What a recogniser hears last it works on last: time lost before the spoken end is found again after it."""
LEAST_MS: Final = 200.0
"""Two samples' distance: a shorter stretch has no difference to speak of."""


def contention(track: MachineTrack, begin_ns: int, end_ns: int) -> Contention | None:
    """What the agent lost between two instants of the machine's clock.

    None where the track does not cover the stretch or the system counts neither waiting nor stalls.
    """
    inside = _around(track.samples, begin_ns, end_ns)
    if len(inside) < 2:
        return None
    first, last = inside[0], inside[-1]
    lasted_ms = (last.at_ns - first.at_ns) / NS_PER_MS
    waited_ms = _waited_ms(first, last)
    if lasted_ms < LEAST_MS or waited_ms is None:
        return None
    agent_ms = last.agent_ran_ms - first.agent_ran_ms
    harness_ms = last.harness_ran_ms - first.harness_ran_ms
    busy_ms = last.busy_ms - first.busy_ms
    stolen_ms = last.stolen_ms - first.stolen_ms
    others_ms = max(0.0, busy_ms - agent_ms - harness_ms)
    held_by_others = others_ms / (others_ms + agent_ms) if others_ms else 0.0
    taken = stolen_ms / (busy_ms + stolen_ms) if stolen_ms else 0.0
    lost_ms = min(waited_ms * held_by_others, others_ms) + agent_ms * taken
    mhz = [s.slowest_mhz for s in inside if s.slowest_mhz is not None]
    return Contention(
        lost_share=lost_ms / lasted_ms,
        others_cores=others_ms / lasted_ms,
        waited_cores=waited_ms / lasted_ms,
        stolen_cores=stolen_ms / lasted_ms,
        throttled=last.throttled - first.throttled if last.throttled is not None and first.throttled is not None else None,
        slowest_mhz=min(mhz, default=None),
    )


def _waited_ms(first: MachineSample, last: MachineSample) -> float | None:
    """The agent's own waiting; where the kernel does not count it, that of the whole machine."""
    if first.agent_waited_ms is not None and last.agent_waited_ms is not None:
        return last.agent_waited_ms - first.agent_waited_ms
    if first.stalled_ms is not None and last.stalled_ms is not None:
        return last.stalled_ms - first.stalled_ms
    return None


def _around(samples: Sequence[MachineSample], begin_ns: int, end_ns: int) -> Sequence[MachineSample]:
    """The samples inside, and the nearest one on either side."""
    return [
        sample
        for k, sample in enumerate(samples)
        if begin_ns <= sample.at_ns <= end_ns
        or (k + 1 < len(samples) and sample.at_ns < begin_ns <= samples[k + 1].at_ns)
        or (k > 0 and samples[k - 1].at_ns <= end_ns < sample.at_ns)
    ]


def of_turn(track: MachineTrack, spoken_end_ns: int, onset_ms: float | None) -> Contention | None:
    """Of one spoken turn, whose reply sounded `onset_ms` after its spoken end (before it, if negative); None: no reply.

    A turn without reply is looked at for as long as one is waited for, or as the call went on.
    """
    waited_ms = NO_REPLY_MS if onset_ms is None else max(onset_ms, 0.0)
    begin_ns = spoken_end_ns - int(BEFORE_SPOKEN_END_MS * NS_PER_MS)
    return contention(track, begin_ns, spoken_end_ns + int(waited_ms * NS_PER_MS))
