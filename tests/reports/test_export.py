"""Pictures, tables and the summary that leave the page."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.reports.charts.registry import charts
from harness.reports.conditions import conditions
from harness.reports.markdown import markdown, plain
from harness.reports.pictures import write_elo_latency_chart, write_pictures
from harness.reports.view import PageView
from harness.reports.write import write_exports
from tests.present import present
from tests.reports.invented import invented_view


@pytest.fixture(scope="module")
def view() -> PageView:
    return invented_view(agents=2, contexts=9)


@pytest.fixture(scope="module")
def folder(view: PageView, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    write_exports(view, folder, pictures=False)
    return folder


def test_every_row_of_every_table_carries_the_conditions(view: PageView, folder: Path) -> None:
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert rows, path
        assert {row["made_under"] for row in rows} == {conditions(view)}


def test_tables_and_json_agree(folder: Path) -> None:
    made = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
    with (folder / "turns.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["session"] for row in rows] == [row["session"] for row in made["turns"]]
    assert "none on this board" in made["conditions"]


def test_the_table_of_systems_holds_both_answers_and_the_chance_to_be_best(view: PageView, folder: Path) -> None:
    with (folder / "systems.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["system"]: row for row in csv.DictReader(lines) if row["subset"] == "all"}
    first = view.agents[0]
    assert (rows[first.name]["fast"], rows[first.name]["kind"]) == ("yes", "no")
    assert float(rows[first.name]["p_best_within_budget"]) == first.whole.cell.p_best_within_budget


def test_a_cell_is_never_a_formula(view: PageView, tmp_path: Path) -> None:
    turn = replace(view.contexts[0].sessions[0], written='=HYPERLINK("http://x")')
    context = replace(view.contexts[0], sessions=(turn,))
    write_exports(replace(view, contexts=(context,)), tmp_path, pictures=False)
    with (tmp_path / "turns.csv").open(encoding="utf-8", newline="") as lines:
        assert next(csv.DictReader(lines))["written"].startswith("'=")


def test_where_no_axis_was_marked_no_chart_shows_axes() -> None:
    marked = invented_view(agents=2, contexts=9)
    slices = [{s: replace(one, rating=replace(one.rating, axes={})) for s, one in a.slices.items()} for a in marked.agents]
    references = [{s: replace(one, axes={}) for s, one in r.ratings.items()} for r in marked.references]
    view = replace(
        marked,
        agents=tuple(replace(a, slices=of) for a, of in zip(marked.agents, slices, strict=True)),
        references=tuple(replace(r, ratings=of) for r, of in zip(marked.references, references, strict=True)),
    )
    (board,) = charts(view)["quality"]
    assert (board.title, present(board.table).head) == ("Leaderboard", ("System", "Win rate", "Elo"))
    assert len(present(charts(marked)["quality"][0].table).head) == 8


def test_every_chart_becomes_a_picture_with_its_conditions(view: PageView, tmp_path: Path) -> None:
    made = [chart for section in charts(view).values() for chart in section]
    assert {"leaderboard", "ttfa_ecdf", "waterfall", "ttfa_differences", "interaction"} <= {c.name for c in made}
    chosen = [c for c in made if c.name == "waterfall"]
    written = [*write_pictures(chosen, conditions(view), tmp_path), *write_elo_latency_chart(view, tmp_path)]
    assert {path.name for path in written} == {f"{n}.{s}" for n in ("waterfall", "elo_latency") for s in ("png", "svg")}
    for path in written:
        content = path.read_bytes()
        if path.suffix == ".png":
            assert content.startswith(b"\x89PNG")
        else:
            assert b"Human baseline: none on this board." in content


def test_the_summary_holds_verdicts_board_and_what_weakens_them(view: PageView) -> None:
    text = markdown(view)
    assert "**Weak judge.**" in text
    assert "invented-a" in text
    assert "no certificate of safety" in text
    assert text.count("\n|") >= 5


def test_no_name_can_link_mention_or_break_the_table() -> None:
    made = plain("a|b [x](http://e.example) @team <b>\n# h")
    assert "[x](" not in made
    assert "://" not in made
    assert "@team" not in made
    assert "\n" not in made
    assert "\\|" in made
