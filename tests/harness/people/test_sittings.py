"""A sitting over a real socket: nothing that was sent is lost, and nothing counts that its speaker has not decided."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx2
import numpy as np
import pytest

from harness.people.loop_back import LoopBack
from harness.people.part_files import TAKES
from harness.people.records import Person, SeatName, SeatStore, Take
from harness.people.seat import CONSENT, Json
from harness.people.sittings import wav
from harness.people.track import RATE_HZ, Track
from harness.study.study import Study
from tests.harness.people.conftest import LATENCY, ServeSeat, Sitter

NOISE = np.random.default_rng(5).normal(0, 300, 3 * RATE_HZ).astype(np.int16)


class TwoItems:
    """A supporter's seat of two items, which finds the length of a recording in it."""

    name: Final[SeatName] = "supporter"
    page: Final = "supporter.html"
    loop_back_first: Final = True
    study: Final = Study()

    def __init__(self, records: SeatStore) -> None:
        self._records = records
        self.loops: list[LoopBack | None] = []

    def next_for(self, person: Person) -> Json:
        begun = {t.what for t in self._records.takes(person.id)}
        due = next((what for what in ("one", "two") if what not in begun), None)
        return {"kind": "done"} if due is None else {"kind": "conversation", "of": due}

    def sound(self, person: Person, what: str) -> bytes | None:
        return wav(NOISE) if self.next_for(person).get("of") == what else None

    def examined(self, _: Take, track: Track, loop: LoopBack | None) -> Json:
        self.loops.append(loop)
        return {"samples": len(track.samples), "lost": len(track.lost)}

    def keep(self, _: Take, asked: Mapping[str, Any]) -> Json:
        return {"no_help": asked.get("no_help")}


@pytest.fixture
def seats() -> list[TwoItems]:
    return []


@pytest.fixture
def sitter(serve_seat: ServeSeat, seats: list[TwoItems]) -> Sitter:
    def made(records: SeatStore) -> TwoItems:
        seats.append(TwoItems(records))
        return seats[-1]

    return serve_seat(made).sitter()


def test_the_latency_of_the_page_is_measured_first_and_goes_with_what_it_records(sitter: Sitter, seats: list[TwoItems]) -> None:
    assert sitter.begin()["kind"] == "loop_back"
    assert sitter.measure()["of"] == "one"
    take = sitter.open("reply", "one")
    assert sitter.end(take, sitter.send(take, NOISE, first=9_000_000))["samples"] == len(NOISE)
    (loop,) = seats[0].loops
    assert loop is not None
    assert abs(loop.latency_samples - LATENCY) < 2
    assert loop.error_p95_ms < 1


def test_without_a_trial_that_was_heard_a_sitting_goes_on_only_if_its_person_says_so(
    sitter: Sitter, seats: list[TwoItems]
) -> None:
    sitter.begin()
    assert sitter.measure(heard=False)["kind"] == "loop_back"
    assert sitter.post("/loop-back/without", {"tab": sitter.tab})["kind"] == "conversation"
    take = sitter.open("reply", "one")
    sitter.end(take, sitter.send(take, NOISE, first=0))
    assert seats[0].loops == [None]


def test_a_page_that_is_opened_anew_has_a_trial_of_its_own(sitter: Sitter) -> None:
    sitter.begin()
    assert sitter.measure()["kind"] == "conversation"
    assert sitter.begin(tab="page-000002")["kind"] == "loop_back"


def test_after_a_lost_piece_of_sound_the_latency_is_measured_again(sitter: Sitter, seats: list[TwoItems]) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    parts = sitter.send(take, NOISE, first=0)
    sitter.end(take, parts, happened=[{"what": "lost", "at": 5}])
    assert seats[0].loops == [None]
    assert sitter.post(f"/take/{take}/discard", {})["kind"] == "loop_back"
    assert sitter.measure()["of"] == "two"


def test_a_piece_lost_after_the_speaker_had_finished_moves_no_wait(sitter: Sitter, seats: list[TwoItems]) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    parts = sitter.send(take, NOISE, first=0)
    sitter.end(take, parts, pressed=2 * RATE_HZ, happened=[{"what": "devices", "at": 2 * RATE_HZ + 5}])
    assert seats[0].loops[0] is not None
    assert sitter.post(f"/take/{take}/keep", {"no_help": True})["kind"] == "loop_back"


def test_a_page_without_a_clock_has_no_known_latency(sitter: Sitter, seats: list[TwoItems]) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    sitter.end(take, sitter.send(take, NOISE, first=0), clock=[])
    assert seats[0].loops == [None]


