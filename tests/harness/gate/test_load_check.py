"""Limits on the steps of a load test, and two load tests side by side."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.gate.budgets import read_budgets
from harness.gate.check import CheckResult, check_run
from harness.reports.load_versions import load_versions
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished
from tests.harness.load.made_turns import MADE, changed, queued, stored, turn

LASTS_S = 150.0


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("loads") / "now", [queued(2.0, LASTS_S, 1), queued(8.0, LASTS_S, 1)])


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    steps = [queued(2.0, LASTS_S, 2), queued(8.0, LASTS_S, 2, slower=3.0)]
    return stored(tmp_path_factory.mktemp("loads") / "slower", steps)


def checked(folder: Path, tmp_path: Path, *limits: str, baseline: Path | None = None) -> CheckResult:
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text("schema: 1\nlimits:\n" + "".join(f"  - {{{limit}}}\n" for limit in limits), encoding="utf-8")
    before = RunStore.open(baseline) if baseline is not None else None
    return check_run(RunStore.open(folder), read_budgets(budgets), baseline=before)


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ("figure: ttfa_ms.p95, rate: 2, at_most: 2000", "pass"),
        ("figure: ttfa_ms.p50, rate: 2, at_most: 200", "fail"),
        ("figure: ttfa_ms.p95, rate: 2, at_most: 200", "fail"),
        ("figure: no_reply_rate, rate: 2, at_most: 0.01", "cannot tell"),
        ("figure: continuity, rate: 8, at_least: 0.5", "pass"),
        ("figure: ttft_ms.p50, rate: 2, at_most: 300", "cannot tell"),
        ("figure: ttft_ms.p50, rate: 2, at_most: 300, missing: fail", "fail"),
    ],
)
def test_a_limit_is_on_the_step_that_it_names(now: Path, tmp_path: Path, limit: str, verdict: str) -> None:
    result = checked(now, tmp_path, limit)
    assert result.verdict == verdict
    assert len(result.checked) == 1
    assert "calls/s" in result.checked[0].name


def test_a_filler_passes_a_limit_on_ttfa_and_the_row_names_the_answer(tmp_path: Path) -> None:
    rows = queued(2.0, LASTS_S, 1)
    late = [changed(row, answer_ms=(row.turn_timings[0].ttfa_ms or 0) + 2_000) for row in rows]
    plain = [changed(row, answer_ms=row.turn_timings[0].ttfa_ms) for row in rows]
    limits = ("figure: ttfa_ms.p50, rate: 2, at_most: 2000", "figure: answer_ms.p50, rate: 2, at_most: 2000")
    notes = {}
    for name, turns in (("late", late), ("plain", plain), ("once", rows)):
        on_ttfa, on_answer = checked(stored(tmp_path / name, [turns]), tmp_path, *limits).checked
        assert on_ttfa.verdict == "pass"
        notes[name], verdict = on_ttfa.note, on_answer.verdict
        assert (verdict, on_answer.note) == ({"late": "fail", "plain": "pass", "once": "cannot tell"}[name], "")
    assert notes["plain"] == notes["once"] == ""
    assert f"TTFA is of a filler on {len(rows)} of {len(rows)} replies, and the median answer begins at 2." in notes["late"]


def test_a_limit_for_runs_is_not_for_loads_and_the_other_way_round(now: Path, tmp_path: Path) -> None:
    both = ("figure: ttfa_ms.p95, at_most: 1", "figure: ttfa_ms.p95, rate: 2, at_most: 2000")
    result = checked(now, tmp_path, *both)
    assert [c.asked.limit.rate for c in result.checked] == [2.0]
    assert result.verdict == "pass"
    with pytest.raises(UserError, match="no limit is for this load test"):
        checked(now, tmp_path, both[0])
    with pytest.raises(UserError, match="no limit is for this load test"):
        checked(now, tmp_path, "figure: ttfa_ms.p95, callers: 2, at_most: 2000")


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("figure: ttfa_ms.p95, rate: 3, at_most: 1", "has no step 3 calls/s; it has 2, 8"),
        ("figure: ttfa_ms.p95, rate: 2, at_most: 1, agent: theirs", "no agent theirs; it has my"),
        ("figure: win_rate, rate: 2, at_most: 0.1", "no such figure; it has ttfa_ms.p50"),
        ("figure: ttfa_ms.p95, rate: 2, at_most: 1, subset: adversarial", "no subset"),
        ("figure: ttfa_ms.p95, rate: 2, callers: 2, at_most: 1", "a rate and callers"),
    ],
)
def test_a_limit_that_no_load_could_meet_is_refused_in_one_line(now: Path, tmp_path: Path, limit: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        checked(now, tmp_path, limit)
    assert "\n" not in str(refused.value)


def test_a_step_above_the_caller_s_own_ceiling_decides_nothing(tmp_path: Path) -> None:
    late = stored(tmp_path / "late", [queued(2.0, LASTS_S, 1), queued(8.0, LASTS_S, 1)], at_1="callers came late, p99 90 ms")
    result = checked(late, tmp_path, "figure: ttfa_ms.p50, rate: 8, at_most: 1", "figure: ttfa_ms.p50, rate: 2, at_most: 2000")
    assert [c.verdict for c in result.checked] == ["cannot tell", "pass"]
    assert "callers came late" in result.checked[0].why


def test_a_regression_at_one_rate_fails_and_its_sentence_has_an_interval(now: Path, slower: Path, tmp_path: Path) -> None:
    limits = [f"figure: ttfa_ms.p95, rate: {rate}, worse_than_baseline_by: 300" for rate in (2, 8)]
    result = checked(slower, tmp_path, *limits, baseline=now)
    assert [c.verdict for c in result.checked] == ["pass", "fail"]
    since = load_versions(RunStore.open(slower), RunStore.open(now))
    calm, risen = since.changes
    assert "p95 at 8 calls/s rose" in risen.words
    assert risen.interval is not None
    assert risen.change is not None
    assert 0 < risen.interval[0] <= risen.change <= risen.interval[1]
    assert "no clear change" in calm.words
    back = load_versions(RunStore.open(now), RunStore.open(slower)).changes[1]
    assert "p95 at 8 calls/s fell" in back.words


def test_other_callers_are_refused_and_other_machines_said(now: Path, tmp_path: Path) -> None:
    steps = [queued(2.0, LASTS_S, 1)]
    other = stored(tmp_path / "pack", steps, made=MADE | {"pack": "exam"})
    with pytest.raises(UserError, match="another pack"):
        load_versions(RunStore.open(now), RunStore.open(other))
    apart = stored(tmp_path / "rates", [queued(3.0, LASTS_S, 1)])
    with pytest.raises(UserError, match="no step in common"):
        load_versions(RunStore.open(now), RunStore.open(apart))
    for what, other_made, contexts in (
        ("mode", {"mode": "replay"}, 8),
        ("contents of the pack", {"pack_hash": "b"}, 8),
        ("contexts", {}, 4),
    ):
        apart = stored(tmp_path / what, steps, MADE | other_made, contexts)
        with pytest.raises(UserError, match=f"another .*{what}"):
            load_versions(RunStore.open(now), RunStore.open(apart))
    there = stored(tmp_path / "machine", steps, made=MADE | {"machine_id": "there"})
    since = load_versions(RunStore.open(now), RunStore.open(there))
    assert any("machine" in note for note in since.notes)
    assert any("8 calls/s" in note for note in since.notes), "a step of one test alone is named"


def test_few_turns_are_not_compared_and_a_step_that_fell_silent_has_no_percentage(tmp_path: Path) -> None:
    few = stored(tmp_path / "few", [queued(0.2, 60.0, 1)])
    assert "a p95 needs 60" in load_versions(RunStore.open(few), RunStore.open(few)).changes[0].words
    spoke = stored(tmp_path / "spoke", [queued(2.0, LASTS_S, 1)])
    silent = stored(tmp_path / "silent", [[turn(k, k / 2, None, rate=2.0) for k in range(600)]])
    (change,) = load_versions(RunStore.open(silent), RunStore.open(spoke)).changes
    assert change.words.endswith("and is over 15 s")
    assert change.as_object()["change"] is None


def test_the_command_checks_a_load_test(now: Path, slower: Path, tmp_path: Path, harness_here: Callable[..., Finished]) -> None:
    budgets = tmp_path / "limits.yaml"
    budgets.write_text(
        "schema: 1\nlimits:\n  - {figure: ttfa_ms.p95, rate: 8, worse_than_baseline_by: 300}\n", encoding="utf-8"
    )
    files = ("--junit", tmp_path / "gate.xml", "--summary", tmp_path / "gate.md")
    done = harness_here("check", slower, "--budgets", budgets, "--baseline", now, *files)
    assert done.code == 1, done.err
    assert "my: p95 at 8 calls/s rose" in done.out
    assert "stretches of 15 s" in done.out
    assert "rose" in (tmp_path / "gate.md").read_text()
    assert "sound:" not in (tmp_path / "gate.xml").read_text()
    told = json.loads(harness_here("check", slower, "--budgets", budgets, "--baseline", now, "--json").out)
    assert told["limits"][0]["condition"] == "8 calls/s"
    assert told["baseline"]["changes"][1]["change"] > 0
    refused = harness_here("check", slower, "--budgets", budgets, "--baseline", now, "--until-clear", "--minutes", 1)
    assert refused.code == 2
    assert "--minutes: has no effect" in refused.err
    wrong = harness_here("check", slower, "--budgets", budgets, "--baseline", tmp_path)
    assert wrong.code == 2
    assert "holds no run" in wrong.err


def test_a_p95_of_few_turns_decides_nothing_and_says_why(now: Path, tmp_path: Path) -> None:
    few = stored(tmp_path / "few", [queued(0.1, 300.0, 1)])
    limits = ("figure: ttfa_ms.p95, rate: 0.1, at_most: 9000", "figure: ttfa_ms.p50, rate: 0.1, at_most: 9000")
    result = checked(few, tmp_path, *limits)
    assert [c.verdict for c in result.checked] == ["cannot tell", "pass"]
    assert "a p95 needs 60" in result.checked[0].why
    ignored = checked(few, tmp_path, f"{limits[0]}, missing: ignore", limits[1])
    assert [c.verdict for c in ignored.checked] == ["ignored", "pass"]
    baseline = checked(few, tmp_path, "figure: ttfa_ms.p50, rate: 0.1, worse_than_baseline_by: 10", baseline=None)
    assert baseline.verdict == "cannot tell"
    twice = stored(tmp_path / "twice", [queued(0.1, 300.0, 1), queued(2.0, LASTS_S, 1)])
    (one,) = checked(twice, tmp_path, "figure: ttfa_ms.p50, rate: 0.1, worse_than_baseline_by: 10", baseline=now).checked
    assert one.why.startswith("The baseline has no step 0.1 calls/s, and")


def test_a_share_that_should_be_high_is_worse_when_it_falls(tmp_path: Path) -> None:
    def continuous(name: str, every: int) -> Path:
        return stored(tmp_path / name, [[turn(k, k / 2, rate=2.0, underruns=int(k % every == 0)) for k in range(600)]])

    limit = "figure: continuity, rate: 2, worse_than_baseline_by: 0.2"
    good, bad = continuous("good", 1_000), continuous("bad", 1)
    assert checked(bad, tmp_path, limit, baseline=good).verdict == "fail"
    assert checked(good, tmp_path, limit, baseline=bad).verdict == "pass"


def test_an_unfit_step_of_the_baseline_matters_to_comparisons_alone(now: Path, tmp_path: Path) -> None:
    late = stored(tmp_path / "late", [queued(2.0, LASTS_S, 1)], at_0="callers came late, p99 90 ms")
    both = ("figure: ttfa_ms.p50, rate: 2, at_most: 2000", "figure: ttfa_ms.p50, rate: 2, worse_than_baseline_by: 500")
    result = checked(now, tmp_path, *both, baseline=late)
    assert [c.verdict for c in result.checked] == ["pass", "cannot tell"]
    assert "The baseline's step says nothing about the agent" in result.checked[1].why


def test_limits_for_runs_ask_a_load_test_for_no_baseline(
    now: Path, tmp_path: Path, harness_here: Callable[..., Finished]
) -> None:
    budgets = tmp_path / "both.yaml"
    of_runs, of_loads = "{figure: ttfa_ms.p50, worse_than_baseline_by: 50}", "{figure: ttfa_ms.p50, rate: 2, at_most: 2000}"
    budgets.write_text(f"schema: 1\nlimits:\n  - {of_runs}\n  - {of_loads}\n", encoding="utf-8")
    assert harness_here("check", now, "--budgets", budgets).code == 0
    budgets.write_text(budgets.read_text().replace("at_most: 2000", "worse_than_baseline_by: 50"), encoding="utf-8")
    assert "name its run with --baseline" in harness_here("check", now, "--budgets", budgets).err
