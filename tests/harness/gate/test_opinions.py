"""A judge's opinion decides no limit, however sure it is; people's votes and a judge that they bear out do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.figures.rank import Place
from harness.gate.evidence import Cells
from harness.ranking.elo_bounds import EloOverReference
from harness.store.judgment import JudgeCheck, Judgment
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from tests.borne_out import AN_OPINION, BORNE_OUT
from tests.harness.conftest import Finished
from tests.judged import put
from tests.made_run import agent, made_run
from tests.reports.conftest import context

CONTEXTS = 24
Checked = Callable[..., tuple[int, dict[str, Any]]]


def _run(folder: Path, check: JudgeCheck, *, voted: bool = False, on: str = "heard_text") -> Path:
    """`mine` beats the reference by every verdict and every vote but one in eight; `on`: presentation of the votes."""
    items = [context(n) for n in range(CONTEXTS)]
    store = made_run(folder, items, seed=7, agents=[agent("mine", "text")])
    by = {"judge": check.judge, "source": "judge", "presentation": "heard_text"}
    people = {"judge": "human:ada", "source": "human", "draw_rate": 1.0, "presentation": on}
    for who in (by, people) if voted else (by,):
        put(store, [
            Judgment.model_validate(
                {
                    "context": c.id, "subset": c.subset, "system_a": "mine", "system_b": "ref:careful", "condition": "clean",
                    "winner": "b" if n % 8 == 0 else "a", "strength": 2, **who,
                }
            )
            for n, c in enumerate(items)
        ])  # fmt: skip
    store.add_judge_check(check)
    store.close()
    return folder


@pytest.fixture
def checked(harness_here: Callable[..., Finished]) -> Checked:
    def told(run: Path, limits: str, *more: object) -> tuple[int, dict[str, Any]]:
        budgets = run.parent / "budgets.yaml"
        budgets.write_text(f"schema: 1\nlimits:\n{limits}", encoding="utf-8")
        done = harness_here("check", run, "--budgets", budgets, "--json", *more)
        return done.code, json.loads(done.out)

    return told


LIMITS = "  - {figure: elo_over.ref:careful, at_least: 0}\n  - {figure: win_rate, at_least: 0.5}\n"


@pytest.mark.parametrize(
    ("check", "voted", "code", "verdict"),
    [(AN_OPINION, False, 4, "cannot tell"), (BORNE_OUT, False, 0, "pass"), (AN_OPINION, True, 0, "pass")],
    ids=["opinion", "borne out", "people"],
)
def test_an_opinion_cannot_tell_what_people_and_a_judge_borne_out_can(
    checked: Checked, tmp_path: Path, check: JudgeCheck, voted: bool, code: int, verdict: str
) -> None:
    run = _run(tmp_path / "run", check, voted=voted)
    exit_code, told = checked(run, LIMITS, "--summary", tmp_path / "gate.md")
    assert (exit_code, told["verdict"]) == (code, verdict)
    assert [limit["verdict"] for limit in told["limits"]] == [verdict] * 2
    opinion = "Quality is a judge's opinion (tester@1: not compared with judgements of people)"
    assert {limit["undecided"] for limit in told["limits"]} == {opinion if code else None}
    assert all(limit["value"] is not None for limit in told["limits"])
    assert told["more_needed"] is None
    shown = (tmp_path / "gate.md").read_text(encoding="utf-8").replace("\\", "")
    assert ("it decides nothing" in shown and "harness listen" in shown) == bool(code)


def test_a_limit_on_people_alone_is_missing_and_no_opinion(checked: Checked, tmp_path: Path) -> None:
    code, told = checked(_run(tmp_path / "run", AN_OPINION), "  - {figure: people.elo_over.ref:careful, at_least: 0}\n")
    (limit,) = told["limits"]
    assert (code, limit["verdict"], limit["value"], limit["undecided"]) == (4, "cannot tell", None, None)


def test_a_baseline_that_is_an_opinion_decides_nothing_either(checked: Checked, tmp_path: Path) -> None:
    now, before = _run(tmp_path / "now", BORNE_OUT), _run(tmp_path / "before", AN_OPINION)
    code, told = checked(now, "  - {figure: elo_over.ref:careful, worse_than_baseline_by: 400}\n", "--baseline", before)
    (limit,) = told["limits"]
    assert (code, limit["verdict"]) == (4, "cannot tell")
    assert limit["undecided"].startswith("Baseline: Quality is a judge's opinion")


WORSE = {
    figure: f"  - {{figure: {figure}, worse_than_baseline_by: {margin}}}\n"
    for figure, margin in (("elo_over.ref:careful", 2000), ("win_rate", 0.9))
}
OTHER_JUDGE = BORNE_OUT.model_copy(update={"judge": "other@1"})


@pytest.mark.parametrize("figure", WORSE)
@pytest.mark.parametrize(
    ("now", "before", "ours", "theirs"),
    [
        ({"voted": True}, {}, "people's votes (heard_text)", "tester@1"),
        ({}, {"voted": True}, "tester@1", "people's votes (heard_text)"),
        ({}, {"check": OTHER_JUDGE}, "tester@1", "other@1"),
        ({"voted": True}, {"voted": True, "on": "written"}, "people's votes (heard_text)", "people's votes (written)"),
    ],
    ids=["people now", "people before", "two judges", "two presentations"],
)
def test_ratings_of_different_scales_are_not_compared_with_a_baseline(
    checked: Checked, tmp_path: Path, figure: str, now: dict[str, Any], before: dict[str, Any], ours: str, theirs: str
) -> None:
    run = _run(tmp_path / "now", **{"check": BORNE_OUT, **now})
    earlier = _run(tmp_path / "before", **{"check": BORNE_OUT, **before})
    code, told = checked(run, WORSE[figure], "--baseline", earlier, "--summary", tmp_path / "gate.md")
    (found,) = told["limits"]
    assert (code, found["verdict"], found["more_needed"]) == (4, "cannot tell", None)
    assert found["undecided"] == f"This run is rated by {ours} and the baseline by {theirs}, which are different scales"
    assert found["value"] is None
    assert found["interval"] is None
    assert "it decides nothing" in (tmp_path / "gate.md").read_text(encoding="utf-8").replace("\\", "")


@pytest.mark.parametrize("voted", [True, False], ids=["people", "the same judge"])
def test_ratings_of_one_scale_are_compared_with_a_baseline(checked: Checked, tmp_path: Path, voted: bool) -> None:
    now, before = (_run(tmp_path / name, BORNE_OUT, voted=voted) for name in ("now", "before"))
    code, told = checked(now, "".join(WORSE.values()), "--baseline", before)
    assert (code, {limit["undecided"] for limit in told["limits"]}) == (0, {None})


@pytest.mark.parametrize(("drawn", "met"), [(12, 12), (0, CONTEXTS), (CONTEXTS, CONTEXTS)])
def test_votes_on_pairs_drawn_at_random_are_not_mixed_with_others(tmp_path: Path, drawn: int, met: int) -> None:
    """People's axis reads the drawn ones alone where there are any, so the conversations in which two met are theirs too."""
    folder = _run(tmp_path / "run", AN_OPINION)
    store = RunStore.open(folder)
    put(store, [
        Judgment.model_validate(
            {
                "context": f"talk-{n}", "subset": "regular", "system_a": "mine", "system_b": "ref:careful",
                "winner": "b" if n % 4 == 0 else "a", "strength": 2, "judge": f"human:{n % 3}", "source": "human",
                "presentation": "heard_text", "draw_rate": 1.0 if n < drawn else None, "condition": "clean",
            }
        )
        for n in range(CONTEXTS)
    ])  # fmt: skip
    found = Cells(Selection(store)).evidence("elo_over.ref:careful", "mine", Place("clean", HEARD))
    assert isinstance(found, EloOverReference)
    assert (found.contexts, found.met) == (met, met)