def test_two_clocks_move_the_latency_and_the_doubt_about_it(sitter: Sitter, seats: list[TwoItems]) -> None:
    sitter.begin()
    sitter.measure(drift_ppm=200)
    later = 10 * 60 * RATE_HZ
    take = sitter.open("reply", "one")
    clock = [[later, 0.0], [later + RATE_HZ, 1_000.0]]
    parts = sitter.send(take, NOISE, first=later)
    sitter.end(take, parts, clock=clock, played=[{"name": "caller", "at": later, "frames": 5}])
    (loop,) = seats[0].loops
    assert loop is not None
    assert loop.latency_samples - LATENCY == pytest.approx(200e-6 * later, rel=0.15)
    assert loop.error_p95_ms > 20


def test_a_late_second_end_revives_nothing_that_was_discarded(sitter: Sitter) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    parts = sitter.send(take, NOISE, first=0)
    sitter.end(take, parts)
    sitter.post(f"/take/{take}/discard", {})
    sitter.end(take, parts)
    assert sitter.step()["of"] == "two"


def test_a_second_page_that_looks_on_changes_nothing_of_a_running_recording(sitter: Sitter) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    assert sitter.step()["kind"] == "interrupted"
    assert sitter.end(take, sitter.send(take, NOISE, first=0))["samples"] == len(NOISE)
    assert sitter.step()["take"] == take


def test_an_impossible_rate_and_a_sound_played_an_hour_later_are_left_out(sitter: Sitter, seats: list[TwoItems]) -> None:
    sitter.begin()
    sitter.measure()
    body = f'{{"kind": "reply", "of": "one", "rate_hz": {RATE_HZ}, "settings": {{"sampleRate": 1e999}}, "tab": "{sitter.tab}"}}'
    take = sitter.client.post("/take", content=body, headers={"content-type": "application/json"}).json()["take"]
    parts = sitter.send(take, NOISE, first=0)
    sitter.end(take, parts, played=[{"name": "caller", "at": 3_600 * RATE_HZ, "frames": 5}])
    assert seats[0]._records.take(take).settings == {}
    assert seats[0]._records.take(take).ended["played"] == []


def test_a_part_sent_twice_is_stored_once_and_an_end_waits_for_all_parts(sitter: Sitter) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    parts = sitter.send(take, NOISE, first=0, parts=range(1, 3)) and 3
    body: dict[str, Any] = {"parts": parts, "played": [], "pressed": None, "clock": [], "reason": "pressed"}
    assert "1 parts" in sitter.post(f"/take/{take}/end", body, expect=409)["error"]
    sitter.send(take, NOISE, first=0)
    sitter.send(take, NOISE, first=0)
    assert (
        sitter.end(take, 3)
        == sitter.end(take, 3)
        == {"samples": len(NOISE), "lost": 0, "disturbed": False, "latency_known": True}
    )


def test_a_recording_whose_page_is_gone_waits_for_its_speaker(sitter: Sitter) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    sitter.send(take, NOISE, first=0, parts=range(2))
    step = sitter.begin(tab="page-000002")
    assert (step["kind"], step["take"], step["seconds"]) == ("interrupted", take, 2.0)
    assert sitter.client.get(f"/take/{take}/sound").content == wav(NOISE[: 2 * RATE_HZ])
    assert sitter.post(f"/take/{take}/keep", {})["kind"] == "review"
    assert sitter.post(f"/take/{take}/keep", {"no_help": True})["kept"] == 1


def test_an_older_page_of_the_same_person_records_nothing_more(sitter: Sitter) -> None:
    sitter.begin()
    sitter.measure()
    old = sitter.tab
    sitter.begin(tab="page-000002")
    sitter.measure()
    body = {"kind": "reply", "of": "one", "rate_hz": RATE_HZ, "settings": {}, "tab": old}
    assert "another tab" in sitter.post("/take", body, expect=409)["error"]


def test_a_discarded_recording_leaves_no_sound(sitter: Sitter, tmp_path: Path) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    sitter.end(take, sitter.send(take, NOISE, first=0))
    assert list((tmp_path / "people" / TAKES / take).iterdir())
    assert sitter.post(f"/take/{take}/discard", {})["of"] == "two"
    assert not (tmp_path / "people" / TAKES / take).exists()
    assert sitter.client.get(f"/take/{take}/sound").status_code == 404


