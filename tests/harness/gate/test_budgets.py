"""A budgets file that is wrong costs nothing: one line, before anything is played."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.experiment import Experiment
from harness.figures.rank import Place
from harness.figures.summarise import summarise
from harness.gate.budgets import limits_for, read_budgets
from harness.gate.check import check_run
from harness.gate.evidence import Cells
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.turns.catalogue import BY_PATH
from tests.harness.conftest import Finished, peer


def budgets(tmp_path: Path, limits: str, schema: str = "schema: 1") -> Path:
    path = tmp_path / "budgets.yaml"
    path.write_text(f"{schema}\nlimits:\n{limits}\n", encoding="utf-8")
    return path


BAD = {
    "unknown key": (
        "  - {figure: ttfa_ms.p50, at_mots: 500}",
        "at_mots is no setting of a budgets file; did you mean at_most?",
    ),
    "no limit": ("  - {figure: ttfa_ms.p50}", "name exactly one of"),
    "two": ("  - {figure: ttfa_ms.p50, at_most: 500, at_least: 3}", "names at_most and at_least"),
    "unknown figure": ("  - {figure: ttfa_ms.p51, at_most: 500}", "'ttfa_ms.p51'"),
    "a count": ("  - {figure: no_reply, at_most: 1}", "no_reply_rate"),
    "a mean": ("  - {figure: dead_air_ms.mean, at_most: 900}", "a mean has no reliable interval"),
    "elo alone": ("  - {figure: elo, at_least: 1500}", "elo_over.REFERENCE"),
    "a share in percent": ("  - {figure: cut_in_rate, at_most: 5}", "between 0 and 1"),
    "exactly 0 or 1": ("  - {figure: no_reply_rate, at_most: 0}", "no number of turns"),
    "a time under 0": ("  - {figure: ttfa_ms.p95, at_most: -1}", "cannot be under 0"),
    "not a number": ("  - {figure: ttfa_ms.p95, at_most: .nan}", "finite number"),
    "a word": ("  - {figure: ttfa_ms.p95, at_most: fast}", "valid number"),
    "no more than nothing": ("  - {figure: ttfa_ms.p95, worse_than_baseline_by: 0}", "more than 0"),
    "missing what": ("  - {figure: ttfa_ms.p95, at_most: 500, missing: maybe}", "missing:"),
    "no list": ("  figure: ttfa_ms.p95", "limits:"),
    "not YAML": ("  - {figure: [", "line"),
}


@pytest.mark.parametrize(("limits", "said"), BAD.values(), ids=list(BAD))
def test_a_limit_that_no_run_can_have_is_refused_in_a_line(tmp_path: Path, limits: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        read_budgets(budgets(tmp_path, limits))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_file_that_the_documentation_shows_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "gate.md").read_text(encoding="utf-8")
    shown = tmp_path / "budgets.yaml"
    shown.write_text(page.split("```yaml\n", 1)[1].split("```", 1)[0], encoding="utf-8")
    assert len(read_budgets(shown).limits) == 6


@pytest.mark.parametrize("schema", ["schema: 2", "schema: true", "", "schema: one"])
def test_another_schema_is_refused(tmp_path: Path, schema: str) -> None:
    with pytest.raises(UserError, match="this harness reads `schema: 1`"):
        read_budgets(budgets(tmp_path, "  - {figure: ttfa_ms.p50, at_most: 500}", schema))


NOT_HERE = {
    "agent": ("  - {figure: ttfa_ms.p50, agent: nobody, at_most: 500}", "no agent 'nobody'"),
    "condition": ("  - {figure: ttfa_ms.p50, condition: noise, at_most: 500}", "no condition 'noise'"),
    "subset": ("  - {figure: ttfa_ms.p50, subset: adversarial, at_most: 500}", "no adversarial"),
    "reference": ("  - {figure: elo_over.ref:nobody, at_least: 0}", "no 'ref:nobody'"),
    "another pack": ("  - {figure: ttfa_ms.p50, pack: other, at_most: 500}", "no limit applies to"),
    "contradiction": (
        "  - {figure: ttfa_ms.p50, at_most: 500}\n  - {figure: ttfa_ms.p50, agent: raw-pcm-echo, at_least: 600}",
        "cannot meet both",
    ),
    "median over p95": (
        "  - {figure: ttfa_ms.p95, at_most: 500}\n  - {figure: ttfa_ms.p50, at_least: 600}",
        "cannot meet both",
    ),
    "twice": ("  - {figure: ttfa_ms.p50, at_most: 500}\n  - {figure: ttfa_ms.p50, at_most: 600}", "two limits"),
}


@pytest.mark.parametrize(("limits", "said"), NOT_HERE.values(), ids=list(NOT_HERE))
def test_a_limit_that_a_run_to_come_cannot_have_is_refused_in_a_line(
    pack: Path, tmp_path: Path, limits: str, said: str
) -> None:
    plan = make_plan(Experiment(agents=(str(peer("raw-pcm-echo")),), pack=str(pack)))
    with pytest.raises(UserError) as refused:
        limits_for(read_budgets(budgets(tmp_path, limits)), new_manifest(plan), plan.contexts, judged=True)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_lower_limit_of_the_median_is_none_of_another_figure_nor_of_a_lower_percentile(pack: Path, tmp_path: Path) -> None:
    plan = make_plan(Experiment(agents=(str(peer("raw-pcm-echo")),), pack=str(pack)))
    for other in ("ttft_ms.p95, at_most: 500", "no_reply_rate, at_most: 0.5", "ttfa_ms.p95, at_most: 600"):
        limits = f"  - {{figure: ttfa_ms.p50, at_least: 600}}\n  - {{figure: {other}}}"
        assert len(limits_for(read_budgets(budgets(tmp_path, limits)), new_manifest(plan), plan.contexts, judged=True)) == 2
    crossed = "  - {figure: ttfa_ms.p95, at_least: 600}\n  - {figure: ttfa_ms.p50, at_most: 500}"
    assert limits_for(read_budgets(budgets(tmp_path, crossed)), new_manifest(plan), plan.contexts, judged=True)


def test_options_that_cannot_go_together_are_refused(
    harness_here: Callable[..., Finished], pack: Path, tmp_path: Path, old_run: Callable[[str], Path]
) -> None:
    plain = budgets(tmp_path, "  - {figure: ttfa_ms.p50, at_most: 500}")
    run = old_run("one-condition")
    for arguments, said in (
        (["check", run, "--budgets", plain, "--until-clear"], "--minutes"),
        (["check", run, "--budgets", plain, "--junit", tmp_path / "no" / "x.xml"], "--junit"),
    ):
        refused = harness_here(*arguments)
        assert refused.code == 2
        assert said in refused.err
    agent = ("check", "--agent", peer("raw-pcm-echo"), "--pack", pack, "--judge", "none", "--out", tmp_path / "r")
    nobody = harness_here(*agent, "--budgets", budgets(tmp_path, NOT_HERE["agent"][0]))
    assert nobody.code == 2
    assert "no agent 'nobody'" in nobody.err
    against = budgets(tmp_path, "  - {figure: ttfa_ms.p50, worse_than_baseline_by: 50}")
    other = harness_here(*agent, "--budgets", against, "--baseline", run)
    assert other.code == 2
    assert "other conversations" in other.err
    assert len(other.err.strip().splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_figures_are_those_of_the_cells(old_run: Callable[[str], Path]) -> None:
    store = RunStore.open(old_run("one-condition"))
    cells, checked = Cells(Selection(store)), 0
    for cell in summarise(store).whole:
        for figure in BY_PATH:
            found = cells.evidence(figure, cell.agent, Place(cell.condition, HEARD))
            shown: Any = cell.model_dump()
            for part in figure.split("."):
                shown = shown.get(part) if isinstance(shown, dict) else None
            if shown is not None:
                assert found is not None, figure
                assert found.value == pytest.approx(shown), figure
                checked += 1
    assert checked > 10


def test_what_is_missing_comes_to_what_the_file_says(old_run: Callable[[str], Path], tmp_path: Path) -> None:
    store = RunStore.open(old_run("one-condition"))
    store.set_manifest(store.manifest.model_copy(update={"invalid": []}))
    for rule, verdict in (("fail", "fail"), ("ignore", "ignored"), ("cannot tell", "cannot tell")):
        limits = f"  - {{figure: decision_delay_ms.p50, agent: mute, at_most: 500, missing: {rule}}}"
        result = check_run(store, read_budgets(budgets(tmp_path, limits)))
        assert [c.verdict for c in result.checked] == [verdict]
    assert result.as_object()["limits"][0]["value"] is None


def test_a_run_against_itself_is_no_worse_and_two_conversations_tell_nothing(
    old_run: Callable[[str], Path], tmp_path: Path
) -> None:
    store = RunStore.open(old_run("one-condition"))
    asked = read_budgets(budgets(tmp_path, "  - {figure: ttfa_ms.p50, agent: prompt, worse_than_baseline_by: 50}"))
    found = check_run(store, asked, baseline=store)
    assert found.checked[0].verdict == "cannot tell"
    assert found.checked[0].decision is not None
    assert found.checked[0].decision.value == 0
