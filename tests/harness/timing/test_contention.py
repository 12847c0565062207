"""Who had the processor: an agent that starves itself is slow, one that others starve may owe them its wait."""

from dataclasses import dataclass, replace

import pytest
from pydantic import TypeAdapter

from harness.recording.machine_track import MachineSample, MachineTrack, ProgramsTrack
from harness.timeline import NS_PER_MS
from harness.timing.contention import Owed, of_call, of_turn, owed
from harness.timing.figures import Contention, TurnTiming
from tests.present import present


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
    return MachineTrack(2, tuple(samples[1:]), grain_ms=0.0)


def _more(before_ms: float | None, cores: float | None) -> float | None:
    return None if cores is None else (before_ms or 0.0) + 100 * cores


def seen(machine: MachineTrack, begin_ms: int = 1_050, end_ms: int = 1_950) -> Owed:
    found = owed(machine, begin_ms * NS_PER_MS, end_ms * NS_PER_MS)
    assert found is not None
    return found


def of(machine: MachineTrack, spoken_end_ms: float, ttfa_ms: float | None, **facts: float) -> TurnTiming:
    turn = TurnTiming("test", spoken_end_ms, ttfa_ms, no_reply=ttfa_ms is None, **facts)  # type: ignore[arg-type]
    return replace(turn, contention=of_turn(machine, 0, turn))


def delayed(turn: TurnTiming) -> bool:
    """True if others could have caused more of the first sound, or of the silence, than 25 ms and a twentieth of it."""
    figure, waited_ms = turn.first_figure
    return present(turn.owed_ms(figure)) > max(25.0, 0.05 * waited_ms)


def test_nothing_is_owed_on_a_quiet_machine() -> None:
    machine = track(Stretch(agent=0.8, harness=0.1))
    assert seen(machine).at_most_ms == 0
    assert not delayed(of(machine, 5_000, 500))


def test_an_agent_that_starves_itself_is_slow_and_owes_nobody() -> None:
    machine = track(Stretch(agent=1.9, waits=5.0, harness=0.1, others=0.01))
    assert seen(machine).waited_ms > 4_000  # type: ignore[operator]
    assert not delayed(of(machine, 5_000, 516))


def test_other_work_beside_an_agent_that_gets_all_it_wants_is_none_of_its_business() -> None:
    machine = track(Stretch(agent=0.3, waits=0.0, others=1.5))
    assert seen(machine).others_ran_ms > 1_000
    assert seen(machine).at_most_ms == 0
    assert not delayed(of(machine, 5_000, 500))


def test_what_others_had_while_the_agent_waited_is_owed() -> None:
    machine = track(Stretch(agent=0.7, waits=0.6, others=1.3))
    assert seen(machine).others_ms == pytest.approx(600)
    assert delayed(of(machine, 5_000, 500))


def test_a_wait_that_others_alone_caused_is_owed_whole_however_small_their_share() -> None:
    """Four of eight cores are the agent's, and all that one of its threads waited was another program's doing."""
    machine = track(Stretch(agent=4.0, waits=0.2, others=0.2))
    assert seen(machine).others_ms == pytest.approx(200)
    assert delayed(of(machine, 5_000, 500))


def test_what_an_agent_was_late_with_before_it_rested_it_had_worked_off() -> None:
    """Others have a core until 800 ms before the spoken end; what counts begins where the agent last rested."""
    beset = Stretch(agent=1.0, waits=1.0, others=1.0, seconds=4)
    resting, working = Stretch(agent=0.2, waits=0.1), Stretch(agent=0.8, waits=0.3)
    rested = track(beset, replace(resting, seconds=1), replace(working, seconds=5))
    assert of(rested, 4_800, 500).owed_ms("ttfa") == 0
    assert of(rested, 4_100, 500).owed_ms("ttfa") == 500, "one sample of rest is not seen for sure"
    without = track(beset, replace(working, seconds=6))
    assert present(of(without, 4_800, 500).owed_ms("ttfa")) > 150
    uncounted = track(*(replace(s, waits=None) for s in (beset, replace(resting, seconds=1), replace(working, seconds=5))))
    assert present(of(uncounted, 4_800, 500).owed_ms("ttfa")) > 150, "where waiting is not counted, rest is not known"


def test_time_that_a_hypervisor_took_is_owed() -> None:
    machine = track(Stretch(agent=1.0, stolen=0.5))
    assert seen(machine).stolen_ms == pytest.approx(500)
    assert delayed(of(machine, 5_000, 500))


