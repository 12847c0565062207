"""The pages of both seats in a real browser: each step for everybody, and each thing that can go wrong beside the sound.

The browser's microphone is a file here, so that these tests need no loop of sound and can run beside others.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from harness.people.caller.seat import CallerSeat
from harness.people.records import SeatStore
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.seat import SupporterSeat
from harness.people.track import RATE_HZ
from harness.study.study import Study
from harness.study.texts import texts
from tests.harness.people.conftest import ServedSeat, ServeSeat
from tests.harness.people.sitting import REPLIES, spoken
from tests.reports.conftest import ARGUMENTS, CHROMIUM
from tests.reports.test_page_for_everybody import grave_faults
from tests.scripted_sitting import Clicks
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]

Open = Callable[..., Any]
VIEWS = ((390, "dark"), (1_280, "light"))
MORE_VIEWS = ((390, "light"), (1_280, "dark"))
OFFERED = "--use-fake-ui-for-media-stream"


@pytest.fixture(scope="module")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence with room noise around it, which a browser repeats as its microphone."""
    path = tmp_path_factory.mktemp("microphone") / "said.wav"
    quiet = np.zeros(RATE_HZ // 2, np.int16)
    said = np.concatenate([quiet, spoken(REPLIES[0]), quiet]).astype(np.float64)
    said += np.random.default_rng(0).normal(0, 6, len(said))
    soundfile.write(path, np.clip(said, -32_768, 32_767).astype(np.int16), RATE_HZ)
    return path


@pytest.fixture(scope="module")
def browser(dejavu: dict[str, str], microphone: Path) -> Iterator[Any]:
    """Chromium that hears the file."""
    import asyncio

    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[*ARGUMENTS, f"--use-file-for-fake-audio-capture={microphone}"],
            env={**os.environ, **dejavu},
        )
        yield started
        started.close()
    asyncio.set_event_loop(None)


@pytest.fixture
def refusing(browser: Any) -> Iterator[Callable[..., Any]]:
    """A page of a browser started with other arguments, which knows every `*.test` as this machine."""
    running: list[Any] = []

    def opened(*arguments: str, **options: Any) -> Any:
        args = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP *.test 127.0.0.1", *arguments]
        running.append(browser.browser_type.launch(executable_path=CHROMIUM, args=args))
        return running[-1].new_context(**options).new_page()

    yield opened
    for one in running:
        one.close()


@pytest.fixture
def caller(serve_seat: ServeSeat) -> ServedSeat:
    """A caller's seat of one turn."""
    return serve_seat(one_turn)


@pytest.fixture
def supporter(serve_seat: ServeSeat, played: Callable[..., Any], tmp_path: Path) -> ServedSeat:
    """A supporter's seat of one conversation."""
    store, _ = played(contexts=1)
    return serve_seat(lambda records: SupporterSeat(records, Conversations(store)), folder=tmp_path / "seat")


@pytest.fixture(params=[VIEWS, pytest.param(MORE_VIEWS, marks=pytest.mark.long)], ids=["two views", "the other two"])
def for_everybody(request: pytest.FixtureRequest) -> Callable[[Any], None]:
    """Checks a page as it is now, on a telephone's width and a desk's."""

    def checked(page: Any) -> None:
        for width, scheme in request.param:
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert not grave_faults(page)
            if shots := os.environ.get("HARNESS_SHOTS"):
                name = re.sub(r"\W+", "-", str(page.evaluate("[...document.querySelectorAll('h1')].at(-1).textContent")))
                page.screenshot(path=f"{shots}/{name}-{width}-{scheme}.png", full_page=True)

    return checked


def one_turn(records: SeatStore) -> CallerSeat:
    return CallerSeat(records, "heart-mini", turns=1)


def record_turn(one: Clicks) -> None:
    """Record the microphone for some seconds."""
    one.press("Record")
    one.wait_for_heading("You are recorded")
    one.page.get_by_text("Recording: tell it now.").wait_for()
    time.sleep(2.5)
    one.press("I have finished (space bar)")
    one.wait_for_heading("Is it as you said|There is no turn")


def takes(served: ServedSeat, state: str) -> int:
    return sum(take.state == state for take in served.records.takes() if take.kind != "calibration")


