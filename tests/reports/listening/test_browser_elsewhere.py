"""Raters elsewhere, in a real browser: a link in web mail, TLS, the microphone, a reload, and headphones that are not there."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import soundfile

from harness.reports.listening import headphones
from tests.http_serving import Handler, serving
from tests.reports.listening.conftest import NAME, invite
from tests.reports.listening.test_browser import begin, hear_all, one_step

Serve = Callable[..., Any]
Open = Callable[..., Any]
TEXT = {"medium": "text", "practice": 0, "gold": 0, "attention": 0}
FAKE_MICROPHONE = "--use-fake-device-for-media-stream"


@pytest.fixture
def web_mail() -> Iterator[Callable[[str], str]]:
    """The address of another site's page with a link in it."""
    with ExitStack() as servers:

        def served(link: str) -> str:
            class Mail(Handler):
                def do_GET(self) -> None:
                    self.begin(200, "text/html")
                    self.wfile.write(f'<a id="link" href="{link}">Please take part</a>'.encode())

            return servers.enter_context(serving(Mail)).replace("127.0.0.1", "mail.test") + "/"

        yield served


@pytest.mark.parametrize("tls", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_link_in_web_mail_leads_in_and_leaves_no_secret_in_sight(
    serve: Serve, from_elsewhere: Open, web_mail: Callable[[str], str], certificate: tuple[Path, Path], tls: bool
) -> None:
    reached = {"certificate": certificate[0], "key": certificate[1]} if tls else {}
    served = serve(items=1, public=True, name=NAME, reached=reached, **TEXT)
    (link,) = invite(served.votes, 1)
    page = from_elsewhere()
    page.goto(web_mail(served.address + link.path))
    page.click("#link")
    page.get_by_role("heading", name="Which reply would help more?").wait_for()
    assert page.url == served.address + "/"
    begin(page)
    one_step(page, served)
    assert len(served.votes.answers()) == 1
    assert page.evaluate("document.cookie") == ""
    page.go_back()
    assert "mail.test" in page.url


def test_a_reply_can_be_spoken_over_tls(serve: Serve, from_elsewhere: Open, certificate: tuple[Path, Path]) -> None:
    served = serve(contexts=2, public=True, name=NAME, reached={"certificate": certificate[0], "key": certificate[1]})
    (link,) = invite(served.votes, 0, 1)
    page = from_elsewhere("--use-fake-ui-for-media-stream", FAKE_MICROPHONE)
    page.goto(served.address + link.path)
    begin(page)
    page.get_by_role("button", name="Record").click()
    page.get_by_text("recording; speak now").wait_for()
    page.wait_for_timeout(1_200)
    page.get_by_role("button", name="Stop recording").click()
    page.get_by_text("recorded", exact=True).wait_for()
    page.check("input[name=own]")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("You have given 1.").wait_for()
    (row,) = served.votes.completions()
    assert soundfile.info(served.votes.folder / "completions" / row["audio"]).duration > 0.8


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((FAKE_MICROPHONE, "--deny-permission-prompts"), "not allowed to use the microphone"),
     (("--use-fake-ui-for-media-stream", "--disable-audio-input"), "No microphone was found")],
)  # fmt: skip
def test_why_there_is_no_microphone_is_said(serve: Serve, from_elsewhere: Open, arguments: tuple[str, ...], says: str) -> None:
    served = serve(contexts=1)
    page = from_elsewhere(*arguments, width=390, height=844)
    page.goto(served.address + "/collect")
    begin(page)
    page.get_by_role("button", name="Record").click()
    page.get_by_role("alert").filter(has_text=says).wait_for()
    page.fill("#words", "I am here, go on.")
    page.check("input[name=own]")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Thank you").wait_for()


def test_without_encryption_writing_is_offered_and_why(serve: Serve, from_elsewhere: Open) -> None:
    served = serve(contexts=1, public=True, name=NAME)
    (link,) = invite(served.votes, 0, 1)
    page = from_elsewhere("--use-fake-ui-for-media-stream", FAKE_MICROPHONE)
    page.goto(served.address + link.path)
    begin(page)
    page.get_by_text("browsers lend the microphone to encrypted pages alone").wait_for()
    assert page.get_by_role("button", name="Record").count() == 0
    assert page.locator("#words").is_enabled()


def test_what_was_typed_survives_a_reload_and_goes_when_it_is_sent(serve: Serve, open_page: Open) -> None:
    served = serve(items=2, **TEXT)
    page = open_page(served.address)
    begin(page)
    page.locator("label", has_text="B is slightly better").click()
    page.fill("#reason", "It <b>names</b> what hurts.")
    page.reload()
    page.locator("#reason").wait_for()
    assert page.input_value("#reason") == "It <b>names</b> what hurts."
    page.locator("button.main:visible").click()
    page.locator("#progress[value='1']").wait_for(state="attached")
    assert page.input_value("#reason") == ""
    assert page.evaluate("sessionStorage.length") == 0
    assert served.votes.answers()[0].answer == {"choice": 1, "reason": "It <b>names</b> what hurts."}


def test_an_unsent_reply_survives_a_reload_and_is_nobody_elses(serve: Serve, open_page: Open) -> None:
    served = serve(contexts=1)
    page = open_page(served.address + "/collect")
    begin(page)
    page.fill("#words", "I am here.")
    page.reload()
    begin(page)
    assert page.input_value("#words") == "I am here."
    page.context.clear_cookies()
    page.reload()
    begin(page)
    assert page.input_value("#words") == ""


def test_who_fails_the_headphone_trial_is_told_before_the_first_conversation(serve: Serve, open_page: Open) -> None:
    served = serve(items=2, practice=0, gold=0, attention=0, headphone_trials=1, hearing_share=0.0)
    page = open_page(served.address, width=390, height=844)
    begin(page)

    def answer(tone: int | None) -> None:
        step = page.request.get(served.address + "/step").json()
        page.request.get(served.address + step["sounds"][0])
        given = {"position": step["position"], "answer": {} if tone is None else {"tone": tone}}
        assert page.request.post(served.address + "/answer", data=given).ok

    answer(None)
    for said in ("Then try once more.", "It is the last try"):
        answer(wrong_tone(served))
        page.reload()
        page.locator("#stage .note", has_text=said).wait_for()
    hear_all(page)
    page.locator("fieldset label").nth(wrong_tone(served) - 1).click()
    page.locator("button.main:visible").click()
    page.get_by_role("heading", name="This test needs headphones").wait_for()
    page.reload()
    page.get_by_role("heading", name="This test needs headphones").wait_for()
    assert {a.item.role for a in served.votes.answers()} == {"level", "headphones"}
    assert served.votes.raters()[0].left_s is not None


def wrong_tone(served: Any) -> int:
    """A wrong answer to the trial that is due."""
    (rater,) = served.votes.raters()
    position = served.votes.position(rater)
    failed = served.votes.failed_rounds(rater)
    item = headphones.in_round(rater.plan[position], failed, position, served.votes.media_secret, rater.id)
    assert item.expected is not None
    return item.expected % 3 + 1