def test_whoever_withdraws_leaves_not_a_byte(sitter: Sitter, tmp_path: Path) -> None:
    name = sitter.begin()["name"]
    sitter.measure()
    take = sitter.open("reply", "one")
    sitter.end(take, sitter.send(take, NOISE, first=0))
    sitter.post(f"/take/{take}/keep", {"no_help": True})
    sitter.post("/withdraw", {})
    left = [path for path in (tmp_path / "people").rglob("*") if path.is_file()]
    assert left
    assert not any(name.encode() in path.read_bytes() or take.encode() in path.read_bytes() for path in left)
    assert sitter.client.get("/next").status_code == 401


def test_a_part_that_comes_after_its_recording_was_removed_is_not_stored(tmp_path: Path) -> None:
    records = SeatStore(tmp_path)
    person = records.begin("secret", "caller", False, CONSENT)
    takes = [records.open_take(person, "turn", "one", RATE_HZ, {}, "page-000001") for _ in range(2)]
    records.discard(takes[0])
    records.leave(person.id)
    for take in takes:
        records.add_part(take, 0, 0, b"ab")
    assert not any((tmp_path / TAKES).iterdir() if (tmp_path / TAKES).exists() else ())


def test_nobody_reaches_another_ones_recording(serve_seat: ServeSeat) -> None:
    served = serve_seat(TwoItems)
    one, other = served.sitter(), served.sitter("page-000009")
    one.begin()
    one.measure()
    take = one.open("reply", "one")
    one.end(take, one.send(take, NOISE, first=0))
    other.begin()
    assert other.client.get(f"/take/{take}/sound").status_code == 409
    for path in ("keep", "discard", "end", "played"):
        assert other.client.post(f"/take/{take}/{path}", json={}).status_code == 409
    assert one.client.get(f"/take/{take}/sound").status_code == 200


def test_a_program_is_never_a_person_whatever_it_says_later(sitter: Sitter) -> None:
    assert sitter.begin(automatic=True)["automatic"] is True
    assert sitter.begin(automatic=False)["automatic"] is True


def test_a_rehearsal_makes_everybody_automatic(serve_seat: ServeSeat) -> None:
    assert serve_seat(TwoItems, rehearsal=True).sitter().begin()["automatic"] is True


def test_a_restarted_server_goes_on_with_every_sitting(serve_seat: ServeSeat) -> None:
    first = serve_seat(TwoItems)
    one = first.sitter()
    one.begin()
    one.measure()
    take = one.open("reply", "one")
    one.send(take, NOISE, first=0, parts=range(2))
    second = serve_seat(TwoItems)
    one.client = httpx2.Client(base_url=second.address, cookies=one.client.cookies, timeout=30)
    one.send(take, NOISE, first=0, parts=range(2, 3))
    assert one.end(take, 3)["samples"] == len(NOISE)


@pytest.mark.parametrize(
    "body",
    [
        {"consent": True, "adult": True, "tab": "page-000001"},
        {"consent": CONSENT, "tab": "page-000001"},
        {"consent": CONSENT, "adult": True, "tab": 5},
    ],
)
def test_nobody_begins_without_consent_age_and_a_page(sitter: Sitter, body: dict[str, Any]) -> None:
    sitter.post("/begin", body, expect=400)


@pytest.mark.parametrize(
    "more",
    [
        {"parts": 0}, {"parts": "x"}, {"played": None}, {"played": [{"name": "a"}]}, {"clock": [[1]]}, {"pressed": -5},
        {"clock": [[1, "nan"]]}, {"parts": 10**9},
    ],
)  # fmt: skip
def test_an_impossible_end_is_refused_and_loses_nothing(sitter: Sitter, more: dict[str, Any]) -> None:
    sitter.begin()
    sitter.measure()
    take = sitter.open("reply", "one")
    parts = sitter.send(take, NOISE, first=0)
    body = {"parts": parts, "played": [], "pressed": None, "clock": [], "reason": "pressed"}
    sitter.post(f"/take/{take}/end", body | more, expect=409)
    assert sitter.end(take, parts)["samples"] == len(NOISE)


@pytest.mark.parametrize("rate_hz", [44_100, 16_000, None, "48000"])
def test_another_rate_is_refused_with_its_number(sitter: Sitter, rate_hz: object) -> None:
    sitter.begin()
    body = {"kind": "calibration", "of": "", "rate_hz": rate_hz, "settings": {}, "tab": sitter.tab}
    assert str(rate_hz) in sitter.post("/take", body, expect=409)["error"]
