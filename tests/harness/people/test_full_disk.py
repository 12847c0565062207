"""A disk that is full, for a seat: it is said in words, nothing that was acknowledged is lost, and who withdraws is gone."""

from typing import Any

import httpx2
import numpy as np
import pytest

from harness.people.part_files import TAKES
from harness.people.records import SeatStore
from harness.people.track import RATE_HZ
from harness.people.withdraw import end_withdrawals, withdraw_everywhere
from harness.reports.invited.entry import DISK_FULL_STATUS
from harness.study.texts import texts
from tests.harness.people.conftest import ServedSeat, ServeSeat, Sitter
from tests.harness.people.test_sittings import TwoItems
from tests.harness.people.test_withdraw import VOICE, kept, traces
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]

SECOND = np.random.default_rng(0).normal(0, 900, RATE_HZ).astype("<i2")


@pytest.fixture
def seat(small_disk: SmallDisk, serve_seat: ServeSeat) -> ServedSeat:
    return serve_seat(TwoItems, folder=small_disk.folder / "people")


def recording(seat: ServedSeat) -> tuple[Sitter, str]:
    """Somebody whose recording runs."""
    one = seat.sitter()
    one.begin()
    one.measure()
    return one, one.open("reply", "one")


def part(one: Sitter, take: str, number: int) -> httpx2.Response:
    path = f"/take/{take}/part/{number}?first={number * RATE_HZ}"
    return one.client.post(path, content=SECOND.tobytes(), headers={"content-type": "application/octet-stream"})


def refused_in_words(reply: httpx2.Response) -> bool:
    return reply.status_code == DISK_FULL_STATUS and reply.json() == {"error": texts()("invited.disk_full")}


def test_every_request_is_answered_in_words_and_nothing_acknowledged_is_lost(small_disk: SmallDisk, seat: ServedSeat) -> None:
    one, take = recording(seat)
    assert part(one, take, 0).status_code == 200
    small_disk.fill()
    acknowledged = [0]
    for number in range(1, 6):
        reply = part(one, take, number)
        assert reply.status_code == 200 or refused_in_words(reply)
        acknowledged += [number] * (reply.status_code == 200)
    files = list((seat.records.folder / TAKES / take).iterdir())
    assert sorted(int(path.name.split("-")[1]) for path in files) == acknowledged
    assert all(path.stat().st_size == SECOND.nbytes for path in files)
    played = {"played": [{"name": "x" * 20, "at": 1, "frames": 1}] * 40}
    end = {"parts": 1, **played, "pressed": None, "clock": [[0, 0.0]] * 500, "happened": [], "reason": "pressed"}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/take", {"kind": "reply", "of": "two", "rate_hz": RATE_HZ, "settings": {}, "tab": "another-page"}),
        (f"/take/{take}/played", played), (f"/take/{take}/end", end),
        ("/begin", {"consent": "consent-1", "adult": True, "automatic": False, "tab": one.tab}),
    ]  # fmt: skip
    for path, body in asked:
        for _ in range(40):  # A row may fit once more into what the journal has; soon it does not.
            reply = one.client.post(path, json=body)
            assert reply.status_code in (200, 409) or refused_in_words(reply), (path, reply.text)
    stranger = [seat.sitter(f"stranger-{k}") for k in range(10)]
    bodies = ({"consent": "consent-1", "adult": True, "automatic": False, "tab": each.tab} for each in stranger)
    replies = [each.client.post("/begin", json=body) for each, body in zip(stranger, bodies, strict=True)]
    assert any(map(refused_in_words, replies))
    small_disk.make_room()
    assert one.step()["kind"] in ("interrupted", "review")


def test_a_discarded_recording_leaves_no_sound_on_a_full_disk(small_disk: SmallDisk, seat: ServedSeat) -> None:
    one, take = recording(seat)
    assert part(one, take, 0).status_code == 200
    one.end(take, 1)
    small_disk.fill()
    reply = one.client.post(f"/take/{take}/discard", json={})
    assert reply.status_code == 200 or refused_in_words(reply)
    assert not list((seat.records.folder / TAKES).iterdir())


def test_whoever_withdraws_on_a_full_disk_is_gone(small_disk: SmallDisk, seat: ServedSeat) -> None:
    one, take = recording(seat)
    name = seat.records.people()[0].id
    for number in range(3):
        assert part(one, take, number).status_code == 200
    small_disk.fill()
    assert one.client.post("/withdraw", json={}).status_code == 200
    assert seat.records.people() == []
    assert seat.records.withdrawn == 1
    assert traces(seat.records.folder, name.encode(), SECOND.tobytes()[:400]) == []


@pytest.mark.parametrize("then", ["the next request", "the next opening"])
def test_where_no_row_can_be_written_a_withdrawal_is_completed_with_the_first_room(
    small_disk: SmallDisk, seat: ServedSeat, then: str
) -> None:
    one, take = recording(seat)
    other = seat.sitter("page-000002")
    other.begin()
    name = seat.records.people()[0].id
    # Its sound is smaller than the rows' journal, so that deleting it does not make room enough.
    reply = one.client.post(
        f"/take/{take}/part/0?first=0", content=VOICE[:400], headers={"content-type": "application/octet-stream"}
    )
    assert reply.status_code == 200
    seat.records.empty_journal()
    small_disk.fill()
    reply = one.client.post("/withdraw", json={})
    assert reply.json() == {"rest_later": True}
    assert traces(seat.records.folder / TAKES, VOICE[:400]) == []
    assert one.client.get("/next").status_code == 401
    assert {person.id for person in seat.records.people()} > {name}, "the row could be written, and the test shows nothing"
    small_disk.make_room()
    if then == "the next request":
        other.step()
        assert end_withdrawals(seat.records.folder, seat.records, wait=False)
    else:
        seat.stop()
        seat.records.close()
        again = SeatStore(seat.records.folder)
        assert end_withdrawals(again.folder, again, wait=False)
        again.close()
    assert traces(small_disk.folder, name.encode(), VOICE[:400]) == []


def test_the_command_withdraws_on_a_full_disk(small_disk: SmallDisk) -> None:
    folder = small_disk.folder / "people"
    records = SeatStore(folder)
    person, _ = kept(records, "secret", VOICE * 40)
    records.close()
    small_disk.fill()
    assert "1 recording" in withdraw_everywhere(folder, person.id)
    assert traces(folder, person.id.encode(), VOICE) == []
