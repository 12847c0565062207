"""A study in the listening test: who asks, in which language, what is asked of the person, what comes at the end."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.invited.participants import Participants
from harness.study.study import Study
from tests.reports.listening.conftest import Served
from tests.reports.test_page_for_everybody import grave_faults

Serve = Callable[..., Served]
Open = Callable[..., Any]
TEXT = {"medium": "text", "practice": 0, "gold": 0, "attention": 0}
VOTE = {"choice": 1, "reason": "warmer"}
EVIL = '<img src=x onerror="document.title=1"></script>{{ 7*7 }}\u202e'


def study(language: str = "es", **more: Any) -> Study:
    return Study.model_validate(
        {
            "name": f"Amables {EVIL}", "who": f"Universidad {EVIL}", "contact": f"a@example.org {EVIL}",
            "ethics": f"7/26 {EVIL}",
            "consent": f"Primero {EVIL}\n\nSegundo.", "language": language, "completion_code": "K7Q2",
            "return_link": "https://example.org/done?cc={code}", "helplines": [f"Mi línea: 1234 {EVIL}"],
            "demographics": [
                {"label": f"¿Edad? {EVIL}", "kind": "number"},
                {"label": "¿País?", "kind": "choice", "choices": [EVIL, "México"]},
                {"label": "¿Trabajo?"},
            ],
            **more,
        }
    )  # fmt: skip


@pytest.mark.parametrize(("language", "width"), [("es", 390), ("en", 1_280)])
def test_a_person_goes_from_consent_to_the_code_by_keyboard(serve: Serve, open_page: Open, language: str, width: int) -> None:
    asked = study(language)
    served = serve(items=1, study=asked, **TEXT)
    page = open_page(served.address, width=width, bypass_csp=True)
    t = asked.texts
    page.get_by_role("heading", name=t("listen.title.ab")).wait_for()
    assert page.evaluate("document.documentElement.lang") == language
    said = page.locator("#welcome").inner_text()
    for part in (asked.who, asked.contact, asked.ethics, "Segundo.", asked.helplines[0], t("study.notice")):
        assert part.split("\u202e")[0] in said
    assert "K7Q2" not in page.content()
    faults = grave_faults(page)
    page.locator("#consent").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=t("study.about_you")).wait_for()
    faults += grave_faults(page)
    page.locator("#about-0").fill("four")
    page.locator("#about-0").press("Enter")
    page.get_by_text(t("study.number_needed")).wait_for()
    page.locator("#about-0").fill("41,5")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.locator("#about-0").press("Enter")
    page.get_by_role("heading", name=t("shared.which_is_better")).wait_for()
    faults += grave_faults(page)
    page.locator("input[name=choice]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("warmer")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=t("shared.thanks")).wait_for()
    faults += grave_faults(page)
    assert page.locator(".code").inner_text() == "K7Q2"
    assert page.get_by_role("link", name=t("study.way_back")).get_attribute("href") == "https://example.org/done?cc=K7Q2"
    assert asked.helplines[0].split("\u202e")[0] in page.locator("#stage .help").inner_text()
    assert "rater-0001" in page.locator("#stage").inner_text()
    assert (page.locator("main img").count(), page.evaluate("document.title") == "1") == (0, False)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not faults
    assert served.votes.participants.every() == {"rater-0001": {asked.demographics[0].label: 41.5, "¿País?": "México"}}


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("design", [{"kind": "ab"}, {"kind": "acr", "delays": "both"}, {"kind": "ab", "medium": "text"}])
def test_no_step_is_in_another_language_or_lacks_a_word(serve: Serve, language: str, design: dict[str, str]) -> None:
    served = serve(items=1, study=Study(language=language), practice=1, contexts=8, headphone_trials=1, **design)
    client = served.client()
    front = client.get("/").text
    assert f'<html lang="{language}">' in front
    assert ("Antes de aceptar" in front) == (language == "es")
    assert client.post("/answer", json={}).json()["error"] == served_texts(language)("invited.begin_first")
    client.post("/begin", json={"consent": True})
    refused = client.post("/answer", json={"position": 9, "answer": {}}).json()["error"]
    assert refused == served_texts(language)("listen.refused.not_due")


def served_texts(language: str) -> Any:
    return Study(language=language).texts


def test_questions_come_once_and_all_may_be_left_out(serve: Serve) -> None:
    served = serve(items=1, study=study(), **TEXT)
    rater = served.begun()
    assert rater.get("/step").json()["kind"] == "about"
    assert rater.post("/about", json={"answers": "no"}).status_code == 400
    assert rater.post("/about", json={"answers": [None, "Mars", {"a": 1}, "too many"]}).status_code == 200
    assert rater.get("/step").json()["kind"] == "pair"
    assert served.votes.participants.every() == {"rater-0001": {}}


def test_the_code_comes_with_the_last_answer_and_not_with_stopping(serve: Serve) -> None:
    served = serve(items=1, study=study(demographics=[]), **TEXT)
    rater = served.begun()
    assert "K7Q2" not in rater.get("/step").text + rater.post("/leave", json={}).text
    assert rater.post("/answer", json={"position": 0, "answer": VOTE}).json()["code"] == "K7Q2"


def test_somebody_who_comes_back_to_another_text_is_asked_again(serve: Serve) -> None:
    served = serve(items=2, study=study(demographics=[]), **TEXT)
    rater = served.begun()
    assert rater.get("/step").json()["kind"] == "pair"
    Participants(served.votes._write, served.votes._read).agree("rater-0001", Study(name="another"))
    assert rater.get("/step").json() == {"kind": "welcome"}
    rater.post("/begin", json={"consent": True})
    assert rater.get("/step").json()["kind"] == "pair"
    assert len(served.votes.raters()) == 1


def test_a_contributor_is_asked_and_thanked_too(serve: Serve) -> None:
    served = serve(contexts=1, study=study())
    person = served.begun("collect")
    assert person.get("/collect/next").json()["kind"] == "about"
    person.post("/about", json={"answers": [30, None, None]})
    due = person.get("/collect/next").json()
    reply = {"context": due["context"], "no_help": True, "text": "I am here, go on."}
    assert person.post("/collect/reply", json=reply).json()["code"] == "K7Q2"


def test_a_rater_who_withdraws_takes_everything_along_and_the_name_is_nobodys(serve: Serve) -> None:
    served = serve(items=2, study=study(), **TEXT)
    rater, other = served.begun(), served.begun()
    for one in (rater, other):
        one.post("/about", json={"answers": [41, None, "gardener"]})
        one.post("/answer", json={"position": 0, "answer": VOTE | {"reason": "unforgettable words"}})
    assert served.votes.forget("rater-0001") == 1
    assert [served.votes.has(name) for name in ("rater-0001", "rater-0002", "nobody")] == [False, True, False]
    assert {answer.rater for answer in served.votes.answers()} == {"rater-0002"}
    assert set(served.votes.participants.every()) == {"rater-0002"}
    assert rater.get("/step").json() == {"kind": "welcome"}
    served.begun()
    assert [known.id for known in served.votes.raters()][-1] == "rater-0003"
