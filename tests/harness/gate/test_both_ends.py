"""Limits on a machine that others share, and in runs in which the harness was at fault: decided where neither changes that."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.gate.budgets import Budgets, read_budgets
from harness.gate.check import CheckResult, check_run
from harness.gate.extend_run import Extension, play_until_clear
from harness.progress import RunProgress
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timing.figures import Endpointing, InnerPause
from harness.turns import change
from harness.turns.of_run import table_of_run
from tests.harness.conftest import Finished
from tests.harness.gate.conftest import TURN, others_could_have, run_of
from tests.present import present

Check = Callable[..., CheckResult]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """The check of a run against limits, each a line of a budgets file."""

    def checked(run: RunStore, *limits: str, baseline: RunStore | None = None, look: int | None = None) -> CheckResult:
        budgets = tmp_path / "budgets.yaml"
        budgets.write_text("schema: 1\nlimits:\n" + "".join(f"  - {{figure: {limit}}}\n" for limit in limits), encoding="utf-8")
        return check_run(run, read_budgets(budgets), baseline=baseline, look=look)

    return checked


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        pytest.param("ttfa_ms.p50, at_most: 1500", "fail", id="too slow even without all that others could have caused"),
        pytest.param("ttfa_ms.p50, at_most: 2600", "pass", id="quick enough in spite of others"),
        pytest.param("ttfa_ms.p50, at_most: 2000", "cannot tell", id="others may decide"),
        pytest.param("cut_in_rate, at_most: 0.3", "pass", id="nobody is made to cut in by others"),
    ],
)
def test_others_on_the_machine_make_no_run_invalid_and_decide_nothing(
    check: Check, busy_run: RunStore, limit: str, verdict: str
) -> None:
    result = check(busy_run, limit)
    (found,) = result.checked
    assert (found.verdict, found.invalid, found.in_spite_of_disturbance, result.invalid) == (verdict, False, False, ())


def test_a_limit_that_others_alone_leave_open_names_them_and_asks_for_no_more_conversations(
    check: Check, busy_run: RunStore
) -> None:
    result = check(busy_run, "ttfa_ms.p50, at_most: 2000")
    (limit,) = result.as_object()["limits"]
    assert (limit["value"], limit["range"], limit["interval"]) == (2_500.0, [1_800.0, 2_500.0], [1_800.0, 2_500.0])
    assert limit["why"].startswith(
        "This machine cannot tell: 700 ms others' (chromium .3 cores, python3 .2); more conversations"
    )
    assert limit["more_needed"] is result.more_needed is None


def test_a_limit_that_is_open_for_want_of_conversations_asks_for_more_of_them(check: Check, tmp_path: Path) -> None:
    """Both ends are within the limit, and its interval is not yet."""
    rng = np.random.default_rng(1)
    turns = [others_could_have(10.0, replace(TURN, ttfa_ms=float(ms))) for ms in rng.uniform(200, 780, 40)]
    (limit,) = check(run_of(tmp_path / "run", turns), "ttfa_ms.p50, at_most: 560").as_object()["limits"]
    low, high = limit["range"]
    assert low < high < 560
    assert limit["verdict"] == "cannot tell"
    assert limit["why"] is None
    assert limit["more_needed"] > 0


@pytest.mark.parametrize("others", [0.0, 0.04, 0.06, 0.08])
def test_a_limit_never_passes_because_slow_turns_of_a_busy_machine_are_left_out(
    check: Check, tmp_path: Path, others: float
) -> None:
    """Others could have caused a part of each wait, so most of the slowest."""
    rng = np.random.default_rng(1)
    truth_ms = np.where(rng.random(216) < 0.55, rng.uniform(300, 410, 216), rng.uniform(900, 1_600, 216))
    turns = [others_could_have(others * ms, replace(TURN, ttfa_ms=float(ms))) for ms in truth_ms]
    limits = ("ttfa_ms.p95, at_most: 600", "within_budget.ttfa, at_least: 0.9", "ttfa_ms.p50, at_most: 375")
    p95, share, median = check(run_of(tmp_path / "run", turns, repeats=3), *limits).checked
    assert (p95.verdict, share.verdict, median.verdict) == ("fail", "fail", "cannot tell")
    found = present(p95.decision)
    assert found.value == pytest.approx(np.percentile(truth_ms, 95))
    assert found.ends == pytest.approx(((1 - others) * found.value, found.value))
    low, high = present(median.decision).interval
    assert low <= (1 - others) * np.median(truth_ms) <= np.median(truth_ms) <= high


@pytest.mark.parametrize(("limit", "verdict"), [("at_most: 9000", "cannot tell"), ("at_most: 2000", "fail")])
def test_a_p95_of_few_conversations_may_fail_and_cannot_pass(check: Check, tmp_path: Path, limit: str, verdict: str) -> None:
    """Seventy-two may all be quicker than the slowest twentieth, however often each is repeated."""
    run = run_of(tmp_path / "run", [TURN] * 144, repeats=2)
    (found,) = check(run, f"ttfa_ms.p95, {limit}").checked
    assert (found.verdict, present(found.decision).interval[1]) == (verdict, np.inf)


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        pytest.param("ttfa_ms.p50, at_most: 1500", "fail", id="too slow whatever those sessions hide"),
        pytest.param("ttfa_ms.p50, at_most: 2600", "pass", id="quick enough whatever they hide"),
        pytest.param("cut_in_rate, at_most: 0.2", "cannot tell", id="they may all have cut in"),
        pytest.param("no_reply_rate, at_most: 0.5", "pass", id="not even if all of them were silent"),
    ],
)
def test_an_invalid_run_decides_where_the_sessions_at_fault_cannot(
    check: Check, faulty_run: RunStore, limit: str, verdict: str
) -> None:
    result = check(faulty_run, limit)
    (found,) = result.checked
    assert result.invalid
    assert (found.verdict, found.in_spite_of_disturbance, found.invalid) == (
        verdict,
        verdict != "cannot tell",
        verdict == "cannot tell",
    )
    assert found.why == ""


def test_a_run_that_is_invalid_for_a_reason_not_known_by_sessions_decides_nothing(check: Check, faulty_run: RunStore) -> None:
    faulty_run.set_manifest(faulty_run.manifest.model_copy(update={"invalid": ["the clocks were apart"]}))
    (found,) = check(faulty_run, "ttfa_ms.p50, at_most: 1500").checked
    assert (found.verdict, found.invalid) == ("cannot tell", True)


@pytest.mark.parametrize("figure", ["people.win_rate", "understood_wer", "heard_wer", "unspoken_share"])
def test_figures_that_are_not_of_turns_are_not_decided_in_an_invalid_run(
    check: Check, faulty_run: RunStore, figure: str
) -> None:
    (found,) = check(faulty_run, f"{figure}, at_most: 0.99, missing: fail").checked
    assert (found.verdict, found.in_spite_of_disturbance) == ("cannot tell", False)


def cut(run: Path, cuts: int) -> RunStore:
    """A run of a pause in each of 72 calls, the first `cuts` of them cut."""
    pause = InnerPause(0.0, 300.0, "kept", True, 0)
    ends = [Endpointing("endpointing-2", (replace(pause, fate="cut" if k < cuts else "kept"),), 400.0) for k in range(72)]
    return run_of(run, [replace(TURN, endpointing=each) for each in ends])


@pytest.mark.parametrize("cuts", [5, 20])
def test_a_change_of_the_gate_is_the_one_change_of_every_reader(check: Check, tmp_path: Path, cuts: int) -> None:
    now, before = cut(tmp_path / "now", cuts), cut(tmp_path / "before", 0)
    (found,) = check(now, "pauses_cut_share, worse_than_baseline_by: 0.05", baseline=before).checked
    decision = present(found.decision)
    both = [table_of_run(Selection(run)) for run in (now, before)]
    one = present(change(both[0], both[1], "pauses_cut_share", cluster="speaker"))
    assert (decision.value, decision.interval) == (one.value, one.bounds(decision.tail))
    assert decision.value == pytest.approx(cuts / 72)
    assert found.verdict == ("fail" if cuts == 20 else "cannot tell")


def test_a_delay_by_others_in_either_run_leaves_a_change_open(check: Check, tmp_path: Path) -> None:
    slower = [replace(TURN, ttfa_ms=2_600.0)] * 72
    calm, now = run_of(tmp_path / "before", [TURN] * 72), run_of(tmp_path / "now", slower)
    busy = run_of(tmp_path / "busy", [others_could_have(200.0, turn) for turn in slower])
    limit = "ttfa_ms.p50, worse_than_baseline_by: 50"
    assert [check(run, limit, baseline=calm).verdict for run in (now, busy)] == ["fail", "cannot tell"]
    (found,) = check(busy, limit, baseline=calm).checked
    assert present(found.decision).ends == (-100.0, 100.0)
    assert found.why.startswith("This machine cannot tell: 200 ms others'")


def test_calls_at_fault_are_not_played_again_without_time_for_it(faulty_run: RunStore) -> None:
    budgets = Budgets.model_validate({"schema": 1, "limits": [{"figure": "ttfa_ms.p95", "at_most": 9_000}]})
    _, result, why = play_until_clear(
        faulty_run,
        lambda store, look, twice: check_run(store, budgets, look=look, fails_twice=twice),
        Extension(0.0, ("none",), RunProgress(quiet=True)),
    )
    assert result.verdict == "cannot tell"
    assert why == "the time is too short to play again 10 sessions in which the harness was at fault"


def test_a_run_far_over_its_limit_fails_before_calls_are_played_again_and_is_surer_of_it(
    tmp_path: Path, harness_here: Callable[..., Finished]
) -> None:
    """No call could be played: the agent is not there."""
    turns = [replace(TURN, ttfa_ms=2_500.0 + 10 * k) for k in range(72)]
    run = run_of(tmp_path / "run", turns, at_fault=range(6))
    run.close()
    limits = tmp_path / "limits.yaml"
    limits.write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 1500}\n", encoding="utf-8")
    once = harness_here("check", run.folder, "--budgets", limits, "--json")
    first = harness_here("check", run.folder, "--budgets", limits, "--json", "--until-clear", "--minutes", "5")
    assert [(f.code, f.json["limits"][0]["in_spite_of_disturbance"]) for f in (once, first)] == [(1, True)] * 2, first.err
    (low, high), (surer, same) = (f.json["limits"][0]["interval"] for f in (once, first))
    assert surer < low
    assert same == high


def test_a_check_that_others_leave_open_ends_at_once_and_plays_nothing(
    busy_run: RunStore, tmp_path: Path, harness_here: Callable[..., Finished]
) -> None:
    """Calls that others delayed are those with the longest waits: played again, the slow ones would be drawn until quick."""
    busy_run.close()
    limits = tmp_path / "limits.yaml"
    limits.write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 2000}\n", encoding="utf-8")
    done = harness_here("check", busy_run.folder, "--budgets", limits, "--until-clear", "--minutes", "5")
    assert done.code == 4
    assert "This machine cannot tell: 700 ms others' (chromium .3 cores, python3 .2)" in done.out
    assert "more conversations would not make this machine the agent's own" in done.out
    assert "Playing" not in done.err


def test_a_range_is_given_where_others_part_was_measured_in_every_turn(check: Check, tmp_path: Path) -> None:
    turns = [others_could_have(100.0)] * 71
    for name, last, known in (("watched", TURN, True), ("not", replace(TURN, contention=None), False)):
        (limit,) = check(run_of(tmp_path / name, [*turns, last]), "ttfa_ms.p50, at_most: 2600").as_object()["limits"]
        assert (limit["verdict"], limit["range"]) == ("pass", [2_400.0, 2_500.0] if known else None)
