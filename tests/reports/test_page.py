"""The whole page of an invented run in a real browser: every chart, both themes, phone, print, assistive technology, scale."""

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.reports.charts.elo_latency_points import offered
from harness.reports.charts.registry import charts
from harness.reports.html import render
from tests.reports.invented import invented_view

Open = Callable[..., Any]
POINTS = "svg => [...svg.querySelectorAll('.point')].map((p) => p.textContent).join()"

COUNT_WHEN_PRINTED = (
    "() => addEventListener('afterprint', () => {"
    " window.onPaper = document.querySelectorAll('.chart[data-ready] svg').length; })"
)
FOLDED_WHEN_PRINTED = (
    "() => addEventListener('beforeprint', () => {"
    " window.folded = document.querySelectorAll('#main details:not(.context, .preferred, .numbers, [open])').length; })"
)
CUT = """() => [...document.querySelectorAll('#main *')].filter((n) => n.checkVisibility()
  && ['auto', 'scroll'].includes(getComputedStyle(n).overflowY) && n.scrollHeight > n.clientHeight + 1)
  .map((n) => n.className)"""
PAPER_PX = 718
"""A4 less the browser's own margins."""
AXIS_LABEL, MARK = "#chart-waterfall .role-axis-label text", "#chart-elo_latency .point path"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(invented_view(agents=4, contexts=9)), encoding="utf-8")
    return path.as_uri()


def unfolded(page: Any) -> Any:
    """The same page with every fold open, but no conversation."""
    page.evaluate("document.querySelectorAll('#main details:not(.context)').forEach((fold) => { fold.open = true; })")
    return page


def all_drawn(page: Any) -> None:
    """Charts are drawn where they are seen, so all of them are looked at; the page ends where it began."""
    unfolded(page)
    for holder in page.locator(".chart").all():
        holder.scroll_into_view_if_needed()
        page.locator(f"#{holder.get_attribute('id')}[data-ready] svg").wait_for(state="attached")
    page.evaluate("scrollTo(0, 0)")


def test_every_chart_of_the_registry_is_drawn_and_takes_the_colours_of_the_other_theme(address: str, open_page: Open) -> None:
    page = open_page(address)
    all_drawn(page)
    names = {chart.name for section in charts(invented_view(agents=4, contexts=9)).values() for chart in section}
    assert {h.get_attribute("id") for h in page.locator(".chart").all()} == {f"chart-{name}" for name in names}
    inks = [f"() => getComputedStyle(document.querySelector('{path}')).fill" for path in (AXIS_LABEL, MARK)]
    light = [page.evaluate(ink) for ink in inks]
    page.get_by_role("button", name="Dark").click()
    assert all(page.evaluate(ink) != before for ink, before in zip(inks, light, strict=True))
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"


def test_a_keyboard_opens_a_conversation_and_reaches_its_player(address: str, open_page: Open) -> None:
    page = open_page(address)
    page.locator("#c-0 > summary").focus()
    page.keyboard.press("Enter")
    page.locator("#c-0 .turn").first.wait_for()
    assert "context=invented-000" in page.evaluate("location.hash")
    assert page.locator("#c-0 details.more > summary").count() > 0


