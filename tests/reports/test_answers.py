"""The table of answers on the first screen: what its cells say, what its bars show, and that twenty agents fit."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.gate.stored import StoredLimit
from harness.ranking.board import QualityState
from harness.reports.answers import Answers, Row, answers
from harness.reports.charts.elo_latency_chart import WIDE, draw
from harness.reports.charts.elo_latency_points import default_choice
from harness.reports.gate_shown import ShownGate
from harness.reports.html import render
from harness.reports.verdict import verdicts
from harness.reports.view import AgentView, Estimate, PageView
from harness.turn_taking.detectors import PAUSES_CUT_LIMIT
from tests.present import present
from tests.reports.invented import LONG_NAMES, in_state, invented_view, of_an_invalid_run, quantiles
from tests.reports.test_page import until

Open = Callable[..., Any]
NAMES = "[...document.querySelectorAll('#answers tbody bdi:first-of-type')].map((node) => node.textContent)"


def table(view: PageView) -> Answers:
    return answers(verdicts(view))


def changed(view: PageView, **figures: Any) -> PageView:
    """The view with other figures of its first agent."""
    first = view.agents[0]
    part = replace(first.whole, cell=first.whole.cell.model_copy(update=figures))
    return replace(view, agents=(replace(first, slices={**first.slices, "all": part}), *view.agents[1:]))


def row_of(view: PageView, agent: AgentView) -> Row:
    return next(row for row in table(view).rows if row.verdict.agent == agent.name)


@pytest.fixture(scope="module")
def view() -> PageView:
    return invented_view(agents=20, contexts=12, names=LONG_NAMES)


def test_a_bar_is_on_the_side_of_the_limit_that_its_word_says(view: PageView) -> None:
    seen = set()
    for row in table(view).rows:
        for cell, (under, over) in zip(row.cells, (("yes", "no"), ("no", "yes"), ("few", "many")), strict=True):
            assert cell.bar is not None
            assert cell.bar.interval is not None
            low, high = cell.bar.interval
            assert (cell.answer == under) == (high <= cell.bar.limit)
            assert (cell.answer == over) == (low > cell.bar.limit or (over == "no" and low == cell.bar.limit))
            assert low <= (cell.bar.end or 0) <= high
            seen.add(cell.answer)
    assert seen >= {"yes", "no", "unclear", "many"}


def test_the_words_of_a_cell_have_the_ends_that_its_bar_has(view: PageView) -> None:
    """Elo is on a linear scale around the reference: place and number are proportional."""
    per_point = set()
    for row in table(view).rows:
        cell = row.cells[1]
        assert cell.bar is not None
        assert cell.bar.interval is not None
        found = re.search(r"^(\S+) to (\S+)$", cell.interval)
        assert cell.words == "against “careful”"
        assert found is not None
        numbers = [float(text.replace("−", "-")) for text in (cell.figure.split()[0], *found.groups())]
        for number, place in zip(numbers, (cell.bar.end, *cell.bar.interval), strict=True):
            if abs(number) > 25:
                per_point.add(round(((place or 0) - cell.bar.limit) / number, 2))
    assert max(per_point) - min(per_point) <= 0.02


@pytest.mark.parametrize(
    ("share", "between", "answer"),
    [(0.05, (0.02, 0.1), "few"), (0.09, (0.05, 0.12), "unclear"), (0.2, (0.11, 0.3), "many"), (0.0, None, "unclear")],
)
def test_pauses_cut_are_few_or_many_where_the_whole_interval_is(
    view: PageView, share: float, between: tuple[float, float] | None, answer: str
) -> None:
    cell = row_of(changed(view, pauses_cut_share=share, pauses_cut_interval=between), view.agents[0]).cells[2]
    assert (cell.answer, cell.note) == (answer, "" if between else "too few conversations for an interval")
    assert cell.bar is not None
    assert (cell.bar.interval is None) == (between is None)
    assert cell.bar.limit > 0
    assert (cell.bar.end or 0) / cell.bar.limit == pytest.approx(share / PAUSES_CUT_LIMIT, abs=0.01)


def test_bars_of_a_column_are_as_long_as_their_figures(view: PageView) -> None:
    """1,220 ms beside 616 ms, whatever the limits and the ends of their intervals are."""
    first, second = view.agents[:2]
    two = replace(view, agents=tuple(
        replace(agent, slices={**agent.slices, "all": replace(agent.whole, cell=agent.whole.cell.model_copy(update={
            "ttfa_ms": quantiles(p50)}))})
        for agent, p50 in ((first, Estimate(616, 540, 16_000)), (second, Estimate(1_220, 1_180, 1_300)))
    ))  # fmt: skip
    for budget in (500.0, 1_500.0):
        quick, slow = (present(present(row.cells[0].bar).fill) for row in table(replace(two, budget_ttfa_ms=budget)).rows)
        assert quick[0] == slow[0] == 0
        assert slow[1] / quick[1] == pytest.approx(1_220 / 616, rel=0.01)


def test_the_answer_and_the_chart_have_the_gates_limit_and_shares_the_runs_own_budget(view: PageView) -> None:
    """Turns were counted against the run's budget, so a share of them is never said of the gate's limit."""
    limits = tuple(
        StoredLimit(
            agent=agent.name, condition=agent.condition, subset="all", figure="ttfa_ms.p50", comparison="at_most",
            bound=1_500.0, words="ttfa_ms.p50 at most 1500", plain="",
            verdict="pass", by_figure=False, value=1.0,
            shown="", interval="", reason="",
        )
        for agent in view.agents
    )  # fmt: skip
    gated = replace(view, gates=(ShownGate("", "pass", "", (), limits, is_of_now=True),))
    row = row_of(gated, view.agents[0])
    assert row.cells[0].words == "the gate's limit 1.50 s"
    assert row.verdict.sentence.startswith("Answers within 500 ms on ")
    assert "the 500 ms budget" in row.verdict.text
    choice = default_choice(gated)
    assert "the gate&#39;s limit 1.50 s" in str(draw(gated, choice, WIDE))
    assert "budget 500 ms" in str(draw(view, choice, WIDE))


def test_a_run_without_inner_pauses_has_a_dash(view: PageView) -> None:
    cell = row_of(changed(view, pauses_cut_share=None, pauses_cut_interval=None), view.agents[0]).cells[2]
    assert (cell.answer, cell.words, cell.bar, cell.value) == ("—", "no inner pauses", None, None)


def test_a_median_without_reply_runs_off_the_scale_and_is_last_when_sorted(view: PageView) -> None:
    silent = changed(view, ttfa_ms=quantiles(Estimate(None, 2_100.0, None)))
    cell = row_of(silent, view.agents[0]).cells[0]
    assert (cell.figure, cell.bar and cell.bar.end, cell.bar and cell.bar.interval and cell.bar.interval[1]) == (
        "> 15 s",
        100,
        100,
    )
    assert max(row.cells[0].value or 0 for row in table(silent).rows) == cell.value


def test_an_invalid_run_has_its_figures_and_no_answer_but_that_of_replies_that_were_read(view: PageView) -> None:
    unsound = replace(view, agents=tuple(replace(agent, valid=False) for agent in view.agents))
    for row, valid in zip(table(unsound).rows, table(view).rows, strict=True):
        assert [cell.answer for cell in row.cells] == ["unclear", valid.cells[1].answer, "unclear"]
        assert ["INVALID" in cell.note for cell in row.cells] == [True, False, True]
    for row in table(replace(view, agents=tuple(map(of_an_invalid_run, view.agents)))).rows:
        assert [cell.answer for cell in row.cells] == ["unclear"] * 3
        assert all("INVALID" in cell.note for cell in row.cells)


@pytest.mark.parametrize("state", ["opinion", "people", "none"])
def test_twenty_agents_fit_on_the_first_screen(view: PageView, open_page: Open, tmp_path: Path, state: QualityState) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(in_state(view, state)), encoding="utf-8")
    page = open_page(path.as_uri(), width=1_440, height=900)
    rows = page.locator("#answers tbody tr")
    assert rows.count() == 20
    last, chart = rows.last.bounding_box(), page.locator("#chart-elo_latency svg.wide").bounding_box()
    assert last["y"] + last["height"] <= 900
    assert chart["y"] + chart["height"] <= 900
    words = page.locator(".quality").inner_text() if state != "none" else ""
    assert words.count("no verdict on kindness") == (state == "opinion")
    assert rows.get_by_text("no verdict", exact=True).count() == (20 if state != "people" else 0)


def test_the_same_table_fits_a_phone(view: PageView, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(in_state(view, "people")), encoding="utf-8")
    page = open_page(path.as_uri(), width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [row.bounding_box() for row in page.locator("#answers tbody tr").all()]
    assert sum(box["y"] + box["height"] <= 844 for box in boxes) >= 6, "below the sentences of the head"
    for cell in page.locator("#answers tbody tr").first.locator("td").all():
        assert cell.locator("b").is_visible()
        assert cell.locator(".gauge rect").bounding_box()["width"] > 0
    as_read = page.locator("#answers").aria_snapshot()
    assert as_read.count("rowheader") == 20
    assert "95 % interval" in as_read
    assert as_read.count("columnheader") == 3


def test_the_table_is_sorted_by_any_heading_and_a_name_leads_to_its_sentence(
    view: PageView, open_page: Open, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(view), encoding="utf-8")
    page = open_page(path.as_uri(), width=1_440)
    page.locator("#answers").get_by_role("button", name="Kind").click()
    kindest = sorted(view.agents, key=lambda a: -(a.whole.rating.over["ref:careful"].value or 0))
    assert page.evaluate(NAMES)[0] == kindest[0].name
    again = open_page(page.url, width=1_440)
    until(lambda: again.evaluate(NAMES)[0] == kindest[0].name)
    assert not page.locator("#sentences li").first.is_visible()
    page.locator("#answers tbody a").first.click()
    sentence = page.locator("#sentences li", has_text=kindest[0].name)
    until(lambda: sentence.is_visible())
    assert "Answers within 500 ms on" in sentence.inner_text()
    assert "the chance that it is the best rated of those within the budget is" in sentence.inner_text()
