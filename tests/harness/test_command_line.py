"""The command itself, before it does anything."""

import doctest
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from typer.main import get_command

from harness import progress
from harness.cli import _run, app
from harness.commands import old_words
from harness.commands.old_words import in_words_of_today
from harness.commands.screen import print_table, screen
from harness.errors import UserError
from harness.experiment import Experiment
from harness.files import cache_folder
from harness.gate.budgets import limits_for, read_budgets
from harness.progress import RunProgress
from harness.run.fixed_plan import read_plan
from harness.run.plan import make_plan, new_manifest
from harness.store.manifest import with_budgets


def test_a_command_that_computes_nothing_loads_no_statistics() -> None:
    """They take longer to load than most commands take to answer."""
    show = "import sys, harness.cli; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    assert "harness.commands.run" in loaded
    assert not {"scipy", "numpy", "altair", "pipecat"} & set(loaded)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its name, groups included."""
    waiting: list[tuple[str, Any]] = [("harness", get_command(app))]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        waiting += [(f"{name} {child}", each) for child, each in getattr(command, "commands", {}).items()]


def test_every_option_says_what_it_is_and_what_holds_without_it() -> None:
    silent = []
    for name, command in commands():
        for given in command.params:
            told = given.help or ""
            if getattr(given, "hidden", False):
                continue
            if not told:
                silent.append(f"{name} {given.name}: no help")
            is_value = given.param_type_name == "option" and not given.is_flag and not given.required
            if is_value and given.default is None and not isinstance(given.show_default, str) and "default" not in told.lower():
                silent.append(f"{name} {given.opts[0]}: no default")
    assert len(list(commands())) > 30
    assert silent == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("votes RUN", "add-votes RUN"),
        ("retime RUN", "measure RUN"),
        ("remeasure RUN", "measure RUN"),
        ("spans RUN --to X", "report RUN --to X"),
        ("export-traces RUN --out=X", "report RUN --to=X"),
        ("scenarios listen PACK", "scenarios show PACK --out callers.html"),
        ("scenarios hear PACK --out X", "scenarios show PACK --out X"),
        ("scenarios pauses PACK --law LAW", "scenarios build pack PACK --pauses LAW"),
        ("scenarios list --json", "scenarios show --json"),
        ("scenarios show votes", "scenarios show votes"),
        ("plan --limit 2 --out FILE", "run --limit 2 --write-plan FILE"),
        ("plan --out=FILE", "run --write-plan=FILE"),
        ("plan --estimate --agent-count 2", "run --estimate --agent-count 2"),
        ("plan --help", "run --help"),
        ("endpointing RUN --json", "report RUN --json --endpointing"),
        ("models add tiny PATH", "models fetch tiny --from PATH"),
        ("run --ray auto --ray-cpus 2 --ray-gpus=1 --out X", "run --ray auto --ray-worker cpus=2 --ray-worker gpus=1 --out X"),
        ("run --ray-shards 3 --ray-memory-gib 4", "run --ray-worker parts=3 --ray-worker memory=4"),
        ("run --out X", "run --out X"),
        ("", ""),
    ],
)
def test_a_line_of_an_earlier_version_is_one_of_today(old: str, new: str) -> None:
    assert in_words_of_today(old.split()) == new.split()
    known = {name.removeprefix("harness ") for name, command in commands() if not command.hidden}
    assert not new or " ".join(new.split()[: 2 if new.startswith(("scenarios", "models")) else 1]) in known


def test_the_examples_of_old_words_run() -> None:
    found = doctest.testmod(old_words)
    assert found.failed == 0
    assert found.attempted


@pytest.mark.parametrize("words", [("plan",), ("plan", "--out", "x", "--estimate")])
def test_an_earlier_plan_that_says_neither_what_it_is_for_plays_nothing(words: tuple[str, ...]) -> None:
    assert _run(list(words)) == 2


def test_the_bare_command_shows_help_and_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run([]) == 0
    assert "Usage: harness" in capsys.readouterr().out


def test_a_shell_completes_commands() -> None:
    asked = {"_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": "harness mod", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from harness.cli import main; main()"],
        env={**os.environ, **asked}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["models"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_shortens_names_and_never_a_figure(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    name = "an-agent-with-a-name-that-is-much-longer-than-most-names-are"
    table = Table("agent", "figure", "another", box=None, pad_edge=False)
    table.add_row(name, "1,234,567", "15,000.25")
    print_table(console, table, [name])
    told = out.getvalue()
    assert "1,234,567" in told
    assert "15,000.25" in told
    assert name in told
    assert ("… is " in told) == (width < 100)


def test_off_a_terminal_nothing_is_folded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen().print("word " * 100)
    assert capsys.readouterr().out.count("\n") == 1


def test_a_pipe_is_told_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "SOON_EVERY_S", 0.0)
    with RunProgress() as shown:
        shown.phase("Loading agents", 1)
        shown.status("polaris-like")
        shown.phase("Transcribing the replies", 9)
        for _ in range(4):
            shown.step("a context")
        shown.phase("Judging", 9)
        shown.count(5, 9)
    told = capsys.readouterr().err
    for words in ("  polaris-like", "  4/9, about", "  5/9, about"):
        assert words in told


def test_a_step_that_is_kept_is_a_line_of_its_own_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as shown:
        shown.phase("Calls", 2)
        shown.step("one", keep=True)
        shown.step("two")
        shown.phase("Others")
        shown.step("three", keep=True)
    assert capsys.readouterr().err.splitlines() == ["Calls (2)", "  1/2 one", "Others", "  three"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of a progress, which the test sets."""
    now_s = [0.0]
    monkeypatch.setattr("harness.progress.time.monotonic", lambda: now_s[0])
    return now_s


