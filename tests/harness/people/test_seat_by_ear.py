"""The seat over a loop of real sound: Chromium plays into virtual ears, an automatic person hears it and speaks.

What is measured is the page's own error, so nothing of it is replaced: the browser's audio service, PulseAudio and the upload
are real, and faults are caused from outside.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.people.loop_back import loop_back, places
from harness.people.track import RATE_HZ
from tests.harness.people.sitting import REPLIES, Sitting, answered, sitting, sixty, spoken, until
from tests.sound_loop import processes, skip_without_it, stop_for

MOST_P95_MS = 20.0
MOST_BIAS_MS = 5.0


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    skip_without_it()
    import asyncio

    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started
    asyncio.set_event_loop(None)


@pytest.fixture(scope="module")
def here(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sitting]:
    with sitting(tmp_path_factory.mktemp("loop"), playwright) as found:
        yield found


def test_a_wait_and_a_cut_in_are_measured_as_they_were(here: Sitting) -> None:
    latency, turns = answered(here, [350.0, -250.0])
    whole = [turn for turn in turns if turn.whole]
    assert len(whole) == 2
    assert latency.error_p95_ms < MOST_P95_MS
    assert max(abs(turn.error_ms) for turn in whole) < MOST_P95_MS


@pytest.mark.long
def test_sixty_waits_of_six_sittings(playwright: Any, tmp_path: Path) -> None:
    errors = [turn.error_ms for _, turns in sixty(tmp_path, playwright) for turn in turns if turn.whole]
    assert len(errors) == 60
    assert np.percentile(np.abs(errors), 95) <= MOST_P95_MS
    assert abs(np.mean(errors)) <= MOST_BIAS_MS


def _fresh(here: Sitting) -> Any:
    page = here.page.context.new_page()
    page.goto(here.seat.address)
    until(page, "window.open_")
    return page


def _stop(word: str) -> Callable[[Sitting], None]:
    return lambda _: stop_for(0.3, *processes(word))


def _suspend(here: Sitting) -> None:
    here.loop.control("suspend-source", "microphone", "1")
    time.sleep(0.3)
    here.loop.control("suspend-source", "microphone", "0")


@pytest.mark.parametrize(
    "fault",
    [_stop("--type=renderer"), _stop("audio.mojom.AudioService"), _stop("pulseaudio"), _suspend],
    ids=["the page", "the browser's audio", "the sound daemon", "the microphone"],
)
def test_sound_that_was_lost_is_found_where_it_was(here: Sitting, fault: Callable[[Sitting], None]) -> None:
    here.start("reply", "still", 0.5)
    time.sleep(1.5)
    before = here.page.evaluate("engine.frame()")
    fault(here)
    after = here.page.evaluate("engine.frame()")
    track = here.finish().track()
    # A standstill is known to lie between two pairs of clocks, which are two parts apart at most.
    around = 2 * RATE_HZ
    assert [span for span in track.lost if span[0] < after + around and span[1] > before - around]


def test_a_microphone_that_does_not_hear_the_headphones_has_no_latency(here: Sitting) -> None:
    here.person.do("hold", on=False)
    take = here.take("calibration", "trial", 0.8)
    assert loop_back(take.track(), [take.played() + place for place in places()]) is None


def test_a_lost_server_is_asked_again_and_a_part_sent_twice_is_stored_once(here: Sitting) -> None:
    here.seat.lose_answers = 2
    here.start("reply", "still", 0.5)
    time.sleep(1.5)
    here.seat.away = True
    time.sleep(1.0)
    here.seat.away = False
    take = here.finish()
    assert take.end is not None
    assert sorted(take.parts) == list(range(take.end["parts"]))
    assert take.posted == len(take.parts) + 2
    firsts = [take.parts[n].first for n in sorted(take.parts)]
    assert firsts == sorted(set(firsts))
    assert "connection" in [what["what"] for what in take.end["happened"]]


def test_a_page_that_closes_leaves_what_was_recorded(here: Sitting) -> None:
    page = _fresh(here)
    assert page.evaluate("open_()") is None
    page.evaluate("void take('reply', '/sound/still', 0.5)")
    time.sleep(2.2)
    frame = page.evaluate("engine.frame()")
    page.close(run_before_unload=False)
    take = here.seat.takes[-1]
    deadline = time.monotonic() + 5
    while take.track().end < frame - RATE_HZ // 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert take.end is None
    assert take.track().end >= frame - RATE_HZ // 4


def test_clipped_speech_is_said_once(here: Sitting) -> None:
    here.page.evaluate("changes.length = 0")
    here.person.do("clip", on=True)
    here.start("reply", "still", 0.2)
    here.person.do("say", sound=str(here.file(spoken(REPLIES[0]), "clipped")))
    here.finish()
    here.person.do("clip", on=False)
    assert here.page.evaluate("changes.filter(([what]) => what === 'clipped').length") == 1


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        ("window.AudioWorkletNode = undefined", "This browser cannot record"),
        ("window.AudioContext = class { constructor() { throw new Error() } }", "does not record at 48 kHz"),
        ("navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotAllowedError') }", "not allowed"),
        ("AudioContext.prototype.createMediaStreamSource = () => { throw new Error() }", "Set the microphone to 48 kHz"),
    ],
    ids=["no worklet", "no rate", "not allowed", "another rate"],
)
def test_why_there_is_no_recording_is_said(here: Sitting, instead: str, says: str) -> None:
    """What no browser on this machine does by itself is taken away from it."""
    page = _fresh(here)
    page.evaluate(f"void ({instead})")
    assert says in page.evaluate("open_()")
    page.close()


def test_processing_that_is_still_on_is_found(here: Sitting) -> None:
    page = _fresh(here)
    still_on = "{ echoCancellation: 'all', noiseSuppression: true, autoGainControl: false }"
    page.evaluate(f"void (MediaStreamTrack.prototype.getSettings = () => ({still_on}))")
    page.evaluate("open_()")
    assert page.evaluate("engine.processing") == ["echo cancellation", "noise suppression"]
    page.close()


def test_an_unplugged_microphone_is_said_and_then_there_is_none(here: Sitting) -> None:
    here.page.evaluate("changes.length = 0")
    here.loop.control("unload-module", "module-remap-source")
    until(here.page, "changes.some(([what]) => ['silent', 'unplugged'].includes(what))")
    page = _fresh(here)
    assert "No microphone was found" in page.evaluate("open_()")
    page.close()