def test_a_skip_link_and_headings_lead_through_the_page(address: str, open_page: Open) -> None:
    page = open_page(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator("h1").count() == 1
    assert page.locator("section[aria-labelledby] > h2").count() >= 9


def test_it_prints_with_its_charts(address: str, open_page: Open, tmp_path: Path) -> None:
    page = open_page(address)
    page.evaluate(COUNT_WHEN_PRINTED)
    assert page.locator(".chart[data-ready]").count() == 0
    page.pdf(path=tmp_path / "page.pdf")
    assert page.evaluate("window.onPaper") == page.locator(".chart").count() > 8
    page.emulate_media(media="print")
    assert not page.locator(".switches").first.is_visible()
    assert page.locator("#chart-elo_latency svg.wide").is_visible()
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_a_chart_out_of_sight_is_let_go_and_still_shown_and_follows_the_switch_when_seen_again(
    address: str, open_page: Open
) -> None:
    page = unfolded(open_page(address))
    first = page.locator("#chart-leaderboard")
    first.scroll_into_view_if_needed()
    page.locator("#chart-leaderboard[data-ready] svg").wait_for()
    page.locator("#provenance").scroll_into_view_if_needed()
    assert page.locator("#chart-leaderboard svg").count() == 1
    page.evaluate("scrollTo(0, 0)")
    page.locator("#joint select[data-subset]").select_option("regular")
    first.scroll_into_view_if_needed()
    page.locator("#chart-leaderboard[data-shown=regular] svg").wait_for()


def test_the_first_screen_needs_no_script(address: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    box = page.locator("#chart-elo_latency svg.wide").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 800
    assert page.locator("#answers tbody tr").first.is_visible()
    context.close()


@pytest.mark.long
def test_twenty_agents_and_three_hundred_conversations_stay_under_fifteen_megabytes() -> None:
    few, more = (len(render(invented_view(agents=20, contexts=n))) for n in (3, 12))
    assert few + (more - few) / 9 * 297 < 15e6


def test_a_run_with_nothing_in_it_still_makes_a_page(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_text(render(invented_view(names=(), agents=0, contexts=0)), encoding="utf-8")
    page = open_page(path.as_uri())
    assert "No agent has played yet." in page.locator("#verdict").inner_text()
    assert "nothing to plot" in page.locator("#joint").inner_text()


def until(true: Callable[[], bool]) -> None:
    """The page forbids evaluating strings, so waiting is done from out here."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_drawn_anew(page: Any, name: str, before: str) -> bool:
    page.locator(f"#chart-{name}").scroll_into_view_if_needed()
    return drawing(page, name) != before


def drawing(page: Any, name: str) -> str:
    """Its markup, without the numbers that Vega gives to gradients and clips anew each time."""
    return re.sub(r"(gradient|clip)_?\d+", r"\1", str(page.locator(f"#chart-{name} svg").evaluate("svg => svg.outerHTML")))


def test_every_latency_and_percentile_moves_the_points_of_the_joint_chart(address: str, open_page: Open) -> None:
    page = open_page(address)
    all_drawn(page)
    seen = set()
    shown = offered(invented_view(agents=4, contexts=9))
    for metric, words in shown.items():
        page.select_option("#joint select[name=metric]", metric)
        for percentile, name in (("p50", "median"), ("p95", "95th percentile")):
            page.select_option("#joint select[name=percentile]", percentile)
            page.locator("#chart-elo_latency svg.wide").get_by_text(f"{words}, {name}").wait_for()
            seen.add(page.locator("#chart-elo_latency svg.wide").evaluate(POINTS))
    assert len(seen) == 2 * len(shown) - 2  # The invented TTFA and first speech are one.


def test_one_switch_shows_adversarial_conversations_in_every_view_that_can(address: str, open_page: Open) -> None:
    page = open_page(address)
    all_drawn(page)
    made = [chart for section in charts(invented_view(agents=4, contexts=9)).values() for chart in section]
    whole = {chart.name: drawing(page, chart.name) for chart in made}
    rows = page.locator("table.board tbody tr:visible").all_inner_texts()
    page.locator("#latency select[data-subset]").select_option("adversarial")
    for chart in made:
        caption = page.locator(f"figure:has(#chart-{chart.name}) figcaption")
        if chart.by_subset:
            until(partial(is_drawn_anew, page, chart.name, whole[chart.name]))
            assert "Shown: adversarial conversations." in caption.inner_text()
        else:
            assert drawing(page, chart.name) == whole[chart.name]
            assert "Shown: all conversations." in caption.inner_text()
    assert page.locator("table.board tbody tr:visible").all_inner_texts() != rows
    assert "2 turns" in page.locator("table.board tbody tr:visible", has_text="invented-a").inner_text()
    assert page.locator("#joint select[data-subset]").input_value() == "adversarial"
    page.locator("#joint select[data-subset]").select_option("all")
    page.locator("#chart-leaderboard").scroll_into_view_if_needed()
    until(lambda: drawing(page, "leaderboard") == whole["leaderboard"])
    assert page.locator("table.board tbody tr:visible").all_inner_texts() == rows


def test_a_run_of_one_kind_of_conversation_has_no_switch_between_kinds(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "regular.html"
    path.write_text(render(invented_view(agents=2, contexts=3)), encoding="utf-8")
    page = open_page(path.as_uri())
    assert page.locator("select[data-subset]").count() == 0


def test_nothing_is_cut_on_paper(address: str, open_page: Open, tmp_path: Path) -> None:
    page = open_page(address, width=PAPER_PX, height=900)
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    page.evaluate(FOLDED_WHEN_PRINTED)
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert page.evaluate("window.folded") == 0
    assert page.locator("#quality details.fold[open]").count() == 0
    all_drawn(page)
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER_PX
    assert page.evaluate(CUT) == []


def test_paper_is_white_with_dark_words_whatever_the_screen_was(address: str, open_page: Open) -> None:
    page = open_page(address, dark=True)
    all_drawn(page)
    page.emulate_media(media="print", color_scheme="dark")
    colour = "(node, what) => getComputedStyle(node)[what]"
    assert page.locator("section").first.evaluate(colour, "backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#answers tbody th a").first.evaluate(colour, "color") == "rgb(28, 35, 41)"
    assert page.locator("#chart-waterfall .role-axis-label text").first.evaluate(colour, "fill") == "rgb(85, 96, 107)"


def test_waterfalls_beside_each_other_have_one_scale(address: str, open_page: Open) -> None:
    """A stage of twice the milliseconds is twice as long, whichever agent's it is."""
    page = open_page(address)
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .waterfall").first.wait_for()
    rows = page.eval_on_selector_all(
        "#c-0 .waterfall > div:not(.hidden)",
        "rows => rows.map((row) => [parseFloat(row.querySelector('b').style.width), row.querySelector('.ms').textContent])",
    )
    long = [(width, float(text.split()[0]) * (1 if text.endswith("ms") else 1_000)) for width, text in rows]
    per_ms = [width / length_ms for width, length_ms in long if length_ms > 50]
    assert page.locator("#c-0 .waterfall").count() >= 2
    assert max(per_ms) / min(per_ms) < 1.1
