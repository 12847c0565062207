"""The whole page of an invented run in a real browser: every chart, both themes, phone, print, assistive technology, scale."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.charts.registry import charts
from reports.invented import invented_view
from reports.page import render

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(invented_view(agents=4, contexts=9)), encoding="utf-8")
    return path.as_uri()


def all_drawn(page: Any) -> None:
    for holder in page.locator(".chart").all():
        page.locator(f"#{holder.get_attribute('id')}[data-ready] svg").wait_for(state="attached")


def test_every_chart_of_the_registry_is_drawn_and_redrawn_in_the_other_theme(address: str, open_page: Open) -> None:
    page = open_page(address)
    all_drawn(page)
    names = {chart.name for section in charts(invented_view(agents=4, contexts=9)).values() for chart in section}
    assert {h.get_attribute("id") for h in page.locator(".chart").all()} == {f"chart-{name}" for name in names}
    ink = "() => document.querySelector('#chart-waterfall .role-axis-label text').getAttribute('fill')"
    light = page.evaluate(ink)
    page.get_by_role("button", name="Dark").click()
    page.wait_for_timeout(1_500)
    assert page.evaluate(ink) != light
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(address: str, open_page: Open, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(address, dark=dark)
    all_drawn(page)
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    page.locator("#c-0 details.more > summary").first.click()
    found = Axe().run(page).response["violations"]
    grave = [
        (v["id"], [n["html"][:120] for n in v["nodes"]][:3]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert not grave


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_runs_out_of_the_window(address: str, open_page: Open, width: int) -> None:
    page = open_page(address, width=width, height=800)
    all_drawn(page)
    page.locator("#c-1 > summary").click()
    page.locator("#c-1 .turn").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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
    all_drawn(page)
    page.pdf(path=tmp_path / "page.pdf")
    page.emulate_media(media="print")
    assert not page.locator(".switches").first.is_visible()
    assert page.locator("#chart-elo_latency svg").is_visible()
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_twenty_agents_and_three_hundred_conversations_stay_under_fifteen_megabytes() -> None:
    few, more = (len(render(invented_view(agents=20, contexts=n))) for n in (3, 12))
    assert few + (more - few) / 9 * 297 < 15e6


def test_a_run_with_nothing_in_it_still_makes_a_page(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_text(render(invented_view(names=(), agents=0, contexts=0)), encoding="utf-8")
    page = open_page(path.as_uri())
    assert "No agent has played yet." in page.locator("#verdict").inner_text()
    assert "nothing to plot" in page.locator("#joint").inner_text()
