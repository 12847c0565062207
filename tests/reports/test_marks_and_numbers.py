"""Marks of turns that give no figure, and thousands, as a reader meets them on the page."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.reports.charts.registry import charts
from harness.reports.html import render
from harness.reports.view import PageView
from tests.reports.invented import invented_view
from tests.reports.test_page import until

Open = Callable[..., Any]
COLOURS = "marks => marks.map((mark) => getComputedStyle(mark).backgroundColor)"


@pytest.fixture
def discarding() -> PageView:
    """Two agents on one conversation: the first answered quickly in a turn that was discarded, the second within the budget."""
    made = invented_view(agents=2, contexts=2)
    first, second = made.contexts[0].sessions[0], made.contexts[1].sessions[0]
    gone = replace(first, turns=(replace(first.last, discarded="the caller's pacing was 8 ms off"),))
    kept = replace(second, agent=made.agents[1].name)
    context = replace(made.contexts[0], sessions=(gone, kept))
    return replace(made, contexts=(context,), budget_ttfa_ms=5_000.0)


def written(page: PageView, folder: Path) -> str:
    path = folder / "report.html"
    path.write_text(render(page), encoding="utf-8")
    return path.as_uri()


def test_a_discarded_turn_has_a_mark_and_a_word_of_its_own(discarding: PageView, open_page: Open, tmp_path: Path) -> None:
    page = open_page(written(discarding, tmp_path))
    marks = page.locator("#c-0 .strip i")
    page.locator("#c-0").scroll_into_view_if_needed()
    until(lambda: marks.count() == 2)
    titles = [mark.get_attribute("title") for mark in marks.all()]
    assert "discarded" in titles[0]
    assert titles[1].endswith("within budget")
    gone, counts = marks.evaluate_all(COLOURS)
    assert gone != counts, "a discarded turn is green"
    assert f"{discarding.agents[0].name} discarded" in page.locator("#c-0 .figure").inner_text().replace("\u2068", "")
    page.locator("#c-0 > summary").click()
    card = page.locator(f"#c-0 .turn[data-agent='{discarding.agents[0].name}']")
    card.wait_for()
    chip = card.locator(".chip", has_text="discarded")
    assert chip.evaluate("node => [...node.classList].filter((name) => ['good', 'bad', 'warn'].includes(name))") == []
    assert card.locator("header .big").count() == 0, "a time that does not count stands as the turn's figure"


def test_thousands_are_written_in_one_way_on_the_page_and_in_its_charts(open_page: Open, tmp_path: Path) -> None:
    many = invented_view(agents=1, contexts=1_001, pairs_per_context=1)
    page = open_page(written(many, tmp_path))
    until(lambda: page.locator("#filter-count").inner_text() == "1,001 conversations of 1,001")
    assert "1,001 verdicts" in page.locator(".lede").inner_text()
    data = json.loads(page.locator("#page-data").inner_text())
    assert data["theme"]["numberFormat"] == ","


def formats(spec: Any) -> list[str]:
    """Every number format of a chart, wherever it stands."""
    if isinstance(spec, list):
        return [found for part in spec for found in formats(part)]
    if not isinstance(spec, dict):
        return []
    own = [spec["format"]] if isinstance(spec.get("format"), str) else []
    return own + [found for part in spec.values() for found in formats(part)]


def test_a_chart_that_names_its_format_groups_thousands() -> None:
    made = charts(invented_view(agents=3, contexts=9))
    whole = {name for section in made.values() for chart in section for name in formats(chart.spec) if name.endswith("0f")}
    assert whole == {",.0f", "+,.0f"}
