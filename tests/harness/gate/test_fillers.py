"""A limit on TTFA of an agent whose replies begin with a filler: decided as ever, and its row says what it leaves out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.experiment import Experiment
from harness.gate.budgets import read_budgets
from harness.gate.check import Checked, check_run
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore
from harness.timing.figures import TurnTiming
from tests.harness.conftest import peer
from tests.harness.figures.test_answer import late, old, turn
from tests.harness.gate.conftest import AGENT
from tests.made_run import play

Played = Callable[..., RunStore]
LIMITS = """
  - {figure: ttfa_ms.p50, at_most: 500}
  - {figure: within_budget.ttfa, at_least: 0.5}
  - {figure: answer_ms.p50, at_most: 500}
  - {figure: within_budget.answer, at_least: 0.5}
"""


@pytest.fixture
def played(tmp_path: Path) -> Played:
    def made(one: TurnTiming) -> RunStore:
        plan = make_plan(Experiment(agents=(str(peer(AGENT)),), pack="heart-open", judges=("none",)))
        store = RunStore.create(tmp_path / "run", new_manifest(plan), plan.contexts)
        for context in plan.contexts:
            play(store, context.id, AGENT, timing=one)
        return store

    return made


def limits(folder: Path, text: str = LIMITS) -> Path:
    path = folder / "budgets.yaml"
    path.write_text(f"schema: 1\nlimits:{text}", encoding="utf-8")
    return path


def by_figure(store: RunStore, budgets: Path) -> dict[str, Checked]:
    return {each.asked.limit.figure: each for each in check_run(store, read_budgets(budgets)).checked}


def test_a_filler_passes_a_limit_on_ttfa_and_the_row_names_the_answer(played: Played, tmp_path: Path) -> None:
    found = by_figure(played(late(300.0, 1_900.0)), limits(tmp_path))
    assert {name: each.verdict for name, each in found.items()} == {
        "ttfa_ms.p50": "pass", "within_budget.ttfa": "pass", "answer_ms.p50": "fail", "within_budget.answer": "fail",
    }  # fmt: skip
    note = found["ttfa_ms.p50"].note
    assert "TTFA is of a filler on 72 of 72 replies" in note
    assert "the median answer begins at 1.90 s" in note
    assert found["within_budget.ttfa"].note == note
    assert found["answer_ms.p50"].note == found["within_budget.answer"].note == ""


def test_terminal_summary_and_json_say_it_of_a_limit_that_passes(played: Played, tmp_path: Path) -> None:
    run, summary = played(late(300.0, None)).folder, tmp_path / "gate.md"
    budgets = limits(tmp_path, "\n  - {figure: ttfa_ms.p50, at_most: 500}\n")
    asked = ["check", str(run), "--budgets", str(budgets), "--summary", str(summary)]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    assert "and the median answer begins at > 15 s: limit answer_ms too." in told.output
    assert "limit answer" in summary.read_text(encoding="utf-8")
    (limit,) = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["limits"]
    assert (limit["verdict"], "TTFA is of a filler" in limit["note"]) == ("pass", True)


@pytest.mark.parametrize("one", [turn(300.0), old(300.0)], ids=["no filler", "timed before fillers were known"])
def test_no_row_says_anything_where_ttfa_is_the_answer(played: Played, tmp_path: Path, one: TurnTiming) -> None:
    found = by_figure(played(one), limits(tmp_path))
    assert found["ttfa_ms.p50"].verdict == "pass"
    assert not any(each.note for each in found.values())
    known = one.answer_ms is not None
    assert found["answer_ms.p50"].verdict == ("pass" if known else "cannot tell")
    assert (found["answer_ms.p50"].decision is not None) == known
