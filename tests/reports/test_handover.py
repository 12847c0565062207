"""Two agents' handovers in a loop, in a browser that plays the real sound of a run: one key switches and loses no position."""

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from harness.reports.write import write_joint_report
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]
Played = Callable[..., Any]

STATE = """() => { /* The caller's turn ends at 2.9 s in every session of `conftest.recording`. */
  const sounds = [...document.querySelectorAll(".handover audio")];
  const place = (sound) => sound.currentTime * 1000 - 2900;
  return {
    heard: sounds.map((sound, k) => (sound.paused || sound.muted ? null : k)).filter((k) => k !== null),
    at: sounds.map(place), running: sounds.map((sound) => !sound.paused),
    decoded: sounds.map((sound) => sound.webkitAudioDecodedByteCount),
  };
}"""
WATCH = """() => {
  const sounds = [...document.querySelectorAll(".handover audio")];
  window.places = [];
  const frame = () => {
    const k = sounds.findIndex((sound) => !sound.muted);
    const sound = sounds[k];
    if (sound && !sound.paused && !sound.seeking) window.places.push([performance.now(), k, sound.currentTime * 1000 - 2900]);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def state(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(STATE)
    return found


def until(holds: Callable[[], Any], limit_s: float = 20.0) -> None:
    end_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(0.05)


def last_heard(page: Any, heard: int) -> bool:
    """True once a frame has noted that this sound is heard."""
    return bool(page.evaluate("window.places.at(-1)?.[1]") == heard)


def together(page: Any) -> bool:
    """True once both sounds run at one place, and one of them is heard."""
    found = state(page)
    close = abs(found["at"][0] - found["at"][1]) < 15 and found["at"][0] < 1_500
    return all(found["running"]) and close and len(found["heard"]) == 1


@pytest.fixture(params=[False, True], ids=["separate", "bundled"])
def compared(request: pytest.FixtureRequest, played: Played, open_page: Open, tmp_path: Path) -> Any:
    """The turns of `quick` (400 ms) and `slow` (1.2 s) side by side, from disk."""
    store, summary = played(contexts=2)
    written = write_joint_report([(store, summary)], tmp_path / "run", bundle=request.param)
    page = open_page(f"{written.page.as_uri()}#context=talk-0&agent=quick&with=slow")
    page.locator(".handover").wait_for()
    return page


def test_one_key_plays_both_in_a_loop_and_switches_without_losing_the_position(compared: Any) -> None:
    compared.keyboard.press("x")
    until(lambda: together(compared))
    assert state(compared)["heard"] == [0]
    until(lambda: all(size > 0 for size in state(compared)["decoded"]))  # real sound, of both
    assert compared.locator(".handover [role=status]").inner_text() == "Now quick."
    compared.evaluate(WATCH)
    until(lambda: compared.evaluate("window.places.length"))
    for heard, name in ((1, "slow"), (0, "quick"), (1, "slow")):
        until(lambda: together(compared))
        compared.keyboard.press("x")
        assert state(compared)["heard"] == [heard]
        assert compared.locator(".handover [role=status]").inner_text() == f"Now {name}."
        assert compared.locator(".handover [aria-pressed=true]").inner_text() == f"Hear {name}"
        # On a busy machine a switch can be over before the page draws a frame, in which alone the places are noted.
        until(partial(last_heard, compared, heard))
    places = compared.evaluate("window.places")
    switches = [(one, two) for one, two in pairwise(places) if one[1] != two[1]]
    assert len(switches) == 3
    # Between two frames the sound goes on as long as the clock does: the rest is the jump of the switch.
    jumps = [abs((two[2] - one[2]) - (two[0] - one[0])) for one, two in switches]
    assert max(jumps) < 60, jumps


def test_it_loops_from_before_the_callers_end_until_after_the_later_onset(compared: Any) -> None:
    compared.evaluate(WATCH)
    compared.get_by_role("button", name="Hear slow").click()

    def ends() -> list[float]:
        places = [at for _, _, at in compared.evaluate("window.places")]
        return [one for one, two in pairwise(places) if two < one - 1_000]

    until(lambda: len(ends()) >= 5, 60)
    places = [at for _, _, at in compared.evaluate("window.places")]
    assert min(places) == pytest.approx(-1_500, abs=120)
    # 1.2 s is the later of the two onsets, and 1.5 s of the reply follow it. Of five rounds the median: the page turns back
    # at a frame, and a busy machine draws one late now and then.
    assert min(ends()) > 2_450
    assert median(ends()) == pytest.approx(2_700, abs=250)
    assert {k for _, k, _ in compared.evaluate("window.places")} == {1}


def test_escape_another_view_and_another_player_stop_it(compared: Any) -> None:
    def stopped() -> bool:
        found = state(compared)
        return not any(found["running"])

    def start() -> None:
        compared.keyboard.press("x")
        until(lambda: together(compared))

    start()
    compared.keyboard.press("Escape")
    until(stopped)
    assert compared.locator(".handover [role=status]").inner_text() == "Stopped."
    assert compared.locator(".handover [aria-pressed=true]").count() == 0
    start()
    compared.get_by_role("button", name="Play quick").click()
    until(stopped)
    assert compared.locator(".turn audio").evaluate_all("all => all.some((one) => !one.paused)")
    compared.get_by_role("button", name="Pause quick").click()
    start()
    compared.evaluate("window.both = [...document.querySelectorAll('.handover audio')]")
    compared.select_option("#filters [name=with]", "")
    until(lambda: compared.evaluate("window.both.every((one) => one.paused)"))
    assert compared.locator(".handover").count() == 0
    compared.evaluate("location.hash = '#context=talk-0&agent=quick&with=slow'")
    compared.locator(".handover").wait_for()
    start()
    compared.evaluate("location.hash = '#context=talk-1&agent=quick&with=slow'")
    until(stopped)
    compared.locator("#c-0 > summary").click()
    until(lambda: compared.locator("#c-0 .handover").count() == 0)


def test_a_key_in_a_field_starts_nothing(compared: Any) -> None:
    field = compared.locator("#filters [name=text]")
    field.focus()
    compared.keyboard.press("x")
    assert field.input_value() == "x"
    assert not any(state(compared)["running"])


def test_the_keyboard_reaches_it_and_axe_finds_nothing_serious(compared: Any) -> None:
    compared.get_by_role("button", name="Hear quick").focus()
    compared.keyboard.press("Enter")
    until(lambda: together(compared))
    assert not grave_faults(compared)
    compared.keyboard.press("Tab")
    compared.keyboard.press("Tab")
    assert compared.evaluate("document.activeElement.textContent") == "Stop"
    compared.keyboard.press("Enter")
    until(lambda: not any(state(compared)["running"]))
    assert compared.evaluate("document.activeElement.textContent") == "Hear quick", "no focus is lost with the button"


def test_without_sound_of_both_there_is_no_loop(played: Played, open_page: Open, tmp_path: Path) -> None:
    store, summary = played(contexts=1)
    written = write_joint_report([(store, summary)], tmp_path / "run")
    silent = next(session for session in store.sessions() if session.key.agent == "slow")
    (written.page.parent / "report-audio" / f"{silent.id}.flac").unlink()
    page = open_page(f"{written.page.as_uri()}#context=talk-0&agent=quick&with=slow")
    page.locator(".handover").wait_for()
    page.keyboard.press("x")
    page.locator(".handover [role=status]", has_text="An audio file is not beside the page.").wait_for()
    assert not any(state(page)["running"])
    open_page.problems.clear()  # type: ignore[attr-defined]
