"""A run that is damaged, of another harness or not whole is refused by every command: one line, exit 2, nothing written."""

import json
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import UserError
from harness.store.run_store import RunStore
from tests.harness.store.conftest import digest

OldRun = Callable[[str], Path]
DATABASE = "run.sqlite"
COMMANDS = {
    "rank": ["rank", "RUN", "--draws", "2"],
    "report": ["report", "RUN"],
    "baseline": ["report", "SOUND", "--baseline", "RUN"],
    "judge": ["judge", "run", "RUN", "--judge", "embedded"],
    "dry run": ["judge", "run", "RUN", "--judge", "embedded", "--dry-run"],
    "remeasure": ["remeasure", "RUN"],
    "play": ["play", "RUN"],
    "listen": ["listen", "RUN", "--take-in"],
    "add-votes": ["add-votes", "RUN"],
    "export": ["label", "export", "RUN", "--out", "OUT"],
    "resume": ["run", "--resume", "--out", "RUN"],
}


def change(run: Path, *statements: str) -> None:
    with closing(sqlite3.connect(run / DATABASE)) as database, database:
        for statement in statements:
            database.execute(statement)


def truncated(run: Path) -> None:
    content = (run / DATABASE).read_bytes()
    (run / DATABASE).write_bytes(content[: len(content) * 2 // 3])


def random_bytes(run: Path) -> None:
    content = bytearray((run / DATABASE).read_bytes())
    content[4096 : len(content) - 4096] = random.Random(1).randbytes(len(content) - 8192)
    (run / DATABASE).write_bytes(bytes(content))


def a_folder(run: Path) -> None:
    (run / DATABASE).unlink()
    (run / DATABASE).mkdir()


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "no database": (lambda run: (run / DATABASE).unlink(), "holds no run (no run.sqlite in it)"),
    "empty": (lambda run: (run / DATABASE).write_bytes(b""), "holds no run (run.sqlite is empty)"),
    "folder": (a_folder, "holds no run"),
    "another file": (lambda run: (run / DATABASE).write_bytes(b"only the name of one " * 400), "is damaged"),
    "another database": (lambda run: change(run, "DROP TABLE sessions"), "is damaged"),
    "truncated": (truncated, "is damaged"),
    "random bytes": (random_bytes, "is damaged"),
    "no manifest": (lambda run: change(run, "DELETE FROM manifest"), "is damaged"),
    "half a manifest": (lambda run: change(run, "UPDATE manifest SET json = substr(json, 1, 99)"), "is damaged"),
    "newer": (lambda run: change(run, "PRAGMA user_version = 99"), "was made by a newer harness (layout 99"),
    "other manifest": (
        lambda run: change(run, "UPDATE manifest SET json = json_set(json, '$.schema_version', 2)"),
        "its manifest has version 2, and this harness reads version 1",
    ),
    "unknown condition": (
        lambda run: change(run, "UPDATE sessions SET condition = 'fog' WHERE agent = 'late'"),
        "of condition 'fog', which the run does not have (clean)",
    ),
    "unknown agent": (lambda run: change(run, "UPDATE sessions SET agent = 'x' WHERE agent = 'late'"), "is of agent 'x'"),
    "unknown context": (lambda run: change(run, "UPDATE sessions SET context_id = 'x'"), "is of context 'x'"),
    "session gone": (
        lambda run: shutil.rmtree(run / "sessions" / "first__late__seeded__clean__r0"),
        "first__late__seeded__clean__r0: the files of this session are gone",
    ),
}


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """The command line in this process: exit code and standard error."""

    def called(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["harness", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), capsys.readouterr().err

    return called


@pytest.mark.parametrize("layout", ["old", "today's"])
@pytest.mark.parametrize("case", BAD)
def test_every_command_refuses_it_in_one_line_and_writes_nothing(
    case: str, layout: str, old_run: OldRun, tmp_path: Path, harness: Callable[..., tuple[int, str]]
) -> None:
    run = old_run("one-condition")
    if layout == "today's":
        RunStore.open(run).close()
    sound = Path(shutil.copytree(run, tmp_path / "sound"))
    RunStore.open(sound).close()
    spoil, words = BAD[case]
    spoil(run)
    before, before_sound = digest(run), digest(sound)
    names = {"RUN": str(run), "SOUND": str(sound), "OUT": str(tmp_path / "sheets")}
    # What refuses is one place; that every command comes to it is seen on two of the faults.
    asked = COMMANDS if layout == "old" and case in ("newer", "session gone") else {"rank": COMMANDS["rank"]}
    for name, arguments in asked.items():
        if name == "resume" and case == "session gone":
            continue
        code, said = harness(*(names.get(word, word) for word in arguments))
        line = said.splitlines()[-1]
        assert (code, words in line) == (2, True), f"{name}: {said}"
        assert "Traceback" not in said
        assert [text for text in said.splitlines() if text.startswith("harness: ")] == [line]
        assert digest(run) == before, name
        assert digest(sound) == before_sound, name
        assert not (tmp_path / "sheets").exists()


def test_a_session_whose_files_are_gone_counts_as_not_played_when_the_run_goes_on(old_run: OldRun) -> None:
    run = old_run("one-condition")
    shutil.rmtree(run / "sessions" / "second__prompt__seeded__clean__r0")
    with pytest.raises(UserError, match="play it again with: harness run --resume --out"):
        RunStore.open(run)
    store = RunStore.open(run, to_resume=True)
    assert len(store.finished_ids()) == 5
    assert "second__prompt__seeded__clean__r0" not in store.finished_ids()


@pytest.mark.parametrize("times", [12, pytest.param(60, marks=pytest.mark.long)])
def test_random_bytes_anywhere_are_named_or_harmless(
    times: int, old_run: OldRun, harness: Callable[..., tuple[int, str]]
) -> None:
    run = old_run("one-condition")
    RunStore.open(run).close()
    whole = (run / DATABASE).read_bytes()
    (run / "run.lock").touch()
    outcomes = []
    for seed in range(times):
        dice = random.Random(seed)
        spoilt = bytearray(whole)
        size = dice.choice((1, 8, 200))
        at = dice.randrange(100, len(whole) - size)
        spoilt[at : at + size] = dice.randbytes(size)
        (run / DATABASE).write_bytes(bytes(spoilt))
        before = digest(run)
        code, said = harness("rank", str(run), "--draws", "1")
        assert code in (0, 2), f"seed {seed}: {said}"
        assert len(said.splitlines()) == (code == 2), f"seed {seed}: {said}"
        assert digest(run) == before
        outcomes.append(code)
    assert {0, 2} <= set(outcomes)
    (run / DATABASE).write_bytes(whole)
    assert json.loads(RunStore.open(run).manifest.model_dump_json())["pack"] == "two-words"
