"""A session is in the store whole or not at all, and what is there can be read back as it was."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.store.judgment import AxisMark, Judgment
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import Stage, TurnTiming, Waterfall
from tests.judged import put
from tests.made_run import conversation, made_manifest

KEY = SessionKey("c1", "h" * 64, "agent-x", "p" * 64, "seeded", "clean", 0)
CONTEXT = conversation("c1", "I <pause 300> don't know.")


def manifest() -> RunManifest:
    return made_manifest([CONTEXT], "agent-x")


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore.create(tmp_path / "run", manifest(), [CONTEXT])


def commit(store: RunStore, key: SessionKey = KEY, **more: object) -> None:
    partial = store.partial_folder(key)
    (partial / "recording.json").write_text("{}")
    store.commit_session(key, partial=partial, **more)  # type: ignore[arg-type]


def test_what_was_written_comes_back(store: RunStore) -> None:
    timing = TurnTiming(
        method="m",
        spoken_end_ms=1.5,
        ttfa_ms=512.25,
        waterfall=Waterfall((Stage("asr", 0.0, 100.0),), refused=("tts before llm",)),
        pause_was_cut=(True, False),
    )
    commit(store, timing=timing, written_text="hello", started_ns=7)
    store.set_heard(KEY.session_id, "Hello.", [("Hello.", 0.5, 0.75)])
    verdict = Judgment(
        context="c1", subset="regular", system_a="a", system_b="b", source="judge", judge="j", winner="a",
        axes={"E": AxisMark(winner="b", strength=2)},
    )  # fmt: skip
    put(store, [verdict])
    again = RunStore.open(store.folder)
    (session,) = again.sessions()
    assert session.key == KEY
    assert session.timing == timing
    assert session.turn_timings == (timing,)
    assert session.heard_words == (("Hello.", 0.5, 0.75),)
    assert again.judgments() == [verdict]
    assert again.contexts() == (CONTEXT,)
    assert again.manifest == store.manifest


def test_a_failed_session_is_kept_but_may_be_played_again(store: RunStore) -> None:
    commit(store, failure_kind="flood", failure_detail="too much")
    assert store.finished_ids() == frozenset()
    assert store.session(KEY.session_id).failure_kind == "flood"
    commit(store)
    assert store.finished_ids() == {KEY.session_id}
    assert len(store.sessions()) == 1


def test_another_judges_verdicts_stay_when_one_judges_again(store: RunStore) -> None:
    def row(judge: str, winner: str) -> Judgment:
        place = {"context": "c1", "subset": "regular", "system_a": "a", "system_b": "b"}
        return Judgment.model_validate({**place, "source": "judge", "judge": judge, "winner": winner})

    put(store, [row("one", "a"), row("two", "a")])
    store.replace_judgments({"one"}, [row("one", "b")], "written", "")
    assert sorted((j.judge, j.winner) for j in store.judgments()) == [("one", "b"), ("two", "a")]
    heard = row("one", "a").model_copy(update={"presentation": "heard_text"})
    store.replace_judgments({"one"}, [heard], "heard_text", "")
    assert sorted(j.presentation for j in store.judgments() if j.judge == "one") == ["heard_text", "written"]


def test_a_folder_that_holds_something_is_refused(store: RunStore, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds another run; add --resume"):
        RunStore.create(store.folder, manifest(), [CONTEXT])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("all of it")
    with pytest.raises(UserError, match="not empty"):
        RunStore.create(tmp_path / "full", manifest(), [CONTEXT])
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.tex"]


def test_a_folder_of_a_start_that_was_killed_before_it_had_a_database_will_do(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    RunStore.create(folder, manifest(), [CONTEXT]).close()
    (folder / "run.sqlite").rename(folder / "run.sqlite.new")
    with RunStore.create(folder, manifest(), [CONTEXT]).lock():
        assert RunStore.open(folder).sessions() == []
    assert not (folder / "run.sqlite.new").exists()


def test_only_one_process_writes_a_run(store: RunStore) -> None:
    with store.lock(), pytest.raises(UserError, match="another harness process"), RunStore.open(store.folder).lock():
        pass
    with RunStore.open(store.folder).lock():
        pass


def test_a_writer_killed_at_any_moment_leaves_only_whole_sessions(store: RunStore, tmp_path: Path) -> None:
    script = tmp_path / "writer.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from pathlib import Path
            from harness.store.run_store import RunStore
            from harness.store.session import SessionKey
            store = RunStore.open(Path(sys.argv[1]))
            for n in range(len(store.sessions()), 100_000):
                key = SessionKey("c1", "h", "agent-x", "p", "seeded", "clean", n)
                partial = store.partial_folder(key)
                (partial / "recording.json").write_text("{" + "x" * 200_000 + "}")
                store.commit_session(key, partial=partial)
                print(n, flush=True)
            """
        )
    )
    before = 0
    for wait_s in (0.05, 0.2):
        writer = subprocess.Popen([sys.executable, str(script), str(store.folder)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline()
        time.sleep(wait_s)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        sessions = RunStore.open(store.folder).sessions()
        assert len(sessions) > before
        before = len(sessions)
        for session in sessions:
            assert (session.folder / "recording.json").stat().st_size == 200_002


@pytest.mark.parametrize("moment", ["shutil.rmtree", "pathlib.Path.rename"])
def test_a_writer_killed_while_it_replaces_a_session_leaves_no_row_without_files(
    store: RunStore, tmp_path: Path, moment: str
) -> None:
    commit(store, KEY)
    script = tmp_path / "writer.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, pathlib, shutil, signal, sys
            from harness.store.run_store import RunStore
            store = RunStore.open(pathlib.Path(sys.argv[1]))
            key = store.sessions()[0].key
            partial = store.partial_folder(key)
            (partial / "recording.json").write_text("{{}}")
            {moment} = lambda *arguments, **named: os.kill(os.getpid(), signal.SIGKILL)
            store.commit_session(key, partial=partial)
            """
        )
    )
    assert subprocess.run([sys.executable, str(script), str(store.folder)], check=False).returncode == -signal.SIGKILL
    for session in RunStore.open(store.folder).sessions():
        assert session.folder.is_dir()
    commit(store, KEY)
    assert [s.folder.is_dir() for s in RunStore.open(store.folder).sessions()] == [True]
