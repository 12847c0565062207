"""Who had the processor: an agent that starves itself is slow, one that others starve is contended."""

from dataclasses import dataclass

from harness.recording.machine_track import MachineSample, MachineTrack
from harness.timeline import NS_PER_MS
from harness.timing.contention import contention, of_turn
from harness.timing.figures import Contention


@dataclass(frozen=True)
class Stretch:
    """So many seconds in which everybody goes on at the same pace, in cores."""

    agent: float = 0.0
    waits: float | None = 0.0
    others: float = 0.0
    harness: float = 0.0
    stolen: float = 0.0
    stalls: float | None = None
    throttles: int = 0
    seconds: int = 20


def track(*stretches: Stretch) -> MachineTrack:
    """Ten samples a second."""
    now = MachineSample(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 2_000.0)
    samples = [now]
    for s in stretches:
        for _ in range(10 * s.seconds):
            now = MachineSample(
                at_ns=now.at_ns + 100 * NS_PER_MS,
                busy_ms=now.busy_ms + 100 * (s.agent + s.others + s.harness),
                stolen_ms=now.stolen_ms + 100 * s.stolen,
                agent_ran_ms=now.agent_ran_ms + 100 * s.agent,
                agent_waited_ms=_more(now.agent_waited_ms, s.waits),
                harness_ran_ms=now.harness_ran_ms + 100 * s.harness,
                stalled_ms=_more(now.stalled_ms, s.stalls),
                throttled=(now.throttled or 0) + s.throttles,
                slowest_mhz=(now.slowest_mhz or 0) - 1,
            )
            samples.append(now)
    return MachineTrack(2, tuple(samples[1:]))


def _more(before_ms: float | None, cores: float | None) -> float | None:
    return None if cores is None else (before_ms or 0.0) + 100 * cores


def seen(machine: MachineTrack, begin_ms: int = 1_000, end_ms: int = 2_000) -> Contention:
    found = contention(machine, begin_ms * NS_PER_MS, end_ms * NS_PER_MS)
    assert found is not None
    return found


def test_nothing_is_lost_on_a_quiet_machine() -> None:
    found = seen(track(Stretch(agent=0.8, harness=0.1)))
    assert found.lost_share == 0
    assert not found.contended


def test_an_agent_that_starves_itself_is_slow_and_not_contended() -> None:
    found = seen(track(Stretch(agent=1.9, waits=5.0, harness=0.1, others=0.02)))
    assert found.waited_cores > 4
    assert not found.contended


def test_other_work_beside_an_agent_that_gets_all_it_wants_is_none_of_its_business() -> None:
    found = seen(track(Stretch(agent=0.3, waits=0.0, others=1.5)))
    assert found.others_cores > 1
    assert not found.contended


def test_what_others_had_while_the_agent_waited_is_lost() -> None:
    found = seen(track(Stretch(agent=0.7, waits=1.2, others=1.3)))
    assert found.contended
    assert abs(found.lost_share - 1.2 * 1.3 / 2.0) < 0.01, "of its waiting, the share in which others held the processor"


def test_others_cannot_cost_more_than_they_had() -> None:
    assert abs(seen(track(Stretch(agent=0.1, waits=8.0, others=0.3))).lost_share - 0.3) < 0.01


def test_what_the_harness_itself_uses_is_not_others_work() -> None:
    assert not seen(track(Stretch(agent=1.0, waits=1.0, harness=1.0))).contended


def test_time_that_a_hypervisor_took_is_lost() -> None:
    found = seen(track(Stretch(agent=1.0, stolen=0.5)))
    assert found.contended
    assert abs(found.lost_share - 1 / 3) < 0.01
    assert abs(found.stolen_cores - 0.5) < 0.01


def test_where_the_kernel_counts_no_waiting_the_machine_s_stalls_stand_for_it() -> None:
    assert seen(track(Stretch(agent=0.7, waits=None, stalls=0.9, others=1.3))).contended
    assert not seen(track(Stretch(agent=0.7, waits=None, stalls=0.0, others=1.3))).contended


def test_without_either_nothing_is_said() -> None:
    assert contention(track(Stretch(agent=0.7, waits=None, others=1.3)), 0, 2_000 * NS_PER_MS) is None


def test_a_stretch_that_was_not_watched_gives_nothing() -> None:
    watched = track(Stretch(seconds=3))
    assert contention(watched, 60_000 * NS_PER_MS, 61_000 * NS_PER_MS) is None
    assert contention(MachineTrack(2, ()), 0, NS_PER_MS) is None
    assert contention(MachineTrack(2, watched.samples[:1]), 0, NS_PER_MS) is None


def test_a_burst_outside_the_turn_is_not_the_turn_s() -> None:
    machine = track(Stretch(agent=0.5, waits=1.0, others=1.5, seconds=5), Stretch(agent=0.5, seconds=10))
    during, after = of_turn(machine, 3_000 * NS_PER_MS, 800.0), of_turn(machine, 10_000 * NS_PER_MS, 800.0)
    assert during is not None
    assert after is not None
    assert during.contended
    assert after.lost_share == 0


def test_a_turn_without_reply_is_looked_at_for_as_long_as_one_is_waited_for() -> None:
    machine = track(Stretch(agent=0.5, seconds=10), Stretch(agent=0.5, waits=1.0, others=1.5, seconds=30))
    answered, silent = of_turn(machine, 5_000 * NS_PER_MS, 500.0), of_turn(machine, 5_000 * NS_PER_MS, None)
    assert answered is not None
    assert silent is not None
    assert not answered.contended
    assert silent.contended


def test_slowing_down_for_heat_is_counted_beside_and_never_called_contention() -> None:
    found = seen(track(Stretch(agent=1.0, throttles=1)))
    assert found.throttled is not None
    assert found.throttled >= 10
    assert found.slowest_mhz is not None
    assert not found.contended
