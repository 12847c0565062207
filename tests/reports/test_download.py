"""The files that the board gives: words, latencies and verdicts of what is shown, and nothing that a spreadsheet would run."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.reports.html import render
from harness.reports.payload import tally
from harness.reports.view import ContextView, JudgmentView, PageView
from tests.reports.invented import invented_view
from tests.reports.test_page import until

Open = Callable[..., Any]
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1")
ROW = JudgmentView("a", "b", "one", False, "a", 1, "a", "heard_text", "", {}, False)


def hostile(context: ContextView, formula: str) -> ContextView:
    """All of a conversation's words begin like a formula, and so does the name of its judge."""
    sessions = tuple(replace(one, heard=one.heard and f'{formula}, said "it"\nand went') for one in context.sessions)
    rows = tuple(replace(row, judge=f"{formula}judge") for row in context.judgments)
    history = (*context.history[:-1], ("seeker", formula))
    return replace(context, sessions=sessions, judgments=rows, history=history, problem=formula)


@pytest.fixture(scope="module")
def view() -> PageView:
    made = invented_view(agents=3, contexts=9)
    changed = (hostile(c, formula) for c, formula in zip(made.contexts, FORMULAS, strict=False))
    return replace(made, contexts=(*changed, *made.contexts[len(FORMULAS) :]))


@pytest.fixture
def page(view: PageView, open_page: Open, tmp_path: Path) -> Any:
    path = tmp_path / "report.html"
    path.write_text(render(view), encoding="utf-8")
    found = open_page(path.as_uri())
    until(lambda: found.locator("#filter-count").inner_text() == "9 conversations of 9")
    return found


def saved(page: Any, kind: str, folder: Path) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Download {kind}").click()
    path = folder / f"board.{kind.lower()}"
    waiting.value.save_as(path)
    return path.read_bytes().decode("utf-8")


def test_no_cell_begins_like_a_formula(page: Any, tmp_path: Path) -> None:
    rows = list(csv.reader(saved(page, "CSV", tmp_path).splitlines(keepends=True)))
    assert len({len(row) for row in rows}) == 1
    cells = [cell for row in rows for cell in row]
    assert not [
        cell for cell in cells if cell[:1] in ("=", "+", "@", "\t", "\r") or (cell[:1] == "-" and not cell[1:].isdigit())
    ]
    assert {f"'{formula}" for formula in FORMULAS if formula.isprintable()} <= set(cells)
    assert any(head.startswith("'=1+1judge") for head in rows[0])


def test_a_row_has_the_words_the_latencies_and_the_verdicts_of_a_turn(view: PageView, page: Any, tmp_path: Path) -> None:
    text = saved(page, "CSV", tmp_path)
    (tmp_path / "board.csv").write_text(text, encoding="utf-8", newline="")
    with (tmp_path / "board.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == sum(len(c.sessions) for c in view.contexts)
    context = view.contexts[7]
    for turn in context.sessions:
        row = next(r for r in rows if (r["context"], r["agent"]) == (context.id, turn.agent))
        assert row["caller_text"] == context.history[-1][1]
        assert row["reply_heard"] == (turn.heard or "")
        for name in ("ttfa", "ttft"):
            known = "" if turn.slowest else str(round(turn.last.ms(name) or 0.0))
            assert row[f"{name}_ms"] == known
        mine = [j for j in context.judgments if turn.agent in (j.system_a, j.system_b)]
        won = sum((j.system_a if j.winner == "a" else j.system_b) == turn.agent for j in mine)
        assert row["invented-judge@1 (heard text): verdicts"] == str(len(mine))
        assert float(row["invented-judge@1 (heard text): preferred_share"]) == pytest.approx(won / len(mine), abs=0.001)
    as_json = json.loads(saved(page, "JSON", tmp_path))
    assert as_json["rows"][0]["caller_text"] == "=1+1", "JSON is no spreadsheet: words are as they are"
    assert all(set(row) == set(as_json["rows"][0]) for row in as_json["rows"])


def test_a_filtered_board_without_rows_gives_a_heading_and_says_so(page: Any, tmp_path: Path) -> None:
    page.fill("#filters [name=text]", "no such word")
    page.locator("#none-match").wait_for()
    assert len(saved(page, "CSV", tmp_path).splitlines()) == 1
    assert "No turn is shown" in page.locator("#tools-note").inner_text()


def test_verdicts_are_counted_by_judge_and_people_together_without_those_that_no_figure_uses() -> None:
    rows = [
        ROW, replace(ROW, winner="tie"),
        replace(ROW, judge="anna", human=True), replace(ROW, judge="ben", human=True, winner="b"),
        replace(ROW, counts=False), replace(ROW, judge="rule:no-reply (one)"), replace(ROW, system_b="ref:good", replicate=1),
    ]  # fmt: skip
    assert tally(rows) == [
        ["a", 0, "one", False, "heard_text", 1, 1, 2], ["a", 0, "people", True, "heard_text", 1, 0, 2],
        ["a", 1, "one", False, "heard_text", 1, 0, 1],
        ["b", 0, "one", False, "heard_text", 0, 1, 2], ["b", 0, "people", True, "heard_text", 1, 0, 2],
    ]  # fmt: skip
