"""The findings in a turn, as the caller's page shows them."""

from pathlib import Path

from harness.audio.pcm import to_int16
from harness.people.caller.seat import CallerSeat
from harness.people.records import SeatStore
from harness.people.seat import CONSENT
from harness.people.track import RATE_HZ, Track
from tests.harness.people.spoken import dry, in_room, turns


def test_a_turn_that_was_cut_is_said_once(tmp_path: Path) -> None:
    records = SeatStore(tmp_path)
    take = records.open_take(records.begin("secret", "caller", True, CONSENT), "turn", "free-1", RATE_HZ, {}, "page-000001")
    sound = to_int16(in_room(dry(turns()[0], 0.0), 40, 0))
    found = CallerSeat(records).examined(take, Track(RATE_HZ, 0, sound, ()), None)
    assert [each["code"] for each in (*found["faults"], *found["disagreements"])].count("cut") == 1
