"""Every turn of a recorded call on its page, in a real browser: its times, and its sound at a press."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from harness.audio.vocal import silero
from harness.calls.as_run import CallsAsked, measure_calls
from harness.calls.recordings import find_calls
from harness.figures.summarise import summarise
from harness.progress import RunProgress
from harness.reports.write import write_played
from tests.harness.calls.made_calls import short_call, write_call
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]
SOUNDING = """() => {
  const sound = document.querySelector("article.turn audio");  /* the second turn ends at 6.5 s, and is heard from 5 s on */
  return !sound.paused && sound.currentTime > 5 && sound.currentTime < 11;
}"""
NAME = "<img src=x onerror=document.title='owned'>.wav"


@pytest.fixture(scope="module")
def page_of_calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calls")
    write_call(place / "calls" / NAME, short_call())
    asked = CallsAsked(find_calls(place / "calls", caller="left"), place / "calls", "bot", place / "r")
    store = measure_calls(asked, RunProgress(quiet=True), silero())
    return Path(str(write_played(store, summarise(store)).report))


@pytest.mark.parametrize(("width", "dark"), [(390, True)])
def test_each_turn_has_its_times_and_its_sound(page_of_calls: Path, open_page: Open, width: int, dark: bool) -> None:
    page = open_page(page_of_calls.as_uri(), width=width, dark=dark)
    page.locator("details.context summary").first.click()
    each = page.locator("details.each")
    each.locator("summary").click()
    rows = each.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator("td").first).to_have_text(re.compile(r"^(699|70[01]) ms$"))
    expect(rows.nth(2)).to_contain_text("the call ended before an answer")
    rows.nth(1).locator("button").click()
    page.wait_for_function(SOUNDING)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "No waterfall" not in page.locator("article.turn").inner_text()
    assert not grave_faults(page)
    assert page.title() != "owned"


def test_the_name_of_a_file_is_text(page_of_calls: Path, open_page: Open) -> None:
    page = open_page(page_of_calls.as_uri())
    page.locator("details.context summary").first.click()
    expect(page.locator("details.context .body").first).to_contain_text(NAME)
    assert page.title() != "owned"
