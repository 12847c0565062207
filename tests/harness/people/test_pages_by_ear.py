"""A whole sitting in each seat over a loop of real sound: what somebody said is what the pack and the run then have.

The automatic person hears the browser's own sound and speaks after a known wait; the page's clicks are scripted.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.people.caller.seat import CallerSeat
from harness.people.caller.take_in import write_packs
from harness.people.records import SeatStore, Take
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.seat import SupporterSeat
from harness.people.supporter.take_in import take_in
from harness.people.track import RATE_HZ
from harness.progress import RunProgress
from harness.recording.from_seat import CallerSound
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from tests.automatic_person import HEARD, ROOM_DB
from tests.harness.people.conftest import ServeSeat
from tests.harness.people.sitting import spoken
from tests.present import present
from tests.scripted_sitting import ScriptedSitting, at_48_khz
from tests.sound_loop import (
    AutomaticPerson,
    SoundLoop,
    automatic_person,
    browser_on,
    processes,
    skip_without_it,
    sound_loop,
    stop_for,
)

REPLY = "That sounds lonely. Have you talked with her since?"
WAIT_MS = 700.0
MOST_ERROR_MS = 60.0
"""A wrong clock, latency or end of the caller is further off; the exact error is measured in `test_seat_by_ear`."""


@dataclass(frozen=True)
class Loop:
    """A browser at a loop of sound, with somebody in front of it. `voice`: a sentence in a file."""

    sound: SoundLoop
    person: AutomaticPerson
    browser: Any
    voice: Path


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    skip_without_it()
    import asyncio

    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("loop")
    voice = at_48_khz(spoken(REPLY), folder / "reply.wav")
    with (
        sound_loop(folder) as sound,
        automatic_person(sound) as person,
        sync_playwright() as playwright,
        browser_on(sound, playwright) as browser,
    ):
        yield Loop(sound, person, browser, voice)
    asyncio.set_event_loop(None)


@pytest.fixture
def sitting(loop: Loop) -> Iterator[ScriptedSitting]:
    """A browser of a person's own."""
    context = loop.browser.new_context()
    yield ScriptedSitting(context.new_page(), loop.person)
    context.close()
    loop.person.do("leak", db=None)
    loop.person.do("noise", db=ROOM_DB)
    for fault in ("music", "clip"):
        loop.person.do(fault, on=False)


Seated = Callable[[ScriptedSitting], tuple[RunStore, SeatStore]]


@pytest.fixture
def supporter(serve_seat: ServeSeat, played: Callable[..., Any], tmp_path: Path) -> Seated:
    """Sits down in the supporter's seat of a run and measures."""

    def seated(one: ScriptedSitting) -> tuple[RunStore, SeatStore]:
        store, _ = played(contexts=3)
        served = serve_seat(lambda records: SupporterSeat(records, Conversations(store)), folder=tmp_path / "seat")
        one.begin(served.address)
        one.measure()
        one.wait_for_heading("Conversation 1 of")
        return store, served.records

    return seated


@pytest.fixture
def caller(serve_seat: ServeSeat) -> Callable[[ScriptedSitting], SeatStore]:
    """Sits down in a caller's seat of one turn."""

    def seated(one: ScriptedSitting) -> SeatStore:
        served = serve_seat(lambda records: CallerSeat(records, "heart-mini", turns=1))
        one.begin(served.address)
        one.wait_for_heading("1 of 1")
        return served.records

    return seated


def heard_samples(caller: CallerSound) -> int:
    """The length of a caller from the first sample that the automatic person hears."""
    return len(caller.samples) - int(np.flatnonzero(np.abs(caller.samples.astype(np.int32)) >= HEARD)[0])


def last_reply(records: SeatStore) -> Take:
    return [take for take in records.takes() if take.kind == "reply"][-1]


def answer(one: ScriptedSitting, loop: Loop, store: RunStore, records: SeatStore) -> dict[str, Any]:
    """Answer the conversation that is due; the automatic person's report."""
    due = records.dealt(records.people()[-1])[-1]
    return one.answer(loop.voice, WAIT_MS, heard_samples(Conversations(store).caller(due)))