def test_what_is_stolen_of_the_one_core_that_the_agent_is_on_is_not_thinned_by_the_others() -> None:
    even = stolen_evenly(32, share=0.0)
    taken = tuple(replace(s, stolen_ms=k * 20.0, stolen_by_cpu_ms=(k * 20.0,)) for k, s in enumerate(even.samples))
    assert seen(replace(even, samples=taken)).stolen_ms == pytest.approx(200)


def stolen_evenly(cores: int, share: float) -> MachineTrack:
    """An agent with a thread on every core, and so much stolen of each."""
    samples = []
    for k in range(200):
        at_ms = 100.0 * k
        run, stolen = cores * at_ms * (1 - share), at_ms * share
        by_cpu = (stolen,) * cores if share else ()
        samples.append(MachineSample(int(at_ms * NS_PER_MS), run, cores * stolen, run, 0.0, 0.0, stolen_by_cpu_ms=by_cpu))
    return MachineTrack(cores, tuple(samples), tuple(range(cores)), stolen_counts_as_run=False, grain_ms=0.0)


def test_the_time_for_which_a_quota_stopped_the_agent_is_owed() -> None:
    machine = track(Stretch(agent=0.5))
    stopped = tuple(replace(s, quota_ms=0.08 * s.at_ns / NS_PER_MS) for s in machine.samples)
    turn = of(replace(machine, samples=stopped), 5_000, 500)
    assert turn.contention is not None
    assert turn.contention.quota_ms == pytest.approx(120, abs=17)
    assert delayed(turn)


def test_where_the_kernel_counts_no_waiting_all_that_others_had_may_be_their_doing() -> None:
    assert delayed(of(track(Stretch(agent=0.7, waits=None, others=1.3)), 5_000, 500))
    assert delayed(of(track(Stretch(agent=0.7, waits=None, stalls=0.9, others=1.3)), 5_000, 500))


def test_a_stretch_that_was_not_watched_gives_nothing() -> None:
    watched = track(Stretch(seconds=3))
    assert owed(watched, 60_000 * NS_PER_MS, 61_000 * NS_PER_MS) is None
    assert owed(MachineTrack(2, ()), 0, NS_PER_MS) is None
    assert owed(MachineTrack(2, watched.samples[:1]), 0, NS_PER_MS) is None


def test_a_turn_of_an_older_run_is_bounded_by_its_averages() -> None:
    old = TypeAdapter(TurnTiming).validate_python({
        "method": "timing-5", "spoken_end_ms": 0, "ttfa_ms": 500.0,
        "contention": {"lost_share": 0.6, "others_cores": 1.3, "waited_cores": 2.0, "stolen_cores": 0.0},
    })  # fmt: skip
    assert delayed(old)
    quiet = replace(old, contention=Contention(others_cores=0.01, waited_cores=0.1, stolen_cores=0.0))
    assert not delayed(quiet)


def test_each_figure_of_a_turn_owes_by_its_own_stretch() -> None:
    """Others have half a core from the spoken end to 400 ms after it; a stretch is counted up to the sample behind its end."""
    before, beset, after = (
        Stretch(agent=0.8, waits=1.0, seconds=5),
        Stretch(agent=0.8, waits=1.0, others=0.5),
        Stretch(agent=0.8, waits=1.0),
    )
    whole = track(before, replace(beset, seconds=1), after)
    samples = [s for s in whole.samples if s.at_ns <= 5_400 * NS_PER_MS]
    shift_ms = 500.0 * 0.6
    samples += [replace(s, busy_ms=s.busy_ms - shift_ms) for s in whole.samples if s.at_ns > 6_000 * NS_PER_MS]
    turn = of(
        replace(whole, samples=tuple(samples)), 5_000, 1_500, ttft_ms=200.0, ttft_from_spoken_end_ms=200.0, first_byte_ms=100.0,
        first_word_ms=1_800.0,
    )  # fmt: skip
    owes = present(turn.contention).at_most_ms
    assert owes["ttfa"] == owes["first_word"] == pytest.approx(200, abs=1)
    assert owes["first_byte"] == pytest.approx(100, abs=1)
    assert owes["ttft"] == owes["ttft_from_spoken_end"] == pytest.approx(150, abs=1)
    assert set(owes) == {"ttfa", "ttft", "first_byte", "first_word", "ttft_from_spoken_end"}
    assert "ttft" not in present(of(whole, 5_000, 1_500).contention).at_most_ms


