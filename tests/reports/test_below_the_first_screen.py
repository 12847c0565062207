"""Everything below the first screen: what is folded, what is not there and why, and how long the page is."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.figures.summarise import summarise
from harness.figures.summary import RunSummary
from harness.reports.absent import absent
from harness.reports.assemble import assemble
from harness.reports.board import boards
from harness.reports.cautions_shown import cautions
from harness.reports.charts.registry import charts
from harness.reports.findings import between, findings
from harness.reports.html import render
from harness.reports.provenance import essential
from harness.reports.several_runs import together
from harness.reports.view import PageView
from harness.store.run_store import RunStore
from harness.wording import share
from tests.reports.conftest import timing
from tests.reports.invented import LONG_NAMES, invented_view, of_an_invalid_run
from tests.reports.test_page import unfolded, until
from tests.reports.test_slowest_turns import run

Open = Callable[..., Any]
Played = Callable[..., tuple[RunStore, RunSummary]]
TALLEST_PX = 6_000
"""A page of twenty agents, 1,280 wide, as it opens: seven screens and a half."""
WORDS = 2_800
"""Half of the 5,541 that such a page had with everything open."""
HEIGHT = "document.documentElement.scrollHeight"
RAW_FLOAT = re.compile(r"\d\.\d{5,}")


def page_at(view: PageView, folder: Path) -> str:
    path = folder / "report.html"
    path.write_text(render(view), encoding="utf-8")
    return path.as_uri()


def seen_charts(page: Any) -> None:
    for holder in page.locator(".chart").all():
        if holder.is_visible():
            holder.scroll_into_view_if_needed()
            page.locator(f"#{holder.get_attribute('id')}[data-ready] svg").wait_for(state="attached")


@pytest.mark.parametrize("contexts", [12, 60])
def test_a_page_of_twenty_agents_is_short(contexts: int, open_page: Open, tmp_path: Path) -> None:
    many = invented_view(agents=20, contexts=contexts, names=LONG_NAMES, pairs_per_context=30)
    page = open_page(page_at(many, tmp_path))
    seen_charts(page)
    assert page.evaluate(HEIGHT) <= TALLEST_PX
    assert len(page.locator("body").inner_text().split()) < WORDS


@pytest.mark.parametrize("agents", [1, 2])
def test_a_page_of_few_agents_is_shorter_still(agents: int, open_page: Open, tmp_path: Path) -> None:
    page = open_page(page_at(invented_view(agents=agents, contexts=8), tmp_path))
    seen_charts(page)
    assert page.evaluate(HEIGHT) <= TALLEST_PX * 5 / 6


@pytest.fixture
def unjudged(tmp_path: Path) -> PageView:
    """A run of spoken turns that nobody judged, as the store has it."""
    store = run(tmp_path / "run", {f"talk-{n}": (timing(400.0 + n), None) for n in range(3)})
    return assemble(together([(store, summarise(store))]), tmp_path, audio=False)


@pytest.fixture
def text_run(tmp_path: Path) -> PageView:
    """A run of a text agent: it has the time of its first token, and no sound."""
    silent: dict[str, Any] = {"ttfa_ms": None, "first_sound_ms": None, "first_speech_ms": None, "utterances": (),
              "waterfall": None, "pauses_marked": 0, "pause_durations_ms": (), "pause_was_cut": ()}  # fmt: skip
    cases: dict[str, Any] = {f"talk-{n}": (replace(timing(400.0), ttft_ms=400.0 + 100 * n, **silent), None) for n in range(3)}
    store = run(tmp_path / "run", cases, kind="text")
    return assemble(together([(store, summarise(store))]), tmp_path, audio=False)


def test_an_empty_section_is_named_once_at_the_end_with_the_command_that_fills_it(
    unjudged: PageView, open_page: Open, tmp_path: Path
) -> None:
    page = open_page(page_at(unjudged, tmp_path))
    for anchor in ("quality", "trust", "strategies", "listening"):
        assert page.locator(f"section#{anchor}").count() == 0
        assert page.locator(f"nav a[href='#{anchor}']").count() == 0
        assert page.locator(f"#absent #{anchor}").count() == 1, "its old address leads to nothing"
    assert page.locator("section:not(:has(h2, h3, #joint))").count() == 0
    assert page.locator(".empty:visible").count() == 0
    commands = page.locator("#absent code").all_inner_texts()
    assert [command.split()[1] for command in commands] == ["judge", "label", "listen"]
    assert all(unjudged.folder in command for command in commands)


def test_what_is_on_the_page_is_not_said_to_be_absent(open_page: Open, tmp_path: Path) -> None:
    page = open_page(page_at(invented_view(agents=3, contexts=9), tmp_path))
    there = [section.get_attribute("id") for section in page.locator("section").all()]
    gone = [
        node.get_attribute("id") for node in page.locator("#absent [id]").all() if node.get_attribute("id") != "absent-title"
    ]
    assert not set(there) & set(gone)
    assert {"quality", "latency", "endpointing", "interaction", "strategies", "trust"} <= set(there)


def test_a_text_run_says_nothing_of_sound(text_run: PageView, open_page: Open, tmp_path: Path) -> None:
    page = open_page(page_at(text_run, tmp_path))
    assert [chart.name for chart in charts(text_run)["latency"]] == ["ttft_ecdf", "ttft_over_run"]
    seen_charts(page)
    assert [key for key, _ in boards(text_run)[0]] == ["ttft", "budget", "silent"], "a column in which nobody has a figure"
    absences = {anchor: part.why for part in absent(text_run, {"endpointing": "Endpointing", "interaction": "Interaction"})
                for anchor, _ in part.anchors}  # fmt: skip
    assert absences == dict.fromkeys(("endpointing", "interaction"), "a text agent has no sound to measure")
    assert page.locator("#joint [name=metric] option").evaluate_all("all => all.map((one) => one.value)") == ["ttft"]
    unfolded(page)
    below = " ".join(page.locator("#main > section:not(#verdict, #absent)").all_inner_texts()).lower()
    assert "ttft" in below
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    below += page.locator("#c-0 .dialogue").inner_text().lower()
    assert "sent to every agent" in below
    for word in ("ttfa", "cut-in", "pause", "transcriber", "hear every agent", "spoken", "voices"):
        assert word not in below, word


def test_an_address_opens_the_fold_that_holds_its_target(open_page: Open, tmp_path: Path) -> None:
    address = page_at(invented_view(agents=3, contexts=9), tmp_path)
    page = open_page(f"{address}#chart-waterfall")
    page.locator("#chart-waterfall[data-ready] svg").wait_for()
    assert page.locator("#quality details.fold[open]").count() == 0
    link = page.locator("nav a[href='#quality']")
    link.click()
    page.locator("#chart-leaderboard[data-ready] svg").wait_for()
    page.locator("#quality details.fold > summary").click()
    page.locator("#chart-leaderboard").wait_for(state="hidden")
    link.click()
    page.locator("#chart-leaderboard").wait_for(state="visible")


def test_a_keyboard_opens_a_fold(open_page: Open, tmp_path: Path) -> None:
    page = open_page(page_at(invented_view(agents=3, contexts=9), tmp_path))
    page.locator("#strategies details.fold > summary").focus()
    page.keyboard.press("Enter")
    page.locator("#chart-strategies[data-ready] svg").wait_for()


def test_of_many_conversations_a_dozen_are_shown_until_the_reader_asks_or_a_link_names_another(
    open_page: Open, tmp_path: Path
) -> None:
    address = page_at(invented_view(agents=1, contexts=40, pairs_per_context=1), tmp_path)
    page = open_page(address)
    rows = page.locator("details.context:visible")
    until(lambda: rows.count() == 12)
    assert "12 of 40" in page.locator("#more-rows").inner_text()
    page.select_option("#filters [name=emotion]", "anger")
    until(lambda: rows.count() == 10)
    assert not page.locator("#more-rows").is_visible()
    page.select_option("#filters [name=emotion]", "")
    page.locator("#more-rows button").click()
    until(lambda: rows.count() == 40)
    assert page.evaluate("document.activeElement.parentElement.id") == "c-12"
    linked = open_page(f"{address}#context=invented-039")
    linked.locator("#c-39 .turn").first.wait_for()
    assert linked.locator("#c-39").is_visible()


def test_no_caution_is_on_the_page_twice(played: Played, open_page: Open, tmp_path: Path) -> None:
    view = assemble(together([played()]), tmp_path, audio=False)
    page = open_page(page_at(view, tmp_path))
    unfolded(page)
    words = page.locator("body").inner_text()
    given = [caution.text for caution in cautions(view)]
    assert given
    assert [text for text in given if words.count(text) > 1] == []


def test_how_it_was_run_has_units_and_no_raw_floats(text_run: PageView, tmp_path: Path) -> None:
    calibration = {
        "created": "2026-11-27T22:44:40+00:00",
        "trials": 16.0,
        "ttfa_bias_ms": 6.524919145833341,
        "ttfa_p95_error_ms": None,
    }
    store = run(tmp_path / "spoken", {"talk": (timing(400.0), None)}, calibration=calibration, machine={"memory_gib": 23.5})
    spoken = assemble(together([(store, summarise(store))]), tmp_path, audio=False)
    facts = dict(spoken.provenance)
    assert "TTFA bias: 6.5 ms" in facts["Calibration"]
    assert "trials: 16" in facts["Calibration"]
    assert "memory: 23.5 GiB" in facts["Machine"]
    for view in (spoken, text_run):
        assert not any(RAW_FLOAT.search(value) or value == "—" for _, value in view.provenance)
    needed, others = essential(text_run.provenance)
    assert "Pack" in dict(needed)
    assert "Seed" in dict(others)


def test_the_sentence_of_a_section_names_the_lowest_and_the_highest() -> None:
    assert between([("a", 0.12), ("b", 0.4)], share) == "a 12 %, b 40 %"
    assert between([("a", 0.12), ("b", 0.4), ("c", 0.02)], share) == "2 % (c) to 40 % (b)"
    assert between([("a", 0.0), ("b", 0.001), ("c", 0.0)], share) == "0 % of each"
    assert between([], share) == ""
    found = findings(invented_view(agents=2, contexts=9))
    assert "95 % interval" in found["endpointing"], "an interval that does not name its level"
    assert "95 % interval" in found["quality"]


def test_a_sentence_with_times_of_an_invalid_run_says_so() -> None:
    view = invented_view(agents=2, contexts=9)
    found = findings(replace(view, agents=tuple(map(of_an_invalid_run, view.agents))))
    assert all(found[anchor].startswith("INVALID") for anchor in ("systems", "latency", "endpointing", "interaction"))
    assert not found["missing"].startswith("INVALID")