def test_an_answer_is_in_the_run_with_its_wait(loop: Loop, sitting: ScriptedSitting, supporter: Seated) -> None:
    store, records = supporter(sitting)
    report = answer(sitting, loop, store, records)
    while last_reply(records).found["disturbed"]:  # On a busy machine sound is lost, and with it the latency.
        sitting.press("Discard it")
        sitting.wait_for_heading("Hold your headphones")
        sitting.measure()
        sitting.wait_for_heading("Conversation")
        report = answer(sitting, loop, store, records)
    sitting.keep_answer()
    take_in(store, records, Conversations(store), RunProgress(quiet=True))
    (session,) = [session for session in store.sessions() if session.key.agent == "rehearsal"]
    waited_ms = 1_000 * report["waited"] / RATE_HZ
    assert present(present(session.timing).ttfa_ms) == pytest.approx(waited_ms, abs=MOST_ERROR_MS)
    assert "lonely" in present(session.heard_text).lower()


def test_what_a_caller_told_is_a_pack(
    loop: Loop, sitting: ScriptedSitting, caller: Callable[[ScriptedSitting], SeatStore], tmp_path: Path
) -> None:
    records = caller(sitting)
    sitting.tell(loop.voice)
    sitting.keep_turn()
    assert sitting.heading() == "Thank you"
    write_packs(records, tmp_path / "out")
    assert not (tmp_path / "out" / "pack").exists()
    (context,) = load_pack(tmp_path / "out" / "rehearsal").contexts
    assert "lonely" in context.spoken.text.lower()


@pytest.mark.long
@pytest.mark.parametrize(
    ("what", "more", "says"),
    [
        ("noise", {"db": -30}, "too loud|room is loud"),
        ("music", {"on": True}, "[Mm]usic or a steady tone"),
        ("clip", {"on": True}, "too loud for the microphone"),
    ],
    ids=["noise", "music", "clipped"],
)  # fmt: skip
def test_a_spoiled_turn_is_said_with_its_remedy_and_can_be_discarded(
    loop: Loop,
    sitting: ScriptedSitting,
    caller: Callable[[ScriptedSitting], SeatStore],
    what: str,
    more: dict[str, Any],
    says: str,
) -> None:
    records = caller(sitting)
    loop.person.do(what, **more)
    sitting.tell(loop.voice)
    note = sitting.page.locator("#stage .note", has_text=re.compile(says))
    note.wait_for()
    assert "Please" in note.inner_text()
    sitting.press("Discard and record again")
    sitting.wait_for_heading("1 of 1|One moment")
    assert [take.state for take in records.takes()] == ["discarded"]


@pytest.mark.long
def test_without_headphones_the_echo_is_said(loop: Loop, sitting: ScriptedSitting, supporter: Seated) -> None:
    store, records = supporter(sitting)
    loop.person.do("leak", db=-20)
    answer(sitting, loop, store, records)
    note = sitting.page.locator("#stage .note")
    assert "The caller can be heard in your microphone" in note.inner_text()
    assert "Please wear headphones" in note.inner_text()
    assert "Better discard it" in note.inner_text()
    assert "record again" not in note.inner_text()


@pytest.mark.long
def test_a_person_who_never_answers_is_asked_whether_that_is_meant(
    loop: Loop, sitting: ScriptedSitting, supporter: Seated
) -> None:
    _, records = supporter(sitting)
    loop.person.do("never")
    sitting.press("Hear the person")
    sitting.wait_for_heading("Your answer")
    assert "If silence is your answer, keep it" in sitting.page.locator("#stage .note").inner_text()
    assert last_reply(records).ended["reason"] == "never"
    sitting.keep_answer()


@pytest.mark.long
def test_a_computer_that_slept_says_so_and_begins_anew(
    loop: Loop, sitting: ScriptedSitting, caller: Callable[[ScriptedSitting], SeatStore]
) -> None:
    records = caller(sitting)
    sitting.press("Record")
    sitting.page.get_by_text("Recording: tell it now.").wait_for()
    loop.person.do("say", sound=str(loop.voice))
    stop_for(4.0, *processes("chromium"))
    sitting.wait_for_heading("Is it as you said|There is no turn")
    assert "went to sleep" in sitting.page.locator("#stage .note").first.inner_text()
    sitting.press("Discard and record again")
    sitting.wait_for_heading("One moment")
    sitting.press("Go on")
    sitting.wait_for_heading("1 of 1")
    assert [take.state for take in records.takes()] == ["discarded"]


@pytest.mark.long
def test_a_microphone_that_is_pulled_out_is_said_at_once(
    loop: Loop, sitting: ScriptedSitting, caller: Callable[[ScriptedSitting], SeatStore]
) -> None:
    """Last: its loop has no microphone afterwards."""
    caller(sitting)
    loop.sound.control("unload-module", "module-remap-source")
    said = re.compile("microphone is gone|gives no sound")
    sitting.page.get_by_role("alert").filter(has_text=said).wait_for()
