"""The kernel's counters on real processes: who waited for whom."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.machine import kernel_file
from harness.machine.call_watch import CallWatch, Watches
from harness.machine.other_programs import other_work
from harness.recording.machine_track import MACHINE_FILE, MachineTrack, load_machine_track, save_machine_track
from harness.timeline import NS_PER_MS
from harness.timing.contention import Owed, owed

SPIN = """
import os
open("/proc/self/comm", "w").write("%s")
os.sched_setaffinity(0, {%d})
for _ in range(%d):
    if os.fork() == 0:
        while True:
            pass
while True:
    os.wait()
"""
WATCHED_S = 2.0
pytestmark = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count waiting")


@contextmanager
def spinning(processes: int, core: int, name: str = "spins") -> Iterator[int]:
    """So many processes that never rest, all on one core; gives the process id of their parent."""
    parent = subprocess.Popen([sys.executable, "-c", SPIN % (name, core, processes)], start_new_session=True)
    time.sleep(0.5)
    try:
        yield parent.pid
    finally:
        os.killpg(parent.pid, 9)
        parent.wait()


def watched(agent: int) -> Owed:
    with CallWatch((agent,), ()) as watch:
        time.sleep(WATCHED_S)
    track = watch.track
    assert track is not None
    assert len(track.samples) >= 5
    found = owed(track, track.samples[0].at_ns, track.samples[-1].at_ns)
    assert found is not None
    return found


LOOKS = 4
HARDLY_STOLEN = 0.02


def starved_by_itself_and_by_others(core: int) -> tuple[Owed, Owed]:
    """Both cases one after the other, again for as long as a host takes processor time away, which is nobody's doing here."""
    looks = []
    for _ in range(LOOKS):
        with spinning(3, core) as agent:
            by_itself = watched(agent)
        with spinning(1, core) as agent, spinning(2, core):
            by_others = watched(agent)
        looks.append((by_itself, by_others))
        if stolen(looks[-1]) < HARDLY_STOLEN:
            break
    return min(looks, key=stolen)


def stolen(pair: tuple[Owed, Owed]) -> float:
    return sum(found.all_stolen_ms / found.lasted_ms for found in pair)


@pytest.mark.long
def test_an_agent_that_others_starve_lost_time_and_one_that_starves_itself_did_not() -> None:
    core = max(os.sched_getaffinity(0))
    before = other_work()
    by_itself, by_others = starved_by_itself_and_by_others(core)
    if max(before.cores, other_work().cores) > 0.3:
        pytest.skip(f"this machine is not quiet enough to tell the two apart: {before.in_words()}")
    assert by_itself.waited_ms is not None
    assert by_others.waited_ms is not None
    assert by_itself.waited_ms > 1.5 * by_itself.lasted_ms, "three on one core: two of them always wait"
    assert by_others.waited_ms > 0.3 * by_others.lasted_ms
    assert by_others.others_ms > 0.3 * by_others.lasted_ms
    assert by_others.others_ms > 4 * by_itself.others_ms


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_work_on_a_processor_that_the_agent_may_not_use_is_not_owed() -> None:
    """Others fill one core; the agent, on another, waits for its own three processes."""
    mine, theirs = sorted(os.sched_getaffinity(0))[:2]
    with spinning(3, mine) as agent:
        alone = watched(agent)
        with spinning(2, theirs):
            beside = watched(agent)
    assert beside.waited_ms is not None
    assert beside.waited_ms > beside.lasted_ms
    # What else works on the agent's core is the same in both; two programs that filled it would be half of the time and more.
    assert beside.others_ms < alone.others_ms + 0.3 * beside.lasted_ms


def test_programs_never_use_more_than_there_is() -> None:
    """Twelve times as many programs as cores, so that walking the process table takes its time."""
    core = max(os.sched_getaffinity(0))
    with spinning(12, core), spinning(12, min(os.sched_getaffinity(0))):
        work = other_work()
    assert work.too_much
    assert work.cores <= work.of_cores * 1.1, "a tick of 10 ms for each processor either way"
    assert sum(cores for _, cores in work.programs) <= work.of_cores * 1.1


WORKS = """
import os, sys, time
os.sched_setaffinity(0, {%d})
print("ready", flush=True)
for _ in sys.stdin:
    began, ran = time.monotonic_ns(), time.thread_time_ns()
    while time.thread_time_ns() - ran < 400_000_000:
        pass
    print(began, time.monotonic_ns(), time.thread_time_ns() - ran, flush=True)
"""


