"""Back undoes what a reader did on the board, Forward does it again, and a link to nothing says so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.reports.html import render
from harness.reports.view import PageView
from tests.reports.invented import invented_view
from tests.reports.test_page import until

Open = Callable[..., Any]
STATE = """() => [
  document.querySelector('#filters [name=emotion]').value, document.querySelector('#filters [name=text]').value,
  [...document.querySelectorAll('details.context[open]')].map((card) => card.id).join(),
  (history.state?.open ?? []).join(), /* a card opens before its entry is made */
  document.querySelector('#filter-count').textContent]"""
FOCUS = "() => document.activeElement.name || document.activeElement.parentElement.id || document.activeElement.id"
ORDER = "() => [...document.querySelectorAll('#board tbody:not([hidden]) th bdi')].map((node) => node.textContent).join()"


@pytest.fixture(scope="module")
def view() -> PageView:
    return invented_view(agents=4, contexts=9)


@pytest.fixture(scope="module")
def address(view: PageView, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("history") / "report.html"
    path.write_text(render(view), encoding="utf-8")
    return path.as_uri()


def shows(page: Any, emotion: str, text: str, cards: str, count: int) -> None:
    until(lambda: page.evaluate(STATE) == [emotion, text, cards, cards, f"{count} conversations of 9"])


def test_back_and_forward_walk_through_filters_and_opened_conversations(address: str, open_page: Open) -> None:
    page = open_page(address)
    shows(page, "", "", "", 9)
    page.select_option("#filters [name=emotion]", "anger")
    shows(page, "anger", "", "", 3)
    page.locator("#c-4 > summary").click()
    shows(page, "anger", "", "c-4", 3)
    page.locator("#c-8 > summary").click()
    shows(page, "anger", "", "c-4,c-8", 3)
    page.go_back()
    shows(page, "anger", "", "c-4", 3)
    assert "context=invented-004" in page.url
    assert page.evaluate(FOCUS) == "c-8"
    page.go_back()
    shows(page, "anger", "", "", 3)
    assert page.evaluate(FOCUS) == "c-4"
    page.go_back()
    shows(page, "", "", "", 9)
    assert page.evaluate(FOCUS) == "emotion"
    page.go_forward()
    page.go_forward()
    shows(page, "anger", "", "c-4", 3)
    page.locator("#c-4 .turn").first.wait_for()
    page.locator("#c-4 > summary").click()
    shows(page, "anger", "", "", 3)
    page.go_back()
    shows(page, "anger", "", "c-4", 3)


def test_typing_is_one_step(address: str, open_page: Open) -> None:
    page = open_page(address)
    before = page.evaluate("history.length")
    page.locator("#filters [name=text]").press_sequentially("relief tonight")
    until(lambda: "text=relief+tonight" in page.url)
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    shows(page, "", "", "", 9)
    page.go_forward()
    until(lambda: page.locator("#filters [name=text]").input_value() == "relief tonight")


def test_back_restores_the_order_of_a_table_and_the_place_left_by_a_link(address: str, open_page: Open) -> None:
    page = open_page(address)
    whole = page.evaluate(ORDER)
    page.locator("#board").get_by_role("button", name="TTFA p50").click()
    sorted_rows = page.evaluate(ORDER)
    assert sorted_rows != whole
    page.go_back()
    until(lambda: page.evaluate(ORDER) == whole)
    assert page.locator("#board [aria-sort]").count() == 0
    page.go_forward()
    until(lambda: page.evaluate(ORDER) == sorted_rows)
    left = page.evaluate("scrollY")
    page.get_by_role("link", name="How it was run").evaluate("link => link.click()")
    until(lambda: page.evaluate("scrollY") > left + 500)
    page.go_back()
    until(lambda: abs(page.evaluate("scrollY") - left) < 5)
    assert page.evaluate(ORDER) == sorted_rows


def test_a_link_is_one_entry_however_much_it_opens(address: str, open_page: Open) -> None:
    page = open_page(f"{address}#context=invented-003&agent=invented-c")
    page.locator("#c-3 .turn:visible").first.wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("history.length") <= 2
    page.reload()
    page.locator("#c-3 .turn:visible").first.wait_for()
    assert page.evaluate("[...document.querySelectorAll('details.context[open]')].length") == 1


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("#context=nowhere", "This page has no conversation “nowhere”."),
        ("#agent=nobody&context=invented-001", "This page has no agent “nobody”."),
        ("#context=%3Cimg%20src%3Dx%3E&with=x", "This page has no agent “x”, no conversation “<img src=x>”."),
    ],
)
def test_a_link_to_nothing_says_so_and_leads_back(address: str, open_page: Open, link: str, words: str) -> None:
    page = open_page(address + link)
    note = page.get_by_role("status").filter(has_text="This page has no")
    note.wait_for()
    assert words in note.inner_text().replace("\u2068", "").replace("\u2069", "")
    until(lambda: 0 <= note.bounding_box()["y"] < 900)
    page.get_by_role("button", name="Show the whole board").click()
    shows(page, "", "", "", 9)
    assert "no" not in page.locator("#unknown").inner_text()
    assert page.evaluate("location.hash") in ("", "#")
    page.go_back()
    until(lambda: "This page has no" in page.locator("#unknown").inner_text())


def test_each_row_has_the_latencies_before_an_agent_is_chosen(view: PageView, open_page: Open, tmp_path: Path) -> None:
    many, few = tmp_path / "many.html", tmp_path / "few.html"
    many.write_text(render(view), encoding="utf-8")
    few.write_text(render(invented_view(agents=2, contexts=9)), encoding="utf-8")
    page = open_page(many.as_uri())
    until(lambda: "TTFA" in page.locator("#c-1 .figure").inner_text())
    for index, context in enumerate(view.contexts):
        waits = sorted(at for s in context.sessions if (at := s.last.ms("ttfa")) is not None)
        silent = any(s.slowest for s in context.sessions)
        first = f"{waits[0]:.0f} ms" if waits[0] < 999.5 else f"{waits[0] / 1_000:.2f} s"
        said = page.locator(f"#c-{index} .figure").inner_text()
        assert said.startswith(f"TTFA {first} to ")
        assert ("no reply" in said) == silent
    page = open_page(few.as_uri())
    until(lambda: "invented-b" in page.locator("#c-1 .figure").inner_text())
    assert page.locator("#c-1 .figure").inner_text().startswith("TTFA invented-a ")


def test_a_text_endpoint_has_its_ttft_on_the_row(open_page: Open, tmp_path: Path) -> None:
    made = invented_view(agents=2, contexts=9)
    path = tmp_path / "text.html"
    path.write_text(render(replace(made, agents=tuple(replace(a, spoken=False) for a in made.agents))), encoding="utf-8")
    page = open_page(path.as_uri())
    until(lambda: page.locator("#c-1 .figure").inner_text().startswith("TTFT invented-a "))