def test_every_step_of_a_caller_is_for_everybody(
    caller: ServedSeat, open_page: Open, for_everybody: Callable[[Any], None]
) -> None:
    one = Clicks(open_page(caller.address))
    for_everybody(one.page)
    one.begin(caller.address)
    assert one.page.evaluate("document.activeElement.tagName") == "H1"
    lines = one.page.locator(".prompt").inner_text()
    one.page.locator("summary").click()
    for_everybody(one.page)
    one.page.locator("#stage input[name=topic]").first.check()
    one.page.locator("summary").click()
    one.press("Record")
    one.page.get_by_text("Recording: tell it now.").wait_for()
    assert one.page.evaluate("document.activeElement.textContent").startswith("I have finished")
    assert one.page.get_by_text(lines).is_hidden()
    for_everybody(one.page)
    one.page.keyboard.press("Space")
    one.wait_for_heading("Is it as you said|There is no turn")
    one.page.locator("audio[src]").wait_for()
    for_everybody(one.page)
    one.press("Discard and record again")
    one.wait_for_heading("1 of 1")
    assert takes(caller, "discarded") == 1
    record_turn(one)
    one.press("Keep it")
    one.wait_for_heading("Thank you")
    assert takes(caller, "kept") == 1
    for_everybody(one.page)
    one.press("Remove everything")
    one.press("Press again to remove all your recordings for good")
    one.wait_for_heading("Everything is removed")
    for_everybody(one.page)
    assert caller.records.people() == []
    assert not list((caller.records.folder / "takes").iterdir())


def test_every_step_of_a_supporter_is_for_everybody(
    supporter: ServedSeat, open_page: Open, for_everybody: Callable[[Any], None]
) -> None:
    one = Clicks(open_page(supporter.address))
    for_everybody(one.page)
    one.begin(supporter.address)
    one.wait_for_heading("Hold your headphones")
    one.press("Measure")
    one.page.get_by_text(re.compile("did not hear the chirps|Pieces of sound were lost")).wait_for()
    for_everybody(one.page)
    one.press("Go on without measuring")
    one.wait_for_heading("Conversation 1 of")
    for_everybody(one.page)
    one.press("Hear the person")
    one.page.get_by_text("Listen, and answer aloud").wait_for()
    for_everybody(one.page)
    time.sleep(2)
    one.press("I have finished")
    one.wait_for_heading("Your answer")
    for_everybody(one.page)
    one.keep_answer()
    one.wait_for_heading("Thank you")
    assert takes(supporter, "kept") == 1


STUDY = Study.model_validate(
    {
        "name": "Voces <b>amables</b>",
        "who": "Universidad de Prueba",
        "contact": "ana@example.org",
        "ethics": "CEI 2026-14",
        "language": "es",
        "consent": "Guardamos tu voz.\n\nPuedes <i>parar</i>.",
        "demographics": [{"label": "Edad", "kind": "number"}, {"label": "Oficio"}],
        "completion_code": "GRACIAS-7",
        "return_link": "https://example.org/fin?cc={code}",
        "helplines": ["Teléfono de prueba: 000"],
    }
)
ENGLISH = {part for part in texts("en").entries.values() if isinstance(part, str) and len(part) > 6 and "{" not in part}


@pytest.mark.parametrize("seat", ["caller", "supporter"])
def test_a_study_asks_in_its_language_from_the_first_page_to_the_code(
    seat: str,
    serve_seat: ServeSeat,
    open_page: Open,
    for_everybody: Callable[[Any], None],
    played: Callable[..., Any],
    tmp_path: Path,
) -> None:
    store, _ = played(contexts=1) if seat == "supporter" else (None, None)
    served = serve_seat(
        lambda records: (
            CallerSeat(records, "heart-mini", 1, STUDY)
            if store is None
            else SupporterSeat(records, Conversations(store), STUDY)
        ),
        folder=tmp_path / "seat",
    )
    one = Clicks(open_page(served.address))

    def in_spanish() -> str:
        for_everybody(one.page)
        shown = one.page.locator("body").inner_text()
        labels = one.page.evaluate(
            "[...document.querySelectorAll('[aria-label]')].map((node) => node.getAttribute('aria-label'))"
        )
        assert [part for part in ENGLISH if part in shown or part in labels] == []
        return str(shown)

    first = in_spanish()
    said = ["Voces <b>amables</b>", "Universidad de Prueba", "ana@example.org", "CEI 2026-14", "Puedes <i>parar</i>."]
    assert [part for part in said if part not in first] == []
    assert ("Teléfono de prueba: 000" in first) == (seat == "supporter")
    assert one.page.evaluate("document.documentElement.lang") == "es"
    one.page.check("#adult")
    one.page.check("#consent")
    one.press("Empezar")
    one.wait_for_heading("Unas preguntas sobre ti")
    one.page.get_by_label("Edad").fill("41")
    in_spanish()
    one.press("Siguiente")
    if seat == "supporter":
        one.wait_for_heading("Acerca tus auriculares")
        in_spanish()
        one.press("Seguir sin medir")
        one.wait_for_heading("Conversación 1 de")
        one.press("Escuchar a la persona")
        one.page.get_by_text("Escucha, y responde en voz alta").wait_for()
        time.sleep(2)
        one.press("He terminado")
        one.wait_for_heading("Tu respuesta")
        in_spanish()
        one.page.check("#stage input[type=checkbox]")
    else:
        one.wait_for_heading("1 de 1")
        one.page.locator("summary").click()
        assert not set(one.page.locator("#stage label span").all_inner_texts()) & set(texts("en").several("caller.topics"))
        one.page.locator("summary").click()
        one.press("Grabar")
        one.page.get_by_text("Grabando: cuéntalo ahora.").wait_for()
        in_spanish()
        time.sleep(2.5)
        one.press("He terminado (barra espaciadora)")
        one.wait_for_heading("¿Está como lo dijiste?|no hay nada dicho")
        in_spanish()
    one.press("Guardarla")
    one.wait_for_heading("Gracias")
    last = in_spanish()
    assert "GRACIAS-7" in last
    assert ("Teléfono de prueba: 000" in last) == (seat == "supporter")
    assert one.page.get_by_role("link").get_attribute("href") == "https://example.org/fin?cc=GRACIAS-7"
    (person,) = served.records.people()
    assert served.records.participants.agreed(person.id, STUDY)
    assert served.records.participants.every() == {person.id: {"Edad": 41}}
    one.press("Borrarlo todo")
    one.press("Pulsa otra vez para borrar para siempre todas tus grabaciones")
    one.wait_for_heading("Todo está borrado")
    assert served.records.participants.every() == {}