@pytest.mark.parametrize("others", [1, 3])
def test_the_bound_holds_for_work_of_which_the_loss_is_known(others: int) -> None:
    """One thread with 400 ms to do: whatever it took beyond them, others on its core caused."""
    core = max(os.sched_getaffinity(0))
    with subprocess.Popen(
        [sys.executable, "-c", WORKS % core], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdout.readline()
        with spinning(others, core), CallWatch((agent.pid,), ()) as watch:
            time.sleep(0.3)
            agent.stdin.write("go\n")
            agent.stdin.flush()
            began_ns, ended_ns, ran_ns = map(int, agent.stdout.readline().split())
            time.sleep(0.3)
        agent.stdin.close()
    assert watch.track is not None
    lost_ms = (ended_ns - began_ns - ran_ns) / NS_PER_MS
    found = owed(watch.track, began_ns, ended_ns)
    assert found is not None
    assert lost_ms > 200, "others had their share of the core"
    assert found.at_most_ms > 0.95 * lost_ms - 10
    # The samples at either side lie up to two looks outside, and the agent sleeps there.
    assert found.at_most_ms < 1.2 * lost_ms + 100


def test_a_track_names_the_processors_that_the_agent_may_use() -> None:
    core = max(os.sched_getaffinity(0))
    with spinning(1, core) as agent, CallWatch((agent,), ()) as watch:
        time.sleep(0.3)
    assert watch.track is not None
    assert (watch.track.cores, watch.track.cpus) == (1, (core,))


def test_what_a_companion_runs_is_the_agent_s() -> None:
    core = max(os.sched_getaffinity(0))
    with spinning(1, core) as agent, spinning(2, core) as companion:
        with CallWatch((agent,), ()) as without:
            time.sleep(WATCHED_S / 2)
        with CallWatch((agent, companion), ()) as beside:
            time.sleep(WATCHED_S / 2)
    found = []
    for watch in (without, beside):
        assert watch.track is not None
        first, last = watch.track.samples[0], watch.track.samples[-1]
        found.append((last.agent_ran_ms - first.agent_ran_ms) / (last.at_ns - first.at_ns))
    assert found[1] > 1.5 * found[0]


def test_a_program_that_works_is_named() -> None:
    with spinning(1, max(os.sched_getaffinity(0))):
        work = other_work()
    assert work.too_much
    assert "spins" in work.in_words()


def test_what_was_seen_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    with CallWatch((os.getpid(),), ()) as watch:
        time.sleep(0.3)
    assert watch.track is not None
    save_machine_track(watch.track, tmp_path)
    kept = load_machine_track(tmp_path)
    assert kept is not None
    assert kept.cores == watch.track.cores
    assert [s.at_ns for s in kept.samples] == [s.at_ns for s in watch.track.samples]
    assert replace(kept, samples=(), programs=None) == replace(watch.track, samples=(), programs=None)  # type: ignore[arg-type]
    assert kept.programs.at_ns == watch.track.programs.at_ns
    assert kept.programs.ran_ms.keys() == watch.track.programs.ran_ms.keys()
    assert kept.samples[-1].reach_ms == pytest.approx(watch.track.samples[-1].reach_ms, abs=0.1)
    assert kept.samples[-1].busy_ms == pytest.approx(watch.track.samples[-1].busy_ms, abs=0.1)


def test_no_file_is_no_track_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    assert load_machine_track(tmp_path) is None
    with CallWatch((os.getpid(),), ()) as watch:
        time.sleep(0.3)
    assert watch.track is not None
    save_machine_track(watch.track, tmp_path)
    whole = (tmp_path / MACHINE_FILE).read_text()
    for damaged in (whole[:-20], whole.replace('"at_ns":[', '"at_ns":[7,'), whole.replace('"cores":', '"coars":'), ""):
        (tmp_path / MACHINE_FILE).write_text(damaged)
        with pytest.raises(UserError, match="damaged"):
            load_machine_track(tmp_path)


def test_a_track_of_an_older_run_is_read_as_of_the_whole_machine(tmp_path: Path) -> None:
    columns = {name: [0.0, 1.0] for name in ("busy_ms", "stolen_ms", "agent_ran_ms", "agent_waited_ms", "harness_ran_ms")}
    told = {
        "cores": 2,
        "at_ns": [1, 2],
        **columns,
        **{name: [None, None] for name in ("stalled_ms", "throttled", "slowest_mhz")},
    }
    (tmp_path / MACHINE_FILE).write_text(json.dumps({"schema_version": 1, **told}), encoding="utf-8")
    kept = load_machine_track(tmp_path)
    assert kept is not None
    assert (kept.cpus, kept.stolen_counts_as_run, kept.samples[1].quota_ms, kept.samples[1].busy_ms) == ((), True, None, 1.0)
    assert (kept.grain_ms, kept.late_ms, kept.samples[1].reach_ms, kept.programs.ran_ms) == (10.0, 0.0, None, {})


def test_calls_that_overlap_share_a_sampler_and_each_has_its_own_time() -> None:
    watches, before = Watches(), threading.active_count()
    agent, caller = (os.getpid(),), (os.getppid(),)
    with watches.watch(agent, caller) as whole:
        time.sleep(0.3)
        with watches.watch(agent, caller) as inner, watches.watch(agent, caller):
            assert threading.active_count() == before + 1
            time.sleep(0.5)
        time.sleep(0.3)
    assert threading.active_count() == before
    assert whole.track is not None
    assert inner.track is not None
    outside, inside = ([s.at_ns for s in watch.track.samples] for watch in (whole, inner))  # type: ignore[union-attr]
    assert outside[0] < inside[0] < inside[-1] < outside[-1]
    assert set(inside) <= set(outside)
    assert len(inside) >= 4
    with watches.watch(agent, caller) as after:
        time.sleep(0.2)
    assert after.track is not None
    assert after.track.samples[0].at_ns > outside[-1]


BEARS_THREADS = """
import os, threading, time
os.sched_setaffinity(0, {%d})
def work():
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass
while True:
    one = threading.Thread(target=work)
    one.start()
    one.join()
"""


def test_the_waiting_of_threads_that_are_born_during_a_call_is_counted() -> None:
    """Every thread works for a tenth of a second beside two others on one core, and ends: it waits longer than it works."""
    core = max(os.sched_getaffinity(0))
    agent = subprocess.Popen([sys.executable, "-c", BEARS_THREADS % core], start_new_session=True)
    try:
        with spinning(2, core):
            found = watched(agent.pid)
    finally:
        agent.kill()
        agent.wait()
    assert found.waited_ms is not None
    assert found.waited_ms > 0.4 * found.lasted_ms
    assert found.at_most_ms > 0.4 * found.lasted_ms


def test_others_are_named_and_the_agent_and_the_caller_are_not_among_them() -> None:
    core = max(os.sched_getaffinity(0))
    name = "a\x1b[31m" + "b"
    named = f"open('/proc/self/comm', 'w').write({name!r})\nwhile True: pass"
    other = subprocess.Popen([sys.executable, "-c", named], start_new_session=True)
    try:
        with (
            spinning(1, core, "my-agent") as agent,
            spinning(1, core, "my-caller") as caller,
            CallWatch((agent,), (caller,)) as watch,
        ):
            time.sleep(WATCHED_S)
    finally:
        other.kill()
        other.wait()
    assert watch.track is not None
    programs = watch.track.programs
    assert "a·[31mb" in programs.ran_ms, "what would colour a terminal is a dot"
    lasted_ms = (programs.at_ns[-1] - programs.at_ns[0]) / NS_PER_MS
    assert programs.ran_ms["a·[31mb"][-1] > 0.1 * lasted_ms
    own_ms = watch.track.samples[-1].agent_ran_ms - watch.track.samples[0].agent_ran_ms
    assert own_ms > 0.05 * lasted_ms
    assert not {"my-agent", "my-caller"} & set(programs.ran_ms)


def test_samples_take_a_small_part_of_a_core_however_many_calls_overlap() -> None:
    watches, calls = Watches(), 200
    with ExitStack() as open_calls:
        for _ in range(calls):
            open_calls.enter_context(watches.watch((os.getppid(),), ()))
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        time.sleep(WATCHED_S)
        share = (time.process_time() - began_cpu_s) / (time.monotonic() - began_s)
    assert share < 0.05


def test_an_empty_watch_says_nothing() -> None:
    assert MachineTrack(2, ()).samples == ()
    assert CallWatch((), ()).track is None


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_file_of_the_kernel_that_is_missing_is_none_and_nothing_is_printed_about_it(tmp_path: Path) -> None:
    assert kernel_file.opened(tmp_path / "none") is None
    gc.collect()
