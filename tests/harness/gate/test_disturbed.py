"""Limits of a run in which the machine disturbed some turns: decided where no value of those turns would change the verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.figures.rank import Place
from harness.gate.budgets import read_budgets
from harness.gate.check import CheckResult, check_run
from harness.gate.disturbed import CellTurn, cell_turns, shares, times
from harness.gate.evidence import Cells
from harness.statistics.bounds import percentile_of, share_of_flags
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection, Turns
from tests.harness.conftest import Finished
from tests.harness.gate.conftest import AGENT, TURN, others_could_have

OF_60 = range(60)


def ttfa(turns: Turns) -> Mapping[str, Sequence[float]]:
    return {c: [t.ttfa_ms for t in group if t.ttfa_ms is not None] for c, group in turns.items()}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_bounds_contain_those_of_a_quiet_machine_whatever_the_delays_were(seed: int, share: float) -> None:
    dice = np.random.default_rng(seed)
    quiet = dice.gamma(4.0, 200.0, 60)
    delays = np.where(dice.random(60) < 0.4, dice.exponential(400.0, 60), 0.0)
    faults = dice.random(60) < 0.1
    heard = np.where(faults, dice.uniform(0, 9_000, 60), quiet + delays)
    turns = [
        CellTurn(
            str(k),
            others_could_have(delays[k] * dice.uniform(1, 2), replace(TURN, ttfa_ms=heard[k])),
            disturbed=bool(faults[k] or delays[k]),
            fault=bool(faults[k]),
        )
        for k in OF_60
    ]
    found = times(turns, ttfa, "ttfa", share)
    undisturbed = percentile_of({str(k): [float(quiet[k])] for k in OF_60}, share)
    assert found is not None
    assert undisturbed is not None
    assert found.contexts == 60
    low, high = found.bounds(0.005)
    assert low <= undisturbed.bounds(0.005)[0]
    assert undisturbed.bounds(0.005)[1] <= high


@pytest.mark.parametrize("seed", range(20))
def test_a_share_is_bounded_by_all_and_none_of_the_disturbed_chances(seed: int) -> None:
    dice = np.random.default_rng(seed)
    cut, disturbed = dice.random(60) < 0.2, dice.random(60) < 0.3
    seen = np.where(disturbed, dice.random(60) < 0.5, cut)
    turns = [CellTurn(str(k), replace(TURN, cut_in=bool(seen[k])), disturbed=bool(disturbed[k]), fault=False) for k in OF_60]
    found = shares(turns, lambda groups: {c: [t.cut_in for t in group] for c, group in groups.items()})
    undisturbed = share_of_flags({str(k): [bool(cut[k])] for k in OF_60})
    assert found is not None
    assert undisturbed is not None
    low, high = found.bounds(0.005)
    assert low <= undisturbed.bounds(0.005)[0]
    assert undisturbed.bounds(0.005)[1] <= high


@pytest.fixture
def check(disturbed_run: RunStore, tmp_path: Path) -> Callable[..., CheckResult]:
    """The check of that run against one limit."""

    def checked(limit: str, *, baseline: RunStore | None = None, **changes: list[str]) -> CheckResult:
        disturbed_run.set_manifest(disturbed_run.manifest.model_copy(update=changes))
        budgets = tmp_path / "budgets.yaml"
        budgets.write_text(f"schema: 1\nlimits:\n  - {{figure: {limit}}}\n", encoding="utf-8")
        return check_run(disturbed_run, read_budgets(budgets), baseline=baseline)

    return checked


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        pytest.param("ttfa_ms.p50, at_most: 1500", "fail", id="too slow even without all that others could have caused"),
        pytest.param("ttfa_ms.p50, at_most: 2600", "pass", id="quick enough in spite of others"),
        pytest.param("ttfa_ms.p50, at_most: 2000", "cannot tell", id="others may decide"),
        pytest.param("cut_in_rate, at_most: 0.3", "cannot tell", id="a cut-in may be missed on a starved machine"),
    ],
)
def test_an_invalid_run_decides_where_the_disturbed_turns_cannot(
    check: Callable[..., CheckResult], limit: str, verdict: str
) -> None:
    (found,) = check(limit).checked
    assert (found.verdict, found.in_spite_of_disturbance, found.invalid) == (
        verdict,
        verdict != "cannot tell",
        verdict == "cannot tell",
    )


def test_a_click_in_one_of_few_quiet_calls_is_no_obstacle(check: Callable[..., CheckResult], disturbed_run: RunStore) -> None:
    """One of ten quiet turns is more than may be discarded, one of all is not."""
    disturbed_run.set_timing(disturbed_run.sessions()[-5].id, (replace(TURN, ttfa_ms=None, discarded="a click"),))
    (found,) = check("ttfa_ms.p50, at_most: 1500").checked
    assert found.verdict == "fail"


def test_a_run_that_is_invalid_for_a_reason_not_known_by_turns_decides_nothing(check: Callable[..., CheckResult]) -> None:
    (found,) = check("ttfa_ms.p50, at_most: 1500", invalid=["the clocks were apart"]).checked
    assert found.verdict == "cannot tell"


def test_a_run_far_over_its_limit_fails_before_calls_are_played_again_and_is_surer_of_it(
    disturbed_run: RunStore, harness_here: Callable[..., Finished], tmp_path: Path
) -> None:
    """No call could be played: the agent is not there."""
    for k, session in enumerate(disturbed_run.sessions()):
        disturbed_run.set_timing(session.id, (replace(session.turn_timings[0], ttfa_ms=2_500.0 + 10 * k),))
    disturbed_run.close()
    limits = tmp_path / "limits.yaml"
    limits.write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 1500}\n", encoding="utf-8")
    once = harness_here("check", disturbed_run.folder, "--budgets", limits, "--json")
    first = harness_here("check", disturbed_run.folder, "--budgets", limits, "--json", "--until-clear", "--minutes", "5")
    assert [(f.code, f.json["limits"][0]["in_spite_of_disturbance"]) for f in (once, first)] == [(1, True)] * 2, first.err
    (low, high), (surer, same) = (f.json["limits"][0]["interval"] for f in (once, first))
    assert surer < low
    assert same == high


@pytest.mark.parametrize(
    "figure", ["elo_over.b", "people.elo_over.b", "win_rate", "people.win_rate", "understood_wer", "heard_wer"]
)
def test_ratings_and_word_errors_are_not_known_by_turns(disturbed_run: RunStore, figure: str) -> None:
    assert Cells(Selection(disturbed_run)).in_spite_of_disturbance(figure, AGENT, Place("clean", HEARD, "all"), ()) is None


def test_a_change_from_a_baseline_stays_undecided(check: Callable[..., CheckResult], disturbed_run: RunStore) -> None:
    (found,) = check("ttfa_ms.p50, worse_than_baseline_by: 50", baseline=disturbed_run).checked
    assert (found.verdict, found.in_spite_of_disturbance) == ("cannot tell", False)


def test_a_discarded_turn_of_a_session_at_fault_adds_nothing(disturbed_run: RunStore) -> None:
    session = disturbed_run.sessions()[0]
    clicked = replace(TURN, ttfa_ms=None, discarded="a click")
    found = cell_turns([(session, (TURN, clicked))], {session.id}, lambda context: context, "ttfa")
    assert [(t.disturbed, t.fault) for t in found] == [(True, True), (False, False)]
