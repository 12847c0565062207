"""A load test of an older harness opens as a run: its check, its report and its changes are those that it had."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.load.result import made_of, read_result
from harness.store.run_store import RunStore, is_load
from tests.harness.conftest import Finished

OLD = Path(__file__).parent / "old_load"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def test_its_figures_are_those_that_it_had(old: Path) -> None:
    store = RunStore.open(old)
    told = {key: value for key, value in json.loads((old / "load.json").read_text()).items() if key != "isolated"}
    found = json.loads(json.dumps({**read_result(store).to_json(), "made": made_of(store.manifest)}))
    for step in found["steps"]:
        assert step.pop("name") == f"{step['rate']:g} calls/s"
    assert {**found, "cautions": [], "page": told["page"]} == told
    assert is_load(old)
    assert {path.name for path in old.iterdir()} == {"load.json", "turns.jsonl"}, "nothing was written"


def test_each_turn_is_at_its_instants(old: Path) -> None:
    rows = [json.loads(line) for line in (old / "turns.jsonl").read_text().splitlines()]
    calls = [call for step in ("0.5 calls/s", "1 calls/s") for call in RunStore.open(old).calls_of(step)]
    assert len({call.id for call in calls}) == len(calls) == len(rows)
    for call, row in zip(calls, rows, strict=True):
        (turn,) = call.turn_timings
        assert (call.started_ns, call.due_ns, call.begun_ns) == (row["begin_ns"], row["due_ns"], row["begun_ns"])
        assert (call.started_ns or 0) + round(turn.spoken_end_ms * 1e6) == row["spoken_end_ns"]
        assert (turn.discarded is None) is row["counted"]
        assert (turn.ttfa_ms, turn.cut_in, call.key.context_id) == (row["ttfa_ms"], row["cut_in"], row["context"])


def test_it_is_checked_and_compared_and_its_report_is_written(
    old: Path, tmp_path: Path, harness_here: Callable[..., Finished]
) -> None:
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, rate: 1, at_most: 2000}\n", encoding="utf-8")
    done = harness_here("check", old, "--budgets", budgets, "--baseline", old)
    assert done.code == 4, done.err
    assert "p95 at 1 calls/s is not compared (this test has 2 turns there, and a p95 needs 60)" in done.out
    assert harness_here("report", old).code == 0
    assert "event-loop lag" in (old / "report.html").read_text(encoding="utf-8")


def test_half_a_row_is_of_a_step_that_was_not_finished_and_damage_is_one_line(old: Path) -> None:
    turns, load = old / "turns.jsonl", old / "load.json"
    whole, text = turns.read_text(), load.read_text()
    turns.write_text(whole + '{"step": 2, "half')
    assert len(RunStore.open(old).sessions()) == len(whole.splitlines())
    given = json.loads(text)
    for file, changed, said in (
        (turns, "{}\n" + whole, "'step'"),
        (turns, "{not json\n" + whole, "damaged"),
        (load, "[1]", "damaged"),
        (load, json.dumps({**given, "schema": 2}), "reads schema 1"),
        (load, json.dumps({k: v for k, v in given.items() if k != "steps"}), "steps"),
        (load, json.dumps({**given, "steps": [{"rate": "x"}]}), "damaged"),
    ):
        before = file.read_text()
        file.write_text(changed)
        with pytest.raises(UserError, match=said) as refused:
            RunStore.open(old)
        assert "\n" not in str(refused.value)
        file.write_text(before)


def test_a_row_of_hostile_words_is_one_row(old: Path) -> None:
    hostile = "a\u2028b\x85c\x1cd\n{}"
    turns = old / "turns.jsonl"
    first, *rest = (json.loads(line) for line in turns.read_text().splitlines())
    row = {**first, "failure": "refused", "detail": hostile, "ttfa_ms": None, "no_reply": True}
    turns.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in (row, *rest)), encoding="utf-8")
    call = next(RunStore.open(old).calls_of("0.5 calls/s"))
    assert (call.failure_kind, call.failure_detail) == ("refused", "a·b·c·d\n{}"), "separators are shown, as in every run"


def test_a_load_test_shares_no_page_with_runs(old: Path, harness_here: Callable[..., Finished]) -> None:
    done = harness_here("report", old, old)
    assert done.code == 2
    assert "is a load test, whose report has its steps and no sound; name it alone" in done.err
    assert "leave --bundle out" in harness_here("report", old, "--bundle").err
