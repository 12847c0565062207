"""The caller's seat by ear: twelve turns said into a virtual microphone become a pack that is played."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from harness.audio.pcm import resample_float, to_float, to_int16
from harness.people.caller.seat import CallerSeat
from harness.people.caller.take_in import write_packs
from harness.people.track import RATE_HZ, track_of
from harness.store.run_store import RunStore
from tests.harness.conftest import harness, peer
from tests.harness.people.conftest import ServeSeat
from tests.harness.people.spoken import turns
from tests.scripted_sitting import ScriptedSitting, at_48_khz
from tests.scripted_truth import Said, errors_of
from tests.sound_loop import automatic_person, browser_on, skip_without_it, sound_loop

TRIES = 3
"""So often is a turn said again of which the loop lost a piece."""


@pytest.mark.long  # twelve recordings in real time, and twelve calls
def test_twelve_recordings_give_a_pack_whose_ends_and_pauses_are_true(serve_seat: ServeSeat, tmp_path: Path) -> None:
    skip_without_it()
    served = serve_seat(lambda records: CallerSeat(records, "heart-mini", 12), rehearsal=True)
    said = [_said(k) for k in range(12)]
    with (
        sound_loop(tmp_path) as loop,
        automatic_person(loop) as person,
        sync_playwright() as playwright,
        browser_on(loop, playwright) as browser,
    ):
        sitting = ScriptedSitting(browser.new_page(), person)
        sitting.begin(served.address)
        for k, turn in enumerate(said):
            voice = at_48_khz(turn.samples, tmp_path / f"{k}.wav")
            for _ in range(TRIES):
                sitting.tell(voice)
                last = [take for take in served.records.takes() if take.state == "ended"][-1]
                if not last.found["disturbed"]:
                    break
                sitting.press("Discard and record again")
                sitting.wait_for_heading(r"^\d+ of|One moment")
            sitting.keep_turn()
    kept = [take for take in served.records.takes() if take.state == "kept"]
    tracks = [track_of(served.records.parts(take)).samples for take in kept]
    found = [
        errors_of(track, turn, take.decided["start_s"], take.decided["end_s"], take.decided["pauses"])
        for take, turn, track in zip(kept, said, tracks, strict=True)
    ]
    ends = [abs(each.end_ms) for each in found]
    edges = [abs(edge) for each in found for edge in each.edges_ms]
    missed, extra = sum(each.missed for each in found), sum(each.extra for each in found)
    print(
        f"ends {max(ends):.1f} ms at most; {len(edges) // 2} pauses {max(edges):.1f} ms at most; {missed} missed, {extra} extra"
    )
    assert max(ends) <= 30
    assert np.percentile(edges, 95) <= 20
    assert missed <= 2
    assert extra <= 2
    write_packs(served.records, tmp_path / "people")
    run = tmp_path / "run"
    played = harness(
        tmp_path,
        "run",
        "--agent",
        peer("raw-pcm-answers"),
        "--pack",
        tmp_path / "people" / "rehearsal",
        "--out",
        run,
        virtual=True,
    )
    assert played.code == 0, played.err
    assert [session.status for session in RunStore.open(run).sessions()] == ["finished"] * 12


def _said(k: int) -> Said:
    turn = turns()[k]
    scale = RATE_HZ / turn.rate_hz
    sound = to_int16(resample_float(to_float(turn.samples), turn.rate_hz, RATE_HZ))
    return Said(sound, tuple((round(a * scale), round(b * scale)) for a, b in turn.pauses))
