"""A run whose frames left late has no latency to quote; what people and judges read of its replies was said all the same."""

from contextlib import closing
from pathlib import Path

import pytest

from harness.gate.budgets import Budgets
from harness.gate.check import check_run
from harness.store.run_store import RunStore
from tests.harness.judging.conftest import call, told

WHY = "c-00 · kind: pacing p99 9.1 ms is over 5 ms"
HEADER = "context,subset,system_a,system_b,rater,vote,presentation,draw_rate\n"


def votes_on(tmp_path: Path, presentation: str) -> Path:
    """Votes on all three pairs of every conversation: `kind` over `flat` in eleven of twelve."""
    path = tmp_path / f"{presentation}.csv"
    lines = []
    for n in range(12):
        for a, b, winner in (("flat", "kind", "kind" if n else "flat"), ("flat", "ref:good", ("ref:good", "flat")[n % 3 == 0]),
                             ("kind", "ref:good", ("ref:good", "kind")[n % 2])):  # fmt: skip
            if presentation == "heard_text" or "ref:good" not in (a, b):
                side = "a" if winner == a else "b"
                subset = "adversarial" if n % 4 == 3 else "regular"
                lines.append(f"c-{n:02},{subset},{a},{b},anna,{side}_slightly,{presentation},1\n")
    path.write_text(HEADER + "".join(lines))
    return path


@pytest.fixture
def late(played: Path) -> Path:
    with closing(RunStore.open(played)) as store:
        store.set_manifest(store.manifest.model_copy(update={"invalid": [WHY]}))
    return played


def verdict(run: Path, limit: dict[str, object]) -> tuple[str, bool]:
    with closing(RunStore.open(run)) as store:
        (found,) = check_run(store, Budgets.model_validate({"schema": 1, "limits": [{"agent": "kind", **limit}]})).checked
    return found.verdict, found.invalid


def test_votes_on_replies_that_were_read_count(capsys: pytest.CaptureFixture[str], tmp_path: Path, late: Path) -> None:
    told(capsys, "add-votes", late, votes_on(tmp_path, "heard_text"))
    _, summary = told(capsys, "report", late)
    kind = next(cell for cell in summary["cells"] if cell["agent"] == "kind" and cell["subset"] == "all")
    assert (kind["valid"], kind["quality_valid"], kind["quality_state"]) == (False, True, "people")
    assert (summary["valid"], kind["p_frontier"]) == (False, None)
    page = (late / "report.html").read_text(encoding="utf-8")
    assert WHY in page
    assert "except ratings of replies that were read" in page
    assert "rating alone" in call(capsys, "report", late)[1]
    for limit in ({"figure": "preferred_over.flat", "at_least": 0.5}, {"figure": "people.elo_over.flat", "at_least": -2_000}):
        assert verdict(late, limit) == ("pass", False)
    assert verdict(late, {"figure": "people.elo_over.flat", "at_least": 2_000})[0] == "fail"


def test_votes_on_replies_that_were_heard_do_not(capsys: pytest.CaptureFixture[str], tmp_path: Path, late: Path) -> None:
    told(capsys, "add-votes", late, votes_on(tmp_path, "audio"))
    assert verdict(late, {"figure": "preferred_over.flat", "at_least": 0.5}) == ("cannot tell", True)
    # Where replies were read, too, those votes are the ones to quote: of a valid run it would be those heard.
    told(capsys, "add-votes", late, votes_on(tmp_path, "heard_text"))
    assert verdict(late, {"figure": "preferred_over.flat", "at_least": 0.5}) == ("pass", False)
    assert told(capsys, "rank", late, "--people")[1]["people_votes"]["presentation"] == "heard_text"
    with closing(RunStore.open(late)) as store:
        speaking = [agent.model_copy(update={"kind": "cascade"}) for agent in store.manifest.agents]
        store.set_manifest(store.manifest.model_copy(update={"invalid": [], "agents": speaking}))
    assert told(capsys, "rank", late, "--people")[1]["people_votes"]["presentation"] == "audio"


def test_a_limit_on_votes_that_are_all_excluded_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = tmp_path / "hasty.csv"
    path.write_text(HEADER.replace("draw_rate", "seconds") + "".join(
        f"c-{n:02},{'adversarial' if n % 4 == 3 else 'regular'},flat,kind,hasty,b_much,heard_text,1\n" for n in range(12)
    ))  # fmt: skip
    told(capsys, "add-votes", played, path)
    for figure in ("preferred_over.flat", "people.win_rate"):
        limit = {"agent": "kind", "figure": figure, "at_least": 0.5}
        with closing(RunStore.open(played)) as store:
            (found,) = check_run(store, Budgets.model_validate({"schema": 1, "limits": [limit]})).checked
        assert "12 votes are there, all excluded" in found.why
        assert "--keep-excluded" in found.why


def test_a_board_of_votes_that_were_heard_is_marked(capsys: pytest.CaptureFixture[str], tmp_path: Path, late: Path) -> None:
    told(capsys, "add-votes", late, votes_on(tmp_path, "audio"))
    with closing(RunStore.open(late)) as store:
        agents = [agent.model_copy(update={"kind": "cascade"}) for agent in store.manifest.agents]
        store.set_manifest(store.manifest.model_copy(update={"agents": agents}))
    _, summary = told(capsys, "report", late)
    assert {cell["quality_valid"] for cell in summary["cells"] if cell["elo"] is not None} == {False}
