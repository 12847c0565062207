"""The page in every state, as assistive technology meets it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.ranking.board import QualityState
from harness.reports.html import render
from tests.reports.invented import IN_WORDS, LONG_NAMES, in_state, invented_view
from tests.reports.test_page import all_drawn

Open = Callable[..., Any]
FAINT = (Path(__file__).parent / "contrast_by_hand.js").read_text(encoding="utf-8")
"""Words of too little contrast among these selectors."""


@pytest.mark.parametrize(
    ("width", "dark"),
    [(1_280, False), pytest.param(360, True, marks=pytest.mark.long), pytest.param(1_280, True, marks=pytest.mark.long)],
)
def test_axe_finds_nothing_serious_in_any_state(open_page: Open, tmp_path: Path, width: int, dark: bool) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(invented_view(agents=3, contexts=9, audio="none.flac")), encoding="utf-8")
    page = open_page(path.as_uri(), width=width, dark=dark)
    assert not grave_faults(page)
    all_drawn(page)
    page.locator("#board").get_by_role("button", name="Elo").click()
    page.select_option("#filters [name=agent]", "invented-a")
    page.select_option("#filters [name=with]", "invented-b")
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 .turn").first.wait_for()
    for fold in page.locator("#c-0 details > summary:visible").all():
        fold.click()
    assert not grave_faults(page)
    page.emulate_media(media="print")
    assert not grave_faults(page)
    page.emulate_media(media="screen")
    page.fill("#filters [name=text]", "no such word")
    page.locator("#none-match").wait_for()
    assert not grave_faults(page)


@pytest.mark.parametrize(
    ("state", "width", "dark"), [("opinion", 390, False), ("people", 390, True), ("borne_out", 1_280, False)]
)
def test_axe_finds_nothing_serious_whosever_the_quality_is(
    open_page: Open, tmp_path: Path, state: QualityState, width: int, dark: bool
) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(in_state(invented_view(agents=3, contexts=9), state)), encoding="utf-8")
    page = open_page(path.as_uri(), width=width, dark=dark)
    assert not grave_faults(page)
    assert IN_WORDS[state][0] in page.locator(".quality").inner_text()
    assert page.locator(".quality").evaluate("node => node.scrollWidth <= node.clientWidth")


@pytest.mark.parametrize(("width", "dark"), [pytest.param(1_440, True, marks=pytest.mark.long), (390, False)])
def test_axe_finds_nothing_serious_with_twenty_agents_of_long_names(
    open_page: Open, tmp_path: Path, width: int, dark: bool
) -> None:
    path = tmp_path / "page.html"
    crowd = invented_view(agents=20, contexts=4, names=LONG_NAMES, pairs_per_context=12)
    path.write_text(render(in_state(crowd, "people")), encoding="utf-8")
    page = open_page(f"{path.as_uri()}#context=nowhere", width=width, dark=dark)
    page.get_by_role("button", name="Show the whole board").wait_for()
    page.locator("#sentences > summary").click()
    page.locator("#answers").get_by_role("button", name="Kind").click()
    assert not grave_faults(page)


def test_a_budget_has_the_colour_of_the_theme_in_every_chart(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(invented_view(agents=2, contexts=9)), encoding="utf-8")
    page = open_page(path.as_uri(), dark=True)
    chart = page.locator("#chart-ttfa_ecdf")
    chart.scroll_into_view_if_needed()
    label = chart.locator("svg text", has_text="budget")
    label.wait_for()
    limit = page.evaluate(
        "() => { const p = document.createElement('p'); p.style.color = 'var(--limit)'; document.body.append(p); "
        "return getComputedStyle(p).color; }"
    )
    assert label.evaluate("node => getComputedStyle(node).fill") == limit


def test_what_is_said_of_a_table_is_read_on_a_phone_without_moving_it(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(invented_view(agents=2, contexts=9)), encoding="utf-8")
    page = open_page(path.as_uri(), width=390)
    for caption in page.locator(".scroll caption:visible").all():
        box = caption.bounding_box()
        assert box["x"] + box["width"] <= 390


def grave_faults(page: Any) -> list[tuple[str, list[str]]]:
    """What axe calls serious, and words of too little contrast among those that it leaves open."""
    from axe_playwright_python.sync_playwright import Axe

    response = Axe().run(page).response
    found = [v for v in response["violations"] if v["impact"] in ("serious", "critical")]
    undecided = [v for v in response["incomplete"] if v["impact"] in ("serious", "critical")]
    faint = page.evaluate(FAINT, [n["target"][0] for v in undecided if v["id"] == "color-contrast" for n in v["nodes"]])
    faults = [(v["id"], [n["html"][:120] for n in v["nodes"]][:3]) for v in found]
    faults += [
        (f"undecided: {v['id']}", [n["html"][:120] for n in v["nodes"]][:3]) for v in undecided if v["id"] != "color-contrast"
    ]
    return [*faults, *([("contrast by hand", faint)] if faint else [])]


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_by_hand_measures_what_axe_measures(open_page: Open, tmp_path: Path, dark: bool) -> None:
    """Of known pairs: black on white is 21, and a faint word is found, over a paint that lets the ground through too."""
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><body style='background:white;color:black'><p id=full>word</p><p id=faint style='color:#999'>word</p>"
        "<div style='background:rgb(0 0 0 / 60%)'><p id=through>word</p></div>"
        "<svg width=90 height=40><rect width=90 height=40 fill=black /><text id=drawn y=20 x=20>word</text></svg>",
        encoding="utf-8",
    )
    page = open_page(path.as_uri(), dark=dark)
    found = page.evaluate(FAINT, ["#full", "#faint", "#through", "#drawn"])
    assert [text.split()[0] for text in found] == ["#faint", "#through", "#drawn"]
    assert [float(text.split()[1]) for text in found] == pytest.approx([2.85, 3.66, 1.0], abs=0.02)
