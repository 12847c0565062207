"""A run of an older layout opens, says the same as before, and is never left between two layouts."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.store.judgment import is_rule
from harness.store.migrations import VERSION
from harness.store.run_store import RunStore
from tests.harness.store.conftest import digest
from tests.harness.store.test_store import CONTEXT, manifest
from tests.judged import put

OldRun = Callable[[str], Path]


def raw(run: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(run / "run.sqlite")) as database:
        return database.execute(query).fetchall()


def verdicts(run: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for (text,) in raw(run, "SELECT json FROM judgments ORDER BY id")]


def test_a_run_of_one_condition_keeps_its_verdicts_and_learns_where_they_are_from(old_run: OldRun) -> None:
    run = old_run("one-condition")
    before = [row for row in verdicts(run) if row["judge"] != "rule:no-reply"]
    silent = [row for row in verdicts(run) if row["judge"] == "rule:no-reply"]
    assert silent
    store = RunStore.open(run)
    assert raw(run, "PRAGMA user_version") == [(VERSION,)]
    after = store.judgments()
    assert {(row.condition, row.replicate) for row in after} == {("clean", 0)}
    dumped = [row.model_dump(mode="json", exclude={"condition", "replicate", "draw_rate"}) for row in after]
    assert [row for row in dumped if not is_rule(row["judge"])] == before
    assert Counter(row["judge"] for row in before) == {"embedded@3": 9, "votes/ada": 2, "votes/ben": 1}
    in_its_place = [{**row, "judge": "rule:no-reply (embedded@3)"} for row in silent]
    assert [row for row in dumped if is_rule(row["judge"])] == in_its_place
    assert store.notes() == ()
    assert store.manifest.conditions == ["clean"]
    assert [context.id for context in store.contexts()] == ["first", "second"]
    assert len(store.sessions()) == len(store.finished_ids()) == 6
    assert {s.key.agent for s in store.sessions() if s.timing is not None and s.timing.no_reply} == {"mute"}
    assert all(store.recording(session).caller.rate_hz for session in store.sessions())


def test_a_run_of_several_conditions_is_to_be_judged_again_and_says_so(old_run: OldRun) -> None:
    run = old_run("two-conditions")
    assert Counter(row["source"] for row in verdicts(run)) == {"judge": 6, "human": 3}
    store = RunStore.open(run)
    assert {row.source for row in store.judgments()} == {"human"}
    assert {(row.condition, row.replicate) for row in store.judgments()} == {("telephone", 0)}
    assert len(store.sessions()) == 8
    (note,) = store.notes()
    assert note.text.startswith("judged before conditions had separate boards; judge again with: harness judge run RUN")
    people = store.judgments()
    store.replace_judgments(["votes/ada"], people[:1], "heard_text", "telephone")
    assert store.notes() == (note,)
    judged = people[0].model_copy(update={"source": "judge", "judge": "embedded@3"})
    store.replace_judgments(["embedded@3"], [judged], "heard_text", "telephone")
    assert RunStore.open(run).notes() == ()


def test_a_migrated_run_has_the_layout_of_a_new_one(old_run: OldRun, tmp_path: Path) -> None:
    def layout(run: Path) -> dict[str, list[Any]]:
        names = [name for (name,) in raw(run, "SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert names
        return {name: [row[1:] for row in raw(run, f"PRAGMA table_xinfo({name})")] for name in names}

    old = old_run("one-condition")
    RunStore.open(old).close()
    new = tmp_path / "new"
    RunStore.create(new, manifest(), [CONTEXT]).close()
    assert layout(old) == layout(new)
    assert raw(new, "PRAGMA user_version") == [(VERSION,)]


def test_a_migration_killed_half_way_leaves_the_old_layout(old_run: OldRun, tmp_path: Path) -> None:
    run = old_run("two-conditions")
    before = verdicts(run)
    script = tmp_path / "killed.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, sys
            from pathlib import Path
            from harness.store import migrations
            from harness.store.run_store import RunStore
            step = migrations._STEPS[0]
            def killed(database):
                step(database)
                if database.execute("PRAGMA database_list").fetchone()[2]:
                    os.kill(os.getpid(), signal.SIGKILL)
            migrations._STEPS = (killed, *migrations._STEPS[1:])
            RunStore.open(Path(sys.argv[1]))
            """
        )
    )
    killed = subprocess.run([sys.executable, script, run], env={**os.environ, "PYTHONPATH": os.getcwd()}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert raw(run, "PRAGMA user_version") == [(0,)]
    assert verdicts(run) == before
    assert len(RunStore.open(run).notes()) == 1


def test_a_run_that_another_process_holds_is_read_and_not_changed(old_run: OldRun) -> None:
    run = old_run("one-condition")
    holder = subprocess.Popen(
        ["flock", run / "run.lock", sys.executable, "-c", "import sys; print('held', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    before = digest(run)
    store = RunStore.open(run)
    assert {row.condition for row in store.judgments()} == {"clean"}
    holder.communicate()
    with pytest.raises(UserError, match="another process was writing this run when it was opened; try again"), store.lock():
        pass
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        put(store, store.judgments())
    assert digest(run) == before


def test_a_run_on_read_only_media_can_be_read(old_run: OldRun) -> None:
    run = old_run("one-condition")
    before = digest(run)
    os.chmod(run / "run.sqlite", 0o444)
    os.chmod(run, 0o555)
    mounted = False
    if os.access(run, os.W_OK):  # modes do not bind root
        mounted = not any(
            subprocess.run(["mount", *arguments, run], capture_output=True, check=False).returncode
            for arguments in (["--bind", run], ["-o", "remount,ro,bind"])
        )
        if not mounted:
            pytest.skip("root here may write anywhere, and may not mount: nothing can be made read-only")
    try:
        store = RunStore.open(run)
        assert {row.condition for row in store.judgments()} == {"clean"}
        with pytest.raises(UserError, match="cannot be written"), store.lock():
            pass
        store.close()
        assert digest(run) == before
    finally:
        if mounted:
            subprocess.run(["umount", run], check=True)
        os.chmod(run, 0o755)


def test_rank_and_report_work_on_an_old_run_from_the_command_line(old_run: OldRun, harness_here: Callable[..., Any]) -> None:
    run = old_run("one-condition")
    ranked = harness_here("rank", run, "--draws", 20, "--json")
    assert ranked.code == 0, ranked.err
    assert "prompt" in json.dumps(ranked.json)
    reported = harness_here("report", run, "--json")
    assert reported.code == 0, reported.err
    assert reported.json["agents"]["prompt"]["turns"] == 2
    assert (run / "report.html").stat().st_size > 10_000
