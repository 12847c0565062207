"""The board of conversations and the view of a turn, as a reader uses them in a real browser."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from harness.figures.summary import RunSummary
from harness.reports.html import render
from harness.reports.payload import disputes
from harness.reports.view import ContextView, JudgmentView, PageView
from harness.reports.write import write_joint_report
from harness.store.run_store import RunStore
from tests.reports.invented import invented_view
from tests.reports.test_page import unfolded, until

Open = Callable[..., Any]
Played = Callable[..., tuple[RunStore, RunSummary]]
SHOWN = (
    "[...document.querySelectorAll('details.context')].filter((d) => !d.hidden).map((d) => d.querySelector('.id').textContent)"
)

A_CHART = "document.getElementById('chart-strategies')"
DRAWN_WHERE_THE_READER_IS = """[...document.querySelectorAll('.chart')].every((chart) => chart.dataset.ready
    || chart.getBoundingClientRect().bottom < -300 || chart.getBoundingClientRect().top > innerHeight + 300)"""


def disputing(context: ContextView) -> ContextView:
    """With a second judge who prefers the other reply of the first pair."""
    first = context.judgments[0]
    other = replace(first, judge="invented-other@1", winner="b" if first.winner == "a" else "a", rationale="A zephyr of doubt.")
    return replace(context, judgments=(*context.judgments, other))


@pytest.fixture(scope="module")
def view() -> PageView:
    made = invented_view(agents=4, contexts=9)
    return replace(made, contexts=(*made.contexts[:5], disputing(made.contexts[5]), *made.contexts[6:]))


@pytest.fixture(scope="module")
def address(view: PageView, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("board") / "report.html"
    path.write_text(render(view), encoding="utf-8")
    return path.as_uri()


def counts(page: Any, words: str) -> None:
    until(lambda: page.locator("#filter-count").inner_text() == words)


def top(page: Any, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("node => node.getBoundingClientRect().top"))


def test_every_filter_narrows_the_board_and_the_address_brings_it_back(address: str, open_page: Open) -> None:
    page = open_page(address)
    page.select_option("#filters [name=emotion]", "anger")
    counts(page, "3 conversations of 9")
    page.select_option("#filters [name=subset]", "regular")
    page.select_option("#filters [name=agent]", "invented-b")
    page.select_option("#filters [name=sort]", "slowest")
    shown = page.evaluate(SHOWN)
    again = open_page(page.url)
    until(lambda: again.evaluate(SHOWN) == shown)
    assert again.locator("#filters [name=agent]").input_value() == "invented-b"
    again.get_by_role("button", name="Show all").click()
    counts(again, "9 conversations of 9")
    assert again.evaluate("location.hash") in ("", "#")


def test_the_board_sorts_by_latency_and_by_the_difference_of_two(view: PageView, address: str, open_page: Open) -> None:
    page = open_page(f"{address}#agent=invented-b&with=invented-c&sort=difference")
    until(lambda: "against" in page.locator(".context .figure").first.inner_text())
    by_id = {c.id: {s.agent: s.last.ms("ttfa") or float("inf") for s in c.sessions} for c in view.contexts}
    pairs = [(by_id[c]["invented-b"], by_id[c]["invented-c"]) for c in page.evaluate(SHOWN)]
    apart = [abs(c - b) for b, c in pairs]
    assert float("inf") in apart, "silence against an answer is the largest difference there is"
    assert all(a >= b - 2 for a, b in pairwise(apart))
    page.select_option("#filters [name=sort]", "quickest")
    page.select_option("#filters [name=with]", "")
    until(lambda: "against" not in page.locator(".context .figure").first.inner_text())
    quick = [by_id[c]["invented-b"] for c in page.evaluate(SHOWN)]
    assert all(a <= b + 1 for a, b in pairwise(quick))
    page.select_option("#filters [name=agent]", "")
    page.select_option("#filters [name=sort]", "slowest")
    worst = [max(by_id[c].values()) for c in page.evaluate(SHOWN)]
    assert all(a >= b - 1 for a, b in pairwise(worst))
    assert worst[0] == float("inf"), "a turn without an answer is the slowest"
    page.select_option("#filters [name=flag]", "over")
    assert set(page.evaluate(SHOWN)) == {c for c, waits in by_id.items() if max(waits.values()) > view.budget_ttfa_ms}


def test_who_answered_where_the_other_did_not_is_said(view: PageView, open_page: Open, tmp_path: Path) -> None:
    silent = next(c for c in view.contexts if any(s.slowest for s in c.sessions))
    mute = next(s.agent for s in silent.sessions if s.slowest)
    other = next(s.agent for s in silent.sessions if not s.slowest)
    path = tmp_path / "report.html"
    path.write_text(render(view), encoding="utf-8")
    page = open_page(f"{path.as_uri()}#agent={mute}&with={other}&context={silent.id}")
    line = page.locator(".compared:not([hidden])")
    line.wait_for()
    until(lambda: f"only {other} gave an answer that counts" in line.inner_text())
    assert page.locator(f"#c-{view.contexts.index(silent)} .figure").inner_text().startswith("no reply against ")


def test_votes_of_people_are_counted_beside_verdicts_and_not_among_them(
    view: PageView, open_page: Open, tmp_path: Path
) -> None:
    first = view.contexts[0]
    row = next(r for r in first.judgments if {r.system_a, r.system_b} == {"invented-b", "invented-c"})
    vote = replace(row, judge="someone", human=True, winner="a", system_a="invented-b", system_b="invented-c")
    voted = replace(first, judgments=(*first.judgments, vote, replace(vote, judge="another", winner="tie")))
    path = tmp_path / "report.html"
    path.write_text(render(replace(view, contexts=(voted, *view.contexts[1:]))), encoding="utf-8")
    page = open_page(f"{path.as_uri()}#agent=invented-b&with=invented-c&context={first.id}")
    line = page.locator("#c-0 .compared")
    until(lambda: "of 1 verdict" in line.inner_text())
    assert "; of 2 votes by people 1 for invented-b, 0 for invented-c, 1 tie." in line.inner_text()
    verdicts = len(first.judgments)
    assert page.locator("#c-0 summary", has_text="votes by people").inner_text() == f"{verdicts} verdicts, 2 votes by people"
    total = sum(len(c.judgments) for c in view.contexts)
    assert f"{total} verdicts, 2 votes by people." in page.locator(".lede").inner_text()


def test_words_are_found_in_replies_and_reasons(view: PageView, address: str, open_page: Open) -> None:
    page = open_page(address)
    page.fill("#filters [name=text]", "doubt zephyr")
    counts(page, "1 conversation of 9")
    assert page.evaluate(SHOWN) == [view.contexts[5].id]
    page.fill("#filters [name=text]", "zephyr xylophone")
    counts(page, "0 conversations of 9")
    expect(page.locator("#none-match")).to_be_visible()


def test_disagreements_are_one_click_away_and_stand_first(address: str, open_page: Open) -> None:
    page = open_page(address)
    page.get_by_role("link", name="Show the 1 conversation on which judges disagree").click()
    counts(page, "1 conversation of 9")
    rows = page.locator("#c-5 tr.disputed:visible")
    rows.first.wait_for()
    assert rows.count() == 2
    until(lambda: 0 <= rows.first.evaluate("row => row.getBoundingClientRect().top") < page.evaluate("innerHeight"))
    assert {rows.nth(k).locator("td").nth(3).inner_text().split("\n")[0] for k in range(2)} == {
        "invented-judge@1", "invented-other@1",
    }  # fmt: skip
    assert "Judges disagree on 1 pair" in page.locator("#c-5").inner_text()


def test_a_disagreement_on_two_references_is_shown_too(view: PageView, open_page: Open, tmp_path: Path) -> None:
    context = view.contexts[5]
    rows = tuple(
        replace(row, system_a="ref:good", system_b="ref:plain") for row in (context.judgments[0], context.judgments[-1])
    )
    path = tmp_path / "report.html"
    path.write_text(render(replace(view, contexts=(replace(context, judgments=rows),))), encoding="utf-8")
    page = open_page(path.as_uri())
    page.get_by_role("link", name="Show the 1 conversation on which judges disagree").click()
    counts(page, "1 conversation of 1")
    page.locator("tr.disputed:visible").first.wait_for()


@pytest.mark.parametrize(
    ("before", "grown"),
    [
        ("drawing = [...chart.childNodes]; chart.replaceChildren()", "chart.append(...drawing)"),
        ("svg = chart.querySelector('svg'); svg.style.height = '130px'", "svg.style.height = ''"),
    ],
    ids=["nothing is drawn", "its picture has no size yet"],
)
def test_a_chart_that_is_drawn_between_press_and_release_takes_no_click_from_a_link(
    address: str, open_page: Open, before: str, grown: str
) -> None:
    page = unfolded(open_page(address, height=1600))
    link = page.get_by_role("link", name="Show the 1 conversation on which judges disagree")
    link.hover()
    until(lambda: page.evaluate(DRAWN_WHERE_THE_READER_IS))
    page.evaluate(f"chart = {A_CHART}; delete chart.dataset.ready; {before}")
    small = page.evaluate(f"{A_CHART}.offsetHeight")
    link.hover()
    page.mouse.down()
    page.evaluate(grown)
    page.mouse.up()
    counts(page, "1 conversation of 9")
    until(lambda: page.evaluate(f"{A_CHART}.offsetHeight") > small + 40)


def test_a_tie_or_a_rule_disputes_nothing() -> None:
    row = JudgmentView("a", "b", "one", False, "a", 1, "a", "heard_text", "", {}, False)
    assert disputes([row, replace(row, judge="two", winner="tie")]) == frozenset()
    assert disputes([row, replace(row, judge="rule:no-reply (one)", winner="b")]) == frozenset()
    assert disputes([row, replace(row, judge="two", winner="b", replicate=1)]) == frozenset()
    assert disputes([row, replace(row, judge="two", system_a="b", system_b="a", winner="a")]) == {("a", "b")}


def test_two_agents_are_compared_turn_by_turn(address: str, open_page: Open) -> None:
    page = open_page(f"{address}#agent=invented-b&with=invented-c&context=invented-002")
    page.locator("#c-2 .compared").wait_for()
    turns = page.locator("#c-2 .turn:visible")
    assert [turns.nth(k).get_attribute("data-agent") for k in range(turns.count())] == ["invented-b", "invented-c"]
    left, right = (turns.nth(k).bounding_box() for k in range(2))
    assert left is not None
    assert right is not None
    assert (left["y"], left["x"] + left["width"]) < (right["y"] + 1, right["x"] + 1)
    line = page.locator("#c-2 .compared").inner_text()
    assert "sooner" in line
    assert "of 1 verdict" in line
    assert "against" in page.locator("#c-2 .figure").inner_text()


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("#provenance", "#provenance"),
        ("#strategies", "#strategies"),
        ("#context=invented-007", "#c-7 > summary"),
        ("#context=invented-007&agent=invented-c", "#c-7 .turn[data-agent=invented-c]"),
        ("#context=invented-001&emotion=shame", "#c-1 > summary"),
    ],
)
def test_a_deep_link_lands_where_it_points_while_charts_above_are_still_drawn(
    address: str, open_page: Open, link: str, target: str
) -> None:
    page = open_page(address + link, height=700)
    page.locator(target).first.wait_for()
    page.wait_for_timeout(1_500)
    at_end = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
    assert -2 <= top(page, target) <= 60 or (at_end and 0 <= top(page, target) < 700)


def test_links_are_copied_for_the_board_and_for_a_turn(address: str, open_page: Open) -> None:
    page = open_page(f"{address}#emotion=anger", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link", exact=True).click()
    page.get_by_text("Link copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").endswith("#emotion=anger")
    page.locator("#c-4 > summary").click()
    page.get_by_role("button", name="Copy a link to this turn of invented-d").click()
    page.locator("#c-4 .link").get_by_text("Link copied.").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "context=invented-004" in link
    assert "agent=invented-d" in link


def test_what_is_shown_is_downloaded_as_csv_and_json_under_its_conditions(
    view: PageView, address: str, open_page: Open, tmp_path: Path
) -> None:
    page = open_page(f"{address}#emotion=anger&agent=invented-b")
    counts(page, "3 conversations of 9")
    for kind in ("CSV", "JSON"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download {kind}").click()
        waiting.value.save_as(tmp_path / f"board.{kind.lower()}")
    with (tmp_path / "board.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    whole = json.loads((tmp_path / "board.json").read_text(encoding="utf-8"))
    assert [row["context"] for row in rows] == [c.id for c in view.contexts if c.emotion == "anger"]
    assert {row["agent"] for row in rows} == {"invented-b"}
    assert "Human baseline" in rows[0]["made_under"]
    assert not any(row["made_under"] for row in rows[1:]), "once"
    assert whole["conditions"] == rows[0]["made_under"]
    assert [str(row["latency_ms"]) for row in whole["rows"]] == [row["latency_ms"] for row in rows]
    assert whole["schema"] == 1


def test_the_table_of_systems_sorts_by_any_column_and_remembers_it(view: PageView, address: str, open_page: Open) -> None:
    page = open_page(address)
    page.locator("#board").get_by_role("button", name="TTFA p50").click()
    names = page.locator("#board tbody:visible th bdi").all_inner_texts()
    slowest = sorted(view.agents, key=lambda a: -(a.whole.latency("ttfa").p50 or 0))
    assert names[:4] == [a.name for a in slowest]
    assert all(name.startswith("reference") for name in names[4:])
    page.locator("#board").get_by_role("button", name="TTFA p50").click()
    assert page.locator("#board th[aria-sort=ascending]").inner_text().startswith("TTFA p50")
    again = open_page(page.url)
    until(lambda: again.locator("#board tbody:visible th bdi").first.inner_text() == slowest[-1].name)


@pytest.fixture
def turn(played: Played, open_page: Open, tmp_path: Path) -> Any:
    store, summary = played(contexts=1)
    page = open_page(f"{write_joint_report([(store, summary)], tmp_path / 'run').page.as_uri()}#context=talk-0&agent=quick")
    page.locator(".turn:visible .slider input").wait_for()
    return page


def first_heard(turn: Any, start: Callable[[], Any]) -> Any:
    """Where the sound stood as it began, and the least that the slider showed in the half second after it was asked to."""
    turn.evaluate("""() => {
        const shown = [...document.querySelectorAll(".turn")].find((node) => node.checkVisibility());
        const [audio, slider] = [shown.querySelector("audio"), shown.querySelector(".slider input")];
        window.heard = { least_ms: Infinity };
        audio.addEventListener("playing", () => { window.heard.at_s ??= audio.currentTime; }, { once: true });
        audio.addEventListener("play", () => {
            const until = performance.now() + 500;
            const frame = (now) => {
                window.heard.least_ms = Math.min(window.heard.least_ms, Number(slider.value));
                if (now < until) requestAnimationFrame(frame); else window.heard.watched = true;
            };
            requestAnimationFrame(frame);
        }, { once: true });
    }""")
    start()
    until(lambda: turn.evaluate("Boolean(window.heard.watched && window.heard.at_s !== undefined)"))
    return turn.evaluate("window.heard")


def test_a_press_on_the_waveform_moves_the_sound(turn: Any) -> None:
    track = turn.locator(".turn:visible .lane .track").first
    box = track.bounding_box()
    turn.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    slider = turn.locator(".turn:visible .slider input")
    assert abs(float(slider.input_value()) - 2_650) < 40
    heard = first_heard(turn, lambda: turn.get_by_role("button", name="Play quick").click())
    assert heard["at_s"] == pytest.approx(2.65, abs=0.15)
    assert heard["least_ms"] > 2_600, "the playhead never leaves the place that was chosen"


def test_the_first_play_begins_where_the_slider_was_put(turn: Any) -> None:
    turn.locator(".turn:visible .slider input").focus()
    for _ in range(3):
        turn.keyboard.press("ArrowRight")
    heard = first_heard(turn, lambda: turn.get_by_role("button", name="Play quick").click())
    assert heard["at_s"] == pytest.approx(3.0, abs=0.15)
    assert heard["least_ms"] >= 3_000


def test_hear_the_handover_begins_before_the_caller_ends(turn: Any) -> None:
    handover = turn.locator(".turn:visible").get_by_role("button", name="Hear the handover")
    heard = first_heard(turn, handover.click)
    assert heard["at_s"] == pytest.approx(1.4, abs=0.15)
    assert heard["least_ms"] >= 1_400
    turn.get_by_role("button", name="Pause quick").click()
    assert first_heard(turn, handover.click)["at_s"] == pytest.approx(1.4, abs=0.15), "and again, once the sound is there"


def test_the_slider_stands_under_the_playhead_moves_by_seconds_and_says_where_it_is(turn: Any) -> None:
    slider = turn.locator(".turn:visible .slider input")
    slider.focus()
    assert slider.get_attribute("aria-valuetext") == "0.0 seconds of 5.3: silence"
    for _ in range(4):
        turn.keyboard.press("ArrowRight")
    assert float(slider.input_value()) == 4_000
    assert slider.get_attribute("aria-valuetext") == "4.0 seconds of 5.3: the agent sounds"
    track, thumb = turn.locator(".turn:visible .lane .track").first.bounding_box(), slider.bounding_box()
    head = turn.locator(".turn:visible .playhead i").bounding_box()
    middle = thumb["x"] + 8 + (thumb["width"] - 16) * 4_000 / float(slider.get_attribute("max"))
    assert abs(head["x"] + 1 - middle) < 2
    assert abs(thumb["x"] + 8 - track["x"]) < 1
    assert abs(thumb["x"] + thumb["width"] - 8 - track["x"] - track["width"]) < 1
    turn.keyboard.press("Home")
    assert float(slider.input_value()) == 0
    turn.keyboard.press("ArrowLeft")
    assert float(slider.input_value()) == 0