def test_a_slow_judge_is_followed_within_its_first_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as shown:
        shown.phase("Checking the judge")
        for done in (1, 2):
            clock[0] += 20.0
            shown.count(done, 60)
    assert capsys.readouterr().err.splitlines() == ["Checking the judge", "  1/60", "  2/60, about 19 min left"]


def test_answers_that_were_stored_already_promise_no_early_end(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as shown:
        shown.phase("Judging")
        for done in range(1, 501):
            shown.count(done, 1000)
        for done in range(501, 512):
            clock[0] += 10.0
            shown.count(done, 1000)
    assert capsys.readouterr().err.splitlines()[-1] == "  511/1000, about 82 min left"


def test_the_cache_is_where_the_system_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HEART_HARNESS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "heart-voice-harness"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "heart-voice-harness"
    monkeypatch.setenv("HEART_HARNESS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_budget_travels_from_the_line_to_the_run(tmp_path: Path) -> None:
    line = ["plan", "--agent", "baseline", "--limit", "1", "--budget-ttfa", "800", "--out", str(tmp_path / "plan.json")]
    assert _run(line) == 0
    manifest = new_manifest(make_plan(read_plan(tmp_path / "plan.json").experiment))
    assert manifest.budgets_ms == {"ttfa": 800.0, "ttft": 500.0}
    assert with_budgets(manifest, None, 300.0).budgets_ms == {"ttfa": 800.0, "ttft": 300.0}
    with pytest.raises(UserError, match="--budget-ttft 0: must be at least 1"):
        with_budgets(manifest, None, 0.0)


def test_a_budgets_file_can_say_what_a_turn_may_take(tmp_path: Path) -> None:
    path = tmp_path / "budgets.yaml"
    limits = "limits:\n  - {figure: within_budget.ttfa, at_least: 0.5}\n"
    path.write_text(f"schema: 1\nbudgets_ms: {{ttfa: 800}}\n{limits}", encoding="utf-8")
    found = read_budgets(path)
    played = make_plan(Experiment(agents=("baseline",), budget_ttfa_ms=800.0))
    assert limits_for(found, new_manifest(played), played.contexts, judged=False)
    other = make_plan(Experiment(agents=("baseline",)))
    with pytest.raises(UserError, match="play it with --budget-ttfa 800"):
        limits_for(found, new_manifest(other), other.contexts, judged=False)
    path.write_text(f"schema: 1\nbudgets_ms: {{ttfb: 800}}\n{limits}", encoding="utf-8")
    with pytest.raises(UserError, match="ttfb: Input should be 'ttfa' or 'ttft'"):
        read_budgets(path)
