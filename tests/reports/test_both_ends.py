"""A latency between two ends on the page, in its charts and in its tables: beside others every turn stays, with both ends."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.cells import Cell
from harness.figures.latency import WithinBudget
from harness.figures.summary import RunSummary
from harness.reports.charts import ecdf, over_run
from harness.reports.charts.elo_latency_chart import WIDE, draw
from harness.reports.charts.elo_latency_points import default_choice
from harness.reports.html import render
from harness.reports.payload import OVER, UNDECIDED, index
from harness.reports.session_view import TurnView
from harness.reports.tables import tables
from harness.reports.view import PageView
from harness.reports.wording import owed_words
from harness.timing.quantiles import Quantiles
from harness.turns.bounded import Bounded
from tests.reports.invented import OTHERS, beside_others, invented_view

Open = Callable[..., Any]
OWN = "had the machine been its own"
BESIDE = TurnView(times_ms={"ttfa": Bounded(470.0, 510.0)}, watched=True, others=OTHERS)


@pytest.fixture(scope="module")
def quiet() -> PageView:
    return invented_view(agents=3, contexts=9)


@pytest.fixture(scope="module")
def busy(quiet: PageView) -> PageView:
    return beside_others(quiet)


@pytest.mark.parametrize("draw_chart", [ecdf.chart, over_run.latency])
def test_a_chart_has_both_ends_beside_others_and_is_as_it_was_without(
    quiet: PageView, busy: PageView, draw_chart: Callable[[PageView], Any]
) -> None:
    alone, beside = (json.dumps(draw_chart(view).spec) for view in (quiet, busy))
    assert beside.count('"mark"') == alone.count('"mark"') + 1
    assert OWN in draw_chart(busy).caption
    assert OWN not in draw_chart(quiet).caption


def test_the_band_of_a_curve_joins_both_ends_of_each_rank(busy: PageView) -> None:
    layers = ecdf.chart(busy).spec["layer"]  # type: ignore[union-attr]
    rows = next(layer["data"]["values"] for layer in layers if "x2" in layer["encoding"])
    assert all(row["low"] == pytest.approx(0.88 * row["latency"], abs=0.1) and 0 < row["share"] < 1 for row in rows)
    assert len({row["share"] for row in rows if row["agent"] == "invented-a" and row["subset"] == "all"}) == 9


def test_the_joint_picture_has_a_bar_for_each_pair(quiet: PageView, busy: PageView) -> None:
    assert str(draw(busy, default_choice(busy), WIDE)).count('class="ends"') == len(busy.agents)
    assert 'class="ends"' not in str(draw(quiet, default_choice(quiet), WIDE))


def test_a_turn_against_the_budget_is_fast_slow_or_not_to_be_told() -> None:
    assert BESIDE.speed("ttfa", 500.0) == "cannot tell"
    words = owed_words(BESIDE, "ttfa", 500.0)
    assert words == f"470–510 {OWN} (others: chromium .4 cores, python3 .2); this machine cannot tell: 40 ms others'"
    assert owed_words(BESIDE, "ttfa", 600.0).endswith("python3 .2)")
    assert BESIDE.speed("ttfa", 600.0) == "fast"
    assert BESIDE.speed("ttfa", 460.0) == "slow"
    silence = TurnView(times_ms={"ttfa": Bounded(1_000.0, float("inf"))}, no_reply=True)
    assert silence.slowest
    assert silence.speed("ttfa", 500.0) == "slow"
    assert owed_words(silence, "ttfa", 500.0) == "others may have caused this silence"


def test_no_turn_is_left_out_and_the_board_knows_which_are_undecided(quiet: PageView, busy: PageView) -> None:
    now, before = ([flags for entry in index(view) for flags in entry["flags"]] for view in (busy, quiet))
    assert any(flags & UNDECIDED for flags in now)
    assert all(not flags & UNDECIDED for flags in before)
    assert all(was & OVER for flags, was in zip(now, before, strict=True) if flags & UNDECIDED)
    assert [entry["ms"] for entry in index(busy)] == [entry["ms"] for entry in index(quiet)]


def test_tables_have_a_column_for_each_end(busy: PageView) -> None:
    made = tables(busy)
    system = made["systems"][0]
    assert system["ttfa_p50_low"] == pytest.approx(0.88 * float(system["ttfa_p50_ms"] or 0), abs=1e-3)
    assert system["ttfa_p50_high"] == system["ttfa_p50_ms"]
    assert float(system["within_ttfa_high"] or 0) > float(system["within_ttfa_low"] or 0)
    turn = next(row for row in made["turns"] if row["ttfa_ms"] is not None)
    low, owed = float(turn["ttfa_low_ms"] or 0), float(turn["ttfa_others_ms"] or 0)
    assert low + owed == pytest.approx(float(turn["ttfa_ms"] or 0), abs=1e-3)


@pytest.mark.parametrize(("width", "dark"), [(390, True)])
def test_the_page_shows_both_ends_and_the_programs(
    busy: PageView, open_page: Open, tmp_path: Path, width: int, dark: bool
) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(busy), encoding="utf-8")
    page = open_page(path.as_uri(), width=width, dark=dark)
    page.locator("details.context summary").nth(2).click()
    expect(page.locator("article.turn header").first).to_contain_text(f"{OWN} (others: chromium .4 cores, python3 .2)")
    expect(page.locator("#board")).to_contain_text(OWN)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_terminal_says_it_in_one_line_that_folds_between_words() -> None:
    cell = Cell(
        agent="mine", condition="clean", mode="seeded", presentation="heard_text", subset="all", turns=16, no_reply=0,
        undecided=3, others=list(OTHERS),
        ttfa_ms=Quantiles(p50=461.0, p50_range=(430.0, 461.0), n=16),
        within_budget=WithinBudget(ttfa=0.63, ttfa_range=(0.63, 0.81)),
    )  # fmt: skip
    screen = StringIO()
    print_summary(RunSummary(run="run", judges=[], cells=[cell]), Console(file=screen, width=80), verbose=True)
    words = f"mine: TTFA p50 461 ms; 430–461 {OWN} (others: chromium .4 cores, python3 .2); in budget 63–81 %."
    assert words in " ".join(screen.getvalue().split())
    assert max(len(row) for row in screen.getvalue().splitlines() if OWN in row) <= 80
    assert "\x1b" not in screen.getvalue()