def test_a_sitting_needs_no_mouse(caller: ServedSeat, open_page: Open) -> None:
    page = open_page(caller.address)

    def reach(name: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if name in page.evaluate("(document.activeElement.labels?.[0] ?? document.activeElement).textContent"):
                return
        raise AssertionError(f"{name} is out of reach")

    for name in ("at least 18", "I have read this", "Begin"):
        reach(name)
        page.keyboard.press("Space" if name != "Begin" else "Enter")
    page.get_by_role("heading", name="1 of 1").wait_for()
    reach("Record")
    page.keyboard.press("Enter")
    page.get_by_text("Recording: tell it now.").wait_for()
    page.locator("h1").last.click()
    page.keyboard.press("Space")
    page.get_by_role("heading", name=re.compile("Is it as you said|There is no turn")).wait_for()


def test_of_two_tabs_the_older_says_so_and_records_nothing(caller: ServedSeat, open_page: Open) -> None:
    old = Clicks(open_page(caller.address))
    old.begin(caller.address)
    old.press("Record")
    old.page.get_by_text("Recording: tell it now.").wait_for()
    time.sleep(1.5)
    new = Clicks(old.page.context.new_page())
    new.begin(caller.address)
    old.wait_for_heading("This goes on in another tab")
    new.wait_for_heading("A recording was interrupted")
    assert not grave_faults(old.page)
    assert not grave_faults(new.page)
    (take,) = caller.records.takes()
    sent = caller.records.stored_parts(take)
    assert sent
    time.sleep(1.5)
    assert caller.records.stored_parts(take) == sent
    assert old.heading() == "This goes on in another tab"
    assert old.page.locator("#stage button").count() == 0
    assert old.page.locator("#problem").is_hidden()
    new.press("Discard it")
    new.wait_for_heading("1 of 1")
    assert takes(caller, "open") == 0


def stored_s(seat: ServedSeat, person: str) -> float:
    """How much of a person's recordings has arrived, on a busy machine later than it was said."""
    takes = [take for take in seat.records.takes(person) if take.kind != "calibration"]
    return sum(part.samples / take.rate_hz for take in takes for part in seat.records.stored_parts(take).values())


def test_a_page_closed_while_it_records_comes_back_with_what_there_is(caller: ServedSeat, open_page: Open) -> None:
    one = Clicks(open_page(caller.address))
    one.begin(caller.address)
    one.press("Record")
    one.page.get_by_text("Recording: tell it now.").wait_for()
    (person,) = caller.records.people()
    limit_s = time.monotonic() + 60
    while stored_s(caller, person.id) < 2:
        assert time.monotonic() < limit_s, "its sound does not arrive"
        time.sleep(0.1)
    context = one.page.context
    one.page.close(run_before_unload=False)
    one.page = context.new_page()
    one.begin(caller.address)
    one.wait_for_heading("A recording was interrupted")
    found = re.search(r"([\d.]+) seconds into", one.page.locator("#stage").inner_text())
    assert found is not None
    assert float(found[1]) > 1.5
    one.press("Look at it")
    one.wait_for_heading("Is it as you said|There is no turn")


def test_whoever_withdraws_while_recording_leaves_nothing(caller: ServedSeat, open_page: Open) -> None:
    page = open_page(caller.address)
    one = Clicks(page)
    one.begin(caller.address)
    one.press("Record")
    page.get_by_text("Recording: tell it now.").wait_for()
    time.sleep(1)
    one.press("Remove everything")
    assert len(caller.records.people()) == 1
    one.press("Press again to remove all your recordings for good")
    one.wait_for_heading("Everything is removed")
    time.sleep(1)
    assert one.heading() == "Everything is removed"
    assert page.locator("#problem").is_hidden()
    assert caller.records.takes() == []
    assert not list((caller.records.folder / "takes").iterdir())
    open_page.problems.clear()  # type: ignore[attr-defined]  # Parts on their way were refused.


def test_a_full_disk_is_said_and_the_page_asks_no_more(small_disk: SmallDisk, serve_seat: ServeSeat, open_page: Open) -> None:
    served = serve_seat(one_turn, folder=small_disk.folder / "people")
    page = open_page(served.address)
    one = Clicks(page)
    one.begin(served.address)
    one.press("Record")
    page.get_by_text("Recording: tell it now.").wait_for()
    time.sleep(1.5)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    small_disk.fill()
    page.get_by_text("The server's disk has no room").wait_for()
    one.wait_for_heading("That did not work")
    assert page.locator("#problem").inner_text() == texts()("invited.disk_full")
    after = len(asked)
    time.sleep(2)
    assert len(asked) == after
    small_disk.make_room()
    one.press("Go on")
    one.wait_for_heading("A recording was interrupted")
    assert re.search("[1-9] seconds", page.locator("#stage").inner_text())
    open_page.problems.clear()  # type: ignore[attr-defined]  # The browser says that a part was not taken.


def test_a_server_that_dies_while_somebody_speaks_loses_nothing(
    caller: ServedSeat, serve_seat: ServeSeat, open_page: Open
) -> None:
    one = Clicks(open_page(caller.address))
    one.begin(caller.address)
    one.press("Record")
    one.page.get_by_text("Recording: tell it now.").wait_for()
    time.sleep(1)
    caller.stop()
    one.page.get_by_role("alert").filter(has_text="The connection is lost").wait_for()
    time.sleep(1)
    one.press("I have finished (space bar)")
    again = serve_seat(one_turn, port=int(caller.address.rpartition(":")[2]))
    one.wait_for_heading("Is it as you said|There is no turn")
    (take,) = [take for take in again.records.takes() if take.state == "ended"]
    assert take.found["lasts_s"] > 2.5
    assert again.records.stored_parts(take).keys() == set(range(take.ended["parts"]))
    assert one.page.locator("#problem").is_hidden()
    open_page.problems.clear()  # type: ignore[attr-defined]  # The lost requests.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--use-fake-device-for-media-stream", "--deny-permission-prompts"), "not allowed to use the microphone"),
        ((OFFERED, "--disable-audio-input"), "No microphone was found"),
    ],
)  # fmt: skip
def test_why_there_is_no_microphone_is_said(caller: ServedSeat, refusing: Open, arguments: tuple[str, ...], says: str) -> None:
    page = refusing(*arguments)
    page.goto(caller.address)
    page.check("#adult")
    page.check("#consent")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("alert").filter(has_text=says).wait_for()
    assert page.get_by_role("button", name="Begin").is_enabled()
    assert caller.records.people() == []


def test_a_page_without_encryption_says_so_before_anybody_agrees(serve_seat: ServeSeat, refusing: Open) -> None:
    page = refusing(OFFERED)
    page.goto(serve_seat(one_turn, name="seat.test").address)
    page.get_by_role("alert").filter(has_text="without encryption").wait_for()
    page.check("#adult")
    page.check("#consent")
    assert page.get_by_role("button", name="Begin").is_disabled()


@pytest.mark.parametrize("seat", ["caller", "supporter"])
def test_a_phone_is_refused_with_the_reason_before_anybody_agrees(
    request: pytest.FixtureRequest, open_page: Open, seat: str
) -> None:
    served = request.getfixturevalue(seat)
    page = open_page(served.address, width=390, height=844, is_mobile=True, has_touch=True)
    page.get_by_role("alert").filter(has_text="open this link on a computer").wait_for()
    page.check("#adult")
    page.check("#consent")
    assert page.get_by_role("button", name="Begin").is_disabled()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not grave_faults(page)
