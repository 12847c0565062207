"""What the holder of one link can ask of a seat: no request fills the memory or the disk, or makes others wait."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx2
import numpy as np
import psutil
import pytest

from harness.people import records as records_of_seats
from harness.people.part_files import TAKES
from harness.people.records import LARGEST_PART, SeatStore
from harness.people.seat import CONSENT
from harness.people.track import LONGEST_S, RATE_HZ, Part, track_of
from harness.reports.invited import Refused
from tests.harness.people.conftest import Sitter

SERVER = """
import sys
from pathlib import Path
from harness.people.caller.seat import CallerSeat
from harness.people.records import SeatStore
from harness.people.withdraw import withdraw_on_page
from harness.people.serve import serve
from harness.reports.invited.address import address_of

folder = Path(sys.argv[1])
records = SeatStore(folder)
serve(
    records, CallerSeat(records, None, 3), address_of(host="127.0.0.1", port=0),
    lambda person: withdraw_on_page(folder, records, person), people=0, lifetime_s=None, rehearsal=False,
    announce=lambda words: print(words.rstrip("/").rpartition(":")[2], flush=True),
)
"""
FRAMES = LARGEST_PART // 2
MIB = 1 << 20


@dataclass
class Seat:
    port: int
    process: psutil.Process
    folder: Path

    def sitter(self) -> Sitter:
        sitter = Sitter(httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=120), "page-000001")
        sitter.begin(automatic=True)
        return sitter

    def most_memory(self) -> float:
        """The most MiB that the server ever had."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) / 1_024


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    """A caller's seat in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", SERVER, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Seat(int(process.stdout.readline()), psutil.Process(process.pid), tmp_path)
    finally:
        process.terminate()
        process.wait(30)


def send(one: Sitter, take: str, number: int, first: int, samples: np.ndarray) -> int:
    path = f"/take/{take}/part/{number}?first={first}"
    headers = {"content-type": "application/octet-stream"}
    return one.client.post(path, content=samples.astype("<i2").tobytes(), headers=headers).status_code


def noise(frames: int = FRAMES) -> np.ndarray:
    return np.random.default_rng(0).normal(0, 3_000, frames)


def test_two_parts_half_an_hour_apart_are_no_recording(seat: Seat) -> None:
    one = seat.sitter()
    take = one.open("turn", "free-1")
    assert send(one, take, 0, 0, noise()) == 200
    assert send(one, take, 1, 1_800 * RATE_HZ, noise()) == 409
    assert one.step()["seconds"] == FRAMES / RATE_HZ


def test_parts_over_each_other_or_of_one_number_fill_no_disk(seat: Seat) -> None:
    one = seat.sitter()
    take = one.open("turn", "free-1")
    for k in range(30):
        send(one, take, k, k, noise())
        send(one, take, 0, k, noise())
    stored = sum(path.stat().st_size for path in (seat.folder / TAKES / take).iterdir())
    assert stored <= 2 * LONGEST_S * RATE_HZ


def test_the_longest_recording_and_twenty_who_hear_it_take_little_memory(seat: Seat) -> None:
    one = seat.sitter()
    take = one.open("turn", "free-1")
    parts = int(LONGEST_S * RATE_HZ) // FRAMES
    for k in range(parts):
        assert send(one, take, k, k * FRAMES, noise()) == 200
    assert send(one, take, parts, parts * FRAMES, noise(2)) == 409
    before = seat.most_memory()
    with ThreadPoolExecutor(20) as threads:
        sizes = list(threads.map(lambda _: len(one.client.get(f"/take/{take}/sound").content), range(20)))
    assert sizes == [44 + 2 * parts * FRAMES] * 20
    heard_mib = seat.most_memory() - before
    assert heard_mib < 20 * sizes[0] / MIB / 4, "each hearer has a copy"
    one.client.get("/next").raise_for_status()
    one.end(take, parts)
    assert seat.most_memory() - before < 250


def test_others_are_answered_while_many_recordings_are_examined(seat: Seat) -> None:
    one, other = seat.sitter(), seat.sitter()
    take = one.open("turn", "free-1")
    for k in range(9):
        assert send(one, take, k, k * FRAMES, noise()) == 200
    end = {"parts": 9, "played": [], "pressed": None, "clock": [], "happened": [], "reason": "pressed"}
    done = threading.Event()

    def ends(_: int) -> int:
        return one.client.post(f"/take/{take}/end", json=end).status_code

    waits = []

    def asks() -> None:
        while not done.is_set():
            begun = time.monotonic()
            other.step()
            waits.append(time.monotonic() - begun)

    begun = time.monotonic()
    with ThreadPoolExecutor(50) as threads:
        asking = threads.submit(asks)
        assert set(threads.map(ends, range(48))) == {200}
        done.set()
        asking.result()
    assert max(waits) < (time.monotonic() - begun) / 2
    assert len(waits) > 4


def test_a_body_of_many_values_is_refused(seat: Seat) -> None:
    one = seat.sitter()
    before = seat.most_memory()
    for body in (b'{"consent":[' + b"[]," * 130_000 + b"1]}", b'{"consent":' + b"[" * 190_000 + b"]" * 190_000 + b"}"):
        reply = one.client.post("/begin", content=body, headers={"content-type": "application/json"})
        assert reply.status_code == 400
    assert seat.most_memory() - before < 100


def test_so_many_recordings_are_begun_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_of_seats, "MOST_TAKES", 3)
    with closing(SeatStore(tmp_path)) as records:
        person = records.begin("secret", "caller", False, CONSENT)
        for _ in range(3):
            records.discard(records.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001"))
        with pytest.raises(Refused, match=r"^seat\.refused\.too_many$"):
            records.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001")


def test_a_recording_of_holes_is_put_together_in_time_that_grows_with_its_length() -> None:
    def took_s(seconds: int) -> float:
        samples = np.random.default_rng(0).integers(100, 200, seconds * RATE_HZ).astype(np.int16)
        samples[np.arange(len(samples)) % 300 < 130] = 0
        times = []
        for _ in range(3):
            begun = time.process_time()
            assert len(track_of([Part(0, samples)]).lost) > 100 * seconds
            times.append(time.process_time() - begun)
        return min(times)

    assert took_s(80) < 2.5**2 * took_s(20), "each doubling takes at most 2.5 times as long"
