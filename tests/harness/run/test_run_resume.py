"""Ctrl-C at any moment: what was finished stays, --resume completes the rest and plays nothing twice.

Of kill -9, and of judging, see test_run_killed.
"""

import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import psutil

from harness.experiment import Experiment
from harness.run.plan import make_plan, new_manifest
from harness.run.resuming import refuse_another_version
from harness.store.manifest import HARNESS
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, begin_run, begun_by, peer


def begun(folder: Path, pack: Path, limit: int) -> None:
    """A run of `raw-pcm-echo` on disk of which no session was played yet."""
    plan = make_plan(Experiment(agents=(str(peer("raw-pcm-echo")),), pack=str(pack), limit=limit))
    RunStore.create(folder, new_manifest(plan), plan.contexts).close()


def wait_for_a_session(folder: Path, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if (folder / "run.sqlite").exists():
            store = RunStore.open(folder)
            finished = store.finished_ids()
            store.close()
            if finished:
                return
        time.sleep(0.1)
    raise AssertionError("no session was finished in time")


def family_of(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def wait_until_gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    _, alive = psutil.wait_procs(processes, timeout=15)
    return [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_a_stopped_run_leaves_nothing_running_and_goes_on_where_it_was(
    harness_virtual: Callable[..., Finished], pack: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    running = begin_run(folder, pack, "--agent", peer("raw-pcm-echo"), "--repeats", 2)
    wait_for_a_session(folder)
    family = family_of(running.pid)
    assert family, "an agent and a caller run beside it"
    os.kill(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert "Traceback" not in err
    assert not wait_until_gone(family)

    kept = {s.id: s.started_ns for s in RunStore.open(folder).sessions() if s.status == "finished"}
    assert 0 < len(kept) < 4
    done = harness_virtual("run", "--resume", "--out", folder, "--judge", "none", "--json")
    assert done.code == 0, done.err
    after = {s.id: s.started_ns for s in RunStore.open(folder).sessions()}
    assert len(after) == 4
    assert {k: after[k] for k in kept} == kept, "a finished session was played again"
    assert done.json["agents"]["raw-pcm-echo"]["turns"] == 4


def test_a_changed_profile_or_pack_is_not_resumed(harness_virtual: Callable[..., Finished], pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    begun(folder, pack, limit=1)
    pack.write_text(pack.read_text().replace("I miss them.", "I miss her."))
    changed = harness_virtual("run", "--resume", "--out", folder, "--agent", peer("raw-pcm-echo"))
    assert changed.code == 2
    assert "context first has changed" in changed.err
    assert len(changed.err.strip().splitlines()) == 1
    wider = harness_virtual("run", "--resume", "--out", folder, "--agent", peer("raw-pcm-echo"), "--limit", 2)
    assert wider.code == 2
    assert "contexts" in wider.err


def test_two_versions_are_not_pooled_and_a_finished_run_is_read_by_any(
    harness_virtual: Callable[..., Finished], pack: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    done = harness_virtual("run", "--agent", peer("raw-pcm-echo"), "--pack", pack, "--judge", "none", "--out", folder)
    assert done.code == 0, done.err
    begun_by(folder, "0.0.9")
    whole = harness_virtual("run", "--resume", "--out", folder, "--judge", "none")
    assert whole.code == 0, whole.err
    with closing(RunStore.open(folder)) as store, store.lock():
        assert store.manifest.harness_version == "0.0.9"
        last = store.sessions()[-1]
    with closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute("DELETE FROM sessions WHERE id = ?", (last.id,))
    half = harness_virtual("run", "--resume", "--out", folder, "--judge", "none")
    assert half.code == 2
    (line,) = half.err.strip().splitlines()
    assert f"0.0.9 (now {version(HARNESS)})" in line
    assert "start a new run in another --out" in line
    limits = tmp_path / "limits.yaml"
    limits.write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 1000}\n")
    grown = harness_virtual("check", folder, "--budgets", limits, "--until-clear", "--minutes", 1)
    assert grown.code == 2, grown.err
    assert "0.0.9" in grown.err


def test_a_run_of_which_nothing_was_finished_is_this_versions_own(pack: Path, tmp_path: Path) -> None:
    begun(tmp_path / "r", pack, limit=1)
    begun_by(tmp_path / "r", "0.0.9")
    with closing(RunStore.open(tmp_path / "r")) as store, store.lock():
        refuse_another_version(store, False, "")
        assert (store.manifest.harness_version, store.manifest.versions[HARNESS]) == (version(HARNESS), version(HARNESS))


def test_a_run_goes_on_with_as_many_calls_at_once_as_it_began_with(
    harness_virtual: Callable[..., Finished], pack: Path, tmp_path: Path
) -> None:
    """Callers share the machine and the agent: sessions at different loads would be pooled into one TTFA."""
    folder = tmp_path / "r"
    begun(folder, pack, limit=1)
    changed = harness_virtual("run", "--resume", "--out", folder, "--concurrency", 4, "--judge", "none")
    assert changed.code == 2, changed.err
    (line,) = changed.err.strip().splitlines()
    assert "concurrency was 1, is now 4" in line
    assert "resume with the original settings, or start a new run in another --out" in line
    assert not RunStore.open(folder).sessions()