def test_a_question_in_writing_owes_from_its_beginning_to_its_first_token() -> None:
    machine = track(Stretch(agent=0.5, waits=1.0, others=0.5, seconds=2))
    first = present(of_call(machine, 1_000.0))
    assert first.at_most_ms["ttft"] == pytest.approx(550)
    assert present(of_call(machine, 50.0)).at_most_ms["ttft"] == 50, "no figure owes more than it is"
    assert present(of_call(machine, None)).at_most_ms["ttft"] == pytest.approx(950)
    assert of_call(replace(machine, samples=()), 1_000.0) is None


def by_fiftieths(
    *intervals: tuple[float, float], reach_ms: float | None = 0.0, grain_ms: float = 0.0, late_ms: float = 0.0
) -> float:
    """What an agent owes whose threads waited, while others ran, so many ms in each interval of 20 ms."""
    samples = [MachineSample(0, 0.0, 0.0, 0.0, 0.0, 0.0)]
    for waited_ms, others_ms in intervals:
        last = samples[-1]
        samples.append(
            replace(
                last,
                at_ns=last.at_ns + 20 * NS_PER_MS,
                busy_ms=last.busy_ms + others_ms,
                agent_waited_ms=(last.agent_waited_ms or 0.0) + waited_ms,
                reach_ms=reach_ms,
            )
        )
    whole = MachineTrack(2, tuple(samples), grain_ms=grain_ms, late_ms=late_ms)
    return present(owed(whole, 0, samples[-1].at_ns)).others_ms


def test_others_work_in_one_interval_excuses_no_waiting_in_another() -> None:
    assert by_fiftieths((10, 0), (0, 10), (10, 0)) == 0
    assert by_fiftieths((10, 4), (3, 10), (10, 0)) == 7


def test_a_wait_is_counted_when_it_ends_and_may_lie_before_as_far_as_it_reaches() -> None:
    """30 ms of waiting show in the third interval; others ran in the first two."""
    assert by_fiftieths((0, 20), (0, 20), (30, 0)) == 0
    assert by_fiftieths((0, 20), (0, 20), (30, 0), reach_ms=15) == 20
    assert by_fiftieths((0, 20), (0, 20), (30, 0), reach_ms=30) == 30, "it is placed once, wherever there is room"
    assert by_fiftieths((0, 20), (0, 20), (30, 0), reach_ms=None) == 30, "an older track: as far back as it was long"


def test_others_work_that_shows_in_steps_or_late_may_have_been_done_before() -> None:
    assert by_fiftieths((5, 0), (0, 0), (0, 0)) == 0
    assert by_fiftieths((5, 0), (0, 0), (0, 0), grain_ms=10) == 5
    assert by_fiftieths((5, 0), *[(0.0, 0.0)] * 5, (0, 10), grain_ms=10) == 5
    assert by_fiftieths((5, 0), (0, 3), (0, 0), late_ms=10) == 3, "no more than shows a tick later"
    assert by_fiftieths((5, 0), (0, 0), (0, 3), late_ms=10) == 0
    assert by_fiftieths(*[(5.0, 0.0)] * 50, grain_ms=10) == 10, "once, not in every interval"


def test_a_reading_that_took_its_time_is_corrected_by_the_next() -> None:
    """The agent's own work seems to be others' in the first interval, and is taken off in the second."""
    assert by_fiftieths((10, 8), (10, -8)) == 0


def test_the_busiest_programs_of_a_turn_are_named_with_their_cores() -> None:
    seen_at = (0, 4_000 * NS_PER_MS, 6_000 * NS_PER_MS, 20_000 * NS_PER_MS)
    ran = {
        "idle": (0.0, 0.0, 0.0, 5_000.0),
        "chromium": (0.0, 100.0, 900.0, 900.0),
        "python3": (0.0, 0.0, 400.0, 400.0),
        "cc1": (0.0, 0.0, 100.0, 100.0),
        "sh": (0.0, 0.0, 50.0, 50.0),
    }
    machine = replace(track(Stretch(agent=0.5)), programs=ProgramsTrack(seen_at, ran))
    assert present(of(machine, 5_000, 500).contention).others == (("chromium", 0.4), ("python3", 0.2), ("cc1", 0.05))
    assert present(of(track(Stretch(agent=0.5)), 5_000, 500).contention).others == ()
