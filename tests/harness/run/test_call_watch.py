"""The kernel's counters on real processes: who waited for whom."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.recording.machine_track import MACHINE_FILE, MachineTrack, load_machine_track, save_machine_track
from harness.run.call_watch import CallWatch
from harness.run.quiet import other_work
from harness.timing.contention import contention
from harness.timing.figures import Contention

SPIN = """
import os
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
def spinning(processes: int, core: int) -> Iterator[int]:
    """So many processes that never rest, all on one core; gives the process id of their parent."""
    parent = subprocess.Popen([sys.executable, "-c", SPIN % (core, processes)], start_new_session=True)
    time.sleep(0.5)
    try:
        yield parent.pid
    finally:
        os.killpg(parent.pid, 9)
        parent.wait()


def watched(agent: int) -> Contention:
    with CallWatch((agent,), ()) as watch:
        time.sleep(WATCHED_S)
    track = watch.track
    assert track is not None
    assert len(track.samples) >= 5
    found = contention(track, track.samples[0].at_ns, track.samples[-1].at_ns)
    assert found is not None
    return found


LOOKS = 4
HARDLY_STOLEN_CORES = 0.02


def starved_by_itself_and_by_others(core: int) -> tuple[Contention, Contention]:
    """Both cases one after the other, again for as long as a host takes processor time away, which is nobody's doing here."""
    looks = []
    for _ in range(LOOKS):
        with spinning(3, core) as agent:
            by_itself = watched(agent)
        with spinning(1, core) as agent, spinning(2, core):
            by_others = watched(agent)
        looks.append((by_itself, by_others))
        if by_itself.stolen_cores + by_others.stolen_cores < HARDLY_STOLEN_CORES:
            break
    return min(looks, key=lambda pair: pair[0].stolen_cores + pair[1].stolen_cores)


def lost_to_programs(found: Contention) -> float:
    """The lost share without what the host took."""
    return found.lost_share - found.stolen_cores


@pytest.mark.long
def test_an_agent_that_others_starve_lost_time_and_one_that_starves_itself_did_not() -> None:
    core = max(os.sched_getaffinity(0))
    before = other_work()
    by_itself, by_others = starved_by_itself_and_by_others(core)
    if max(before.cores, other_work().cores) > 0.3:
        pytest.skip(f"this machine is not quiet enough to tell the two apart: {before.in_words()}")
    assert by_itself.waited_cores > 1.5, "three on one core: two of them always wait"
    assert by_others.waited_cores > 0.3
    assert by_others.others_cores > 4 * by_itself.others_cores
    assert by_others.contended
    assert lost_to_programs(by_others) > max(0.0, 4 * lost_to_programs(by_itself))


def test_a_program_that_works_is_named() -> None:
    with spinning(1, max(os.sched_getaffinity(0))):
        work = other_work()
    assert work.too_much
    assert "python" in work.in_words()


def test_what_was_seen_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    with CallWatch((os.getpid(),), ()) as watch:
        time.sleep(0.3)
    assert watch.track is not None
    save_machine_track(watch.track, tmp_path)
    kept = load_machine_track(tmp_path)
    assert kept is not None
    assert kept.cores == watch.track.cores
    assert [s.at_ns for s in kept.samples] == [s.at_ns for s in watch.track.samples]
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


def test_an_empty_watch_says_nothing() -> None:
    assert MachineTrack(2, ()).samples == ()
    assert CallWatch((), ()).track is None
