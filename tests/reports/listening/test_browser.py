"""Whole sessions in a real browser: desktop and phone, interrupted and resumed, spoken and typed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soundfile

Serve = Callable[..., Any]
Open = Callable[..., Any]
SMALL = {"items": 2, "practice": 1, "gold": 1, "attention": 0, "headphone_trials": 1}
SMALLEST = {"items": 1, "practice": 0, "gold": 0, "attention": 0, "headphone_trials": 1}
"""The fewest steps that there can be: volume, headphones, one pair of replies."""


def begin(page: Any) -> None:
    assert page.locator("#begin").is_disabled()
    page.check("#consent")
    page.click("#begin")
    page.locator("#stage h1").wait_for()


def hear_all(page: Any) -> None:
    for button in page.locator(".hear button").all():
        button.click()
        button.get_by_text("Again").wait_for(timeout=20_000)


def one_step(page: Any, served: Any, reason: str = "It names what hurts.") -> None:
    """Hear everything, answer whatever is asked, go on; the softest tone is the right one, or there is no way on."""
    before = page.locator("#progress").get_attribute("value") or page.evaluate("document.getElementById('progress').value")
    submit = page.locator("button.main:visible")
    if page.locator(".hear").count():
        assert submit.is_disabled()
    hear_all(page)
    for group in page.locator("fieldset:has(input[type=radio])").all():
        known = served.votes.raters()[-1].plan[served.votes.position(served.votes.raters()[-1])]
        group.locator("label").nth(known.expected - 1 if known.role == "headphones" else 1).click()
    if page.locator("#reason").count():
        page.fill("#reason", reason)
    submit.click()
    for _ in range(200):
        now = page.evaluate("document.getElementById('progress').value")
        if float(now) > float(before) or page.get_by_role("heading", name="Thank you").count():
            return
        page.wait_for_timeout(50)
    raise AssertionError("the step was not taken")


def finish(page: Any, served: Any) -> int:
    steps = 0
    while not page.get_by_role("heading", name="Thank you").count():
        one_step(page, served)
        steps += 1
    return steps


@pytest.mark.parametrize(
    ("width", "height", "design"),
    [pytest.param(1280, 900, SMALL, marks=pytest.mark.long), (375, 720, SMALLEST)],
    ids=["desktop", "phone"],
)
def test_a_whole_session_by_ear_on_desktop_and_phone(
    serve: Serve, open_page: Open, width: int, height: int, design: dict[str, int]
) -> None:
    served = serve(**design)
    page = open_page(served.address, width=width, height=height)
    begin(page)
    page.get_by_role("heading", name="Set your volume").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    steps = finish(page, served)
    (rater,) = served.votes.raters()
    assert steps == len(rater.plan) == len(served.votes.answers())
    mains = [a for a in served.votes.answers() if a.item.role == "main"]
    assert {a.answer["choice"] for a in mains} == {-1}
    assert all(a.answer["reason"] == "It names what hurts." for a in mains)


def test_a_closed_tab_goes_on_where_it_was(serve: Serve, browser: Any) -> None:
    served = serve(items=3, practice=0, gold=0, attention=0, headphone_trials=0, medium="text")
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)
    begin(page)
    page.get_by_role("heading", name="Which reply is better?").wait_for()
    one_step(page, served, "first")
    page.close()
    page = context.new_page()
    page.goto(served.address)
    page.get_by_role("heading", name="Which reply is better?").wait_for()
    assert page.evaluate("document.getElementById('progress').value") == 1
    finish(page, served)
    context.close()
    assert [a.position for a in served.votes.answers()] == [0, 1, 2]


def test_an_answer_given_while_the_server_is_away_is_sent_again(serve: Serve, browser: Any) -> None:
    served = serve(items=1, practice=0, gold=0, attention=0, medium="text")
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)
    begin(page)
    page.get_by_role("heading", name="Which reply is better?").wait_for()
    away = [True]
    page.route("**/answer", lambda route: route.abort() if away[0] else route.continue_())
    page.locator("label", has_text="They are the same").click()
    page.fill("#reason", "no difference to me")
    page.locator("button.main:visible").click()
    page.get_by_text("The connection is lost").wait_for()
    away[0] = False
    page.get_by_role("heading", name="Thank you").wait_for(timeout=20_000)
    context.close()
    assert [a.answer for a in served.votes.answers()] == [{"choice": 0, "reason": "no difference to me"}]


def test_stopping_keeps_what_was_given_and_says_something_kind(serve: Serve, open_page: Open) -> None:
    served = serve(items=3, practice=0, gold=0, attention=0, medium="text")
    page = open_page(served.address)
    begin(page)
    page.get_by_role("heading", name="Which reply is better?").wait_for()
    one_step(page, served)
    page.click("#stop")
    page.get_by_role("heading", name="Stopped").wait_for()
    assert "988" in page.locator("#stage .help").inner_text()
    assert len(served.votes.answers()) == 1
    assert served.votes.raters()[0].left_s is not None


def test_absolute_ratings_ask_for_empathy_and_naturalness(serve: Serve, open_page: Open) -> None:
    served = serve(kind="acr", items=1, practice=0, gold=0, attention=0, headphone_trials=0)
    page = open_page(served.address)
    begin(page)
    finish(page, served)
    (answer,) = [a for a in served.votes.answers() if a.item.role == "main"]
    assert answer.answer == {"empathy": 2, "naturalness": 2}


def test_hostile_text_is_text_to_a_rater_and_huge_text_scrolls(serve: Serve, open_page: Open, hostile: str) -> None:
    served = serve(items=1, practice=0, gold=0, attention=0, medium="text", text=(hostile + " long words ")[:1_900])
    page = open_page(served.address, width=375, height=720)
    begin(page)
    page.get_by_role("heading", name="Which reply is better?").wait_for()
    assert "<script>" in page.locator(".said").first.inner_text()
    assert page.title() == "Listening test"
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_axe_finds_nothing_serious_on_any_screen(serve: Serve, open_page: Open) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def grave(page: Any) -> list[object]:
        found = Axe().run(page).response["violations"]
        return [(v["id"], [n["html"][:100] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")]

    served = serve(items=1, practice=0, gold=0, attention=0, headphone_trials=1)
    # axe is put into the page as a string, which the page's own policy forbids; the policy has a test of its own.
    page = open_page(served.address, bypass_csp=True)
    seen = [grave(page)]
    begin(page)
    page.get_by_role("heading", name="Set your volume").wait_for()
    while not page.get_by_role("heading", name="Thank you").count():
        seen.append(grave(page))
        one_step(page, served)
    seen.append(grave(page))
    page.goto(served.address + "/collect")
    seen.append(grave(page))
    assert not [found for found in seen if found]
    assert len(seen) >= 5


@pytest.mark.parametrize("width", [375, 1280])
def test_a_person_speaks_a_reply_into_the_browser(serve: Serve, open_page: Open, width: int) -> None:
    served = serve(contexts=2)
    page = open_page(served.address + "/collect", width=width, permissions=["microphone"])
    begin(page)
    page.get_by_role("heading", name="What would you say?").wait_for()
    page.get_by_role("button", name="Record").click()
    page.get_by_text("recording; speak now").wait_for()
    page.wait_for_timeout(1_500)
    page.get_by_role("button", name="Stop recording").click()
    page.get_by_text("recorded", exact=True).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    send = page.get_by_role("button", name="Send")
    assert send.is_disabled()
    page.check("input[name=own]")
    send.click()
    page.get_by_text("You have given 1.").wait_for()
    (row,) = served.votes.completions()
    samples, rate = soundfile.read(served.votes.folder / "completions" / row["audio"])
    assert rate == 24_000
    assert 0.9 < len(samples) / rate < 4
    assert np.abs(samples).max() > 0.01
