"""The first screen of the page, for somebody who has never seen one: fast? kind? how sure? what was played? what next?"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.html import render
from harness.reports.view import PageView
from tests.reports.invented import LONG_NAMES, in_state, invented_view, not_to_be_quoted, unrated, written
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]
BOTS = ("echo-bot", "kind-bot")
PAGES: dict[str, Callable[[], PageView]] = {
    "one": lambda: unrated(invented_view(contexts=12, names=BOTS[:1])),
    "twenty": lambda: in_state(invented_view(contexts=12, names=LONG_NAMES), "people"),
    "text": lambda: written(unrated(invented_view(contexts=12, names=BOTS))),
    "invalid": lambda: not_to_be_quoted(unrated(invented_view(contexts=12, names=BOTS))),
    "people": lambda: in_state(invented_view(contexts=12, names=BOTS), "people"),
    "opinion": lambda: in_state(invented_view(contexts=12, names=BOTS), "opinion"),
}
SCREENS = [(390, 844, False), (1_280, 800, True), (1_920, 1_080, False)]
JARGON = re.compile(r"P\(best|before you quote a number|weaken the figures|\d{4}-\d\d-\d\dT|invented-run on")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    for name, view in PAGES.items():
        (folder / f"{name}.html").write_text(render(view()), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in PAGES}


def ends_at(locator: Any) -> float:
    box = locator.bounding_box()
    assert box is not None
    return float(box["y"] + box["height"])


@pytest.mark.parametrize("name", PAGES)
def test_five_questions_are_answered_on_the_first_screen(pages: dict[str, str], open_page: Open, name: str) -> None:
    for width, height, dark in SCREENS:
        page = open_page(pages[name], width=width, height=height, dark=dark)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert ends_at(page.locator(".finding")) < height / 2, "what was found"
        questions = page.locator(".lede li")
        assert [text.split(":")[0] for text in questions.all_inner_texts()] == ["Played", "How sure", "Next"]
        assert ends_at(questions.last) < height
        row = page.locator("#answers tbody tr").first
        fast, kind, *pauses = (cell.inner_text() for cell in row.locator("td b").all())
        assert fast in ("yes", "no", "unclear")
        assert kind in ("yes", "no", "unclear", "no verdict", "not rated")
        assert len(pauses) == (name != "text"), "nobody speaks to a text agent, so it can cut into no pause"
        assert page.locator("#answers thead th").count() == len(pauses) + 3
        assert ends_at(row) < height, f"{name} at {width}"
        assert page.locator("h1").bounding_box()["y"] < 60


@pytest.mark.parametrize("name", PAGES)
def test_the_first_screen_has_plain_words_and_every_range_its_level(pages: dict[str, str], open_page: Open, name: str) -> None:
    page = open_page(pages[name], width=1_280, height=800)
    head, table = page.locator("body > header").inner_text(), page.locator("#answers").inner_text()
    assert not JARGON.search(head + page.locator("#verdict").inner_text())
    for cell in page.locator("#answers td small").all_inner_texts():
        if re.search(r"\d\s?[–-]\s?\d|\d to ", cell):
            assert cell.startswith("95 % interval"), cell
    finding = page.locator(".finding").inner_text()
    assert finding.endswith(".")
    assert "not to be quoted" in finding or name != "invalid" or "must not be quoted" in finding
    assert ("nobody has rated" in finding) == (name in ("one", "text", "invalid"))
    assert "TTFA" not in table
    assert not grave_faults(page)


@pytest.mark.parametrize("name", ["one", "twenty", "invalid"])
def test_on_paper_the_first_page_has_the_same_words(pages: dict[str, str], open_page: Open, name: str) -> None:
    page = open_page(pages[name], width=718, height=1_016)
    page.emulate_media(media="print")
    for part in (".finding", ".lede", "#answers"):
        assert page.locator(part).is_visible()
    assert ends_at(page.locator("#answers tbody tr").first) < 1_016
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
