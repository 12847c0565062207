"""The page of a run on disk, opened from disk in a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import expect

from harness.figures.circumstances import Circumstances
from harness.figures.summary import RunSummary
from harness.reports.write import write_joint_report
from harness.store.run_store import RunStore
from tests.reports.test_page import until

Played = Callable[..., tuple[RunStore, RunSummary]]
Open = Callable[..., Any]


@pytest.fixture
def page(played: Played, open_page: Open, tmp_path: Path) -> Any:
    store, summary = played()
    return open_page(write_joint_report([(store, summary)], tmp_path / "run").page.as_uri())


def test_the_joint_chart_shows_agents_lines_and_references(page: Any) -> None:
    page.wait_for_selector("#chart-elo_latency[data-ready] svg")
    drawn = page.locator("#chart-elo_latency svg.wide").text_content()
    for words in ("quick", "slow", "budget 500 ms", "comfort 1 s", "careful", "500 ms"):
        assert words in drawn


def test_the_chart_switches_to_another_latency_and_says_when_there_is_none(page: Any) -> None:
    page.wait_for_selector("#chart-elo_latency[data-ready] svg")
    page.select_option("select[name=metric]", "ttft")
    page.locator("#chart-elo_latency svg.wide").get_by_text("first answer token").first.wait_for()
    page.select_option("select[name=percentile]", "p95")
    page.wait_for_selector("[data-empty=elo_latency]:not([hidden])")


def test_a_weak_judge_is_called_weak_beside_the_figures(page: Any) -> None:
    beside = page.locator(".answers-side .cautions > li", has_text="Weak judge")
    assert beside.is_visible()
    for words in ("Kind:", "tester@1", "55 %", "guessing"):
        assert words in beside.inner_text()
    assert "no certificate of safety" in page.locator("#cautions").inner_text()
    page.get_by_text("the facts behind each").click()
    expect(page.locator(".facts-behind")).to_contain_text("too few conversations for an interval")


def test_a_conversation_shows_words_times_verdicts_and_plays(page: Any) -> None:
    page.locator("#c-0 > summary").click()
    body = page.locator("#c-0 .body")
    body.locator(".turn").first.wait_for()
    text = body.inner_text()
    for words in (
        "What made it long?",
        "heard (transcribed from the audio)",
        "unexplained",
        "TTFA 400 ms",
        "400 ms",
        "tester@1",
    ):
        assert words in text or words in body.text_content()
    audio = body.locator("audio").first
    body.get_by_role("button", name="Hear the handover").first.click()
    until(lambda: audio.evaluate("a => a.currentTime") > 1.6)
    assert audio.evaluate("a => Math.abs(a.duration - 5.3) < 0.05")
    body.get_by_role("button", name="Pause quick").click()
    assert audio.evaluate("a => a.paused")


def test_the_audio_beside_the_page_holds_caller_left_and_agent_right(played: Played, tmp_path: Path) -> None:
    store, summary = played(contexts=1)
    write_joint_report([(store, summary)], tmp_path / "out" / "page.html")
    files = sorted((tmp_path / "out" / "report-audio").glob("*.flac"))
    samples, rate = soundfile.read(files[0])
    loud = np.abs(samples) > 0.05
    assert len(files) == 2
    assert abs(np.flatnonzero(loud[:, 0])[-1] / rate - 2.9) < 0.005
    assert abs(np.flatnonzero(loud[:, 1])[0] / rate - 3.3) < 0.005


def test_the_page_asks_for_nothing_from_the_network(played: Played, browser: Any, tmp_path: Path) -> None:
    store, summary = played(contexts=1)
    address = write_joint_report([(store, summary)], tmp_path / "run").page.as_uri()
    context = browser.new_context(offline=True)
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#chart-elo_latency[data-ready] svg")
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    context.close()
    assert {url.split(":")[0] for url in asked} <= {"file", "blob", "data"}


def test_hostile_text_is_shown_as_text(played: Played, open_page: Open, tmp_path: Path, hostile: str) -> None:
    store, summary = played(contexts=1, text=hostile)
    summary.circumstances = Circumstances(ranking=(hostile,))
    page = open_page(write_joint_report([(store, summary)], tmp_path / "run").page.as_uri())
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    shown = page.locator("#c-0 .dialogue li.spoken").inner_text()
    assert "<script>document.title='owned'</script>" in shown
    expect(page.locator(".answers-side .cautions")).to_contain_text("onerror")
    assert page.title() != "owned"
    assert page.locator("#main img").count() == 0


def test_a_link_opens_one_conversation_and_one_agent(played: Played, open_page: Open, tmp_path: Path) -> None:
    store, summary = played()
    address = write_joint_report([(store, summary)], tmp_path / "run").page.as_uri()
    page = open_page(f"{address}#context=talk-1&agent=slow")
    page.locator("#c-1 .turn:visible").first.wait_for()
    expect(page.locator("#c-1 .turn:visible")).to_have_count(1)
    assert "slow" in page.locator("#c-1 .turn:visible h3").inner_text()


def test_filters_narrow_the_list(page: Any) -> None:
    page.fill("#filters [name=text]", "talk-1")
    until(lambda: page.locator("details.context:visible").count() == 1)
    page.fill("#filters [name=text]", "")
    page.select_option("#filters [name=agent]", "quick")
    page.select_option("#filters [name=flag]", "over")
    expect(page.locator("details.context:visible")).to_have_count(0)
    assert page.locator("#none-match").is_visible()
    page.select_option("#filters [name=agent]", "slow")
    expect(page.locator("details.context:visible")).to_have_count(2)


def test_building_again_keeps_the_audio_that_is_there(played: Played, tmp_path: Path) -> None:
    store, summary = played(contexts=1)
    page = write_joint_report([(store, summary)], tmp_path / "run").page
    before = {f.name: f.stat().st_mtime_ns for f in (page.parent / "report-audio").iterdir()}
    first = page.read_text(encoding="utf-8")
    write_joint_report([(store, summary)], tmp_path / "run")
    assert {f.name: f.stat().st_mtime_ns for f in (page.parent / "report-audio").iterdir()} == before
    assert page.read_text(encoding="utf-8") == first


def test_a_bundled_page_plays_without_any_file_beside_it(played: Played, open_page: Open, tmp_path: Path) -> None:
    store, summary = played(contexts=1)
    page_file = write_joint_report([(store, summary)], tmp_path / "out", bundle=True).page
    alone = tmp_path / "alone.html"
    alone.write_bytes(page_file.read_bytes())
    page = open_page(alone.as_uri())
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    page.get_by_role("button", name="Play quick").click()
    audio = page.locator("#c-0 audio").first
    until(lambda: audio.evaluate("a => a.currentTime") > 0.3)
