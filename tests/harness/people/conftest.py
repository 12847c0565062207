"""A seat served over a real socket, and somebody who sits there without a browser."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from starlette.applications import Starlette

from harness.audio import transcribe
from harness.audio.vocal import silero
from harness.people import examiner, loop_back
from harness.people.app import SeatApp
from harness.people.caller import take_in
from harness.people.records import SeatStore
from harness.people.seat import CONSENT, Seat
from harness.people.supporter import into_run
from harness.people.track import RATE_HZ
from harness.people.withdraw import Withdraw, withdraw_on_page
from harness.reports.invited.address import Address
from tests.reports.conftest import browser, dejavu, open_page, played
from tests.serving import serving

__all__ = ["browser", "dejavu", "open_page", "played"]

LATENCY = 2_400
"""Latency of the loop of this pretended page, in samples: 50 ms."""


@dataclass
class Sitter:
    """A person's page as its server sees it: the requests of engine.js, with sound that is given and not heard."""

    client: httpx2.Client
    tab: str
    frame: int = 0

    def begin(self, *, tab: str | None = None, automatic: bool = False) -> dict[str, Any]:
        """Agree and begin, on a new page if `tab` is given; the first step."""
        self.tab = tab or self.tab
        return self.post("/begin", {"consent": CONSENT, "adult": True, "automatic": automatic, "tab": self.tab})

    def post(self, path: str, body: Mapping[str, Any], *, expect: int = 200) -> dict[str, Any]:
        reply = self.client.post(path, json=body)
        assert reply.status_code == expect, reply.text
        found: dict[str, Any] = reply.json()
        return found

    def step(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("/next").raise_for_status().json()
        return found

    def open(self, kind: str, of: str) -> str:
        """A running recording; its id."""
        take = self.post("/take", {"kind": kind, "of": of, "rate_hz": RATE_HZ, "settings": {"latency": 0.01}, "tab": self.tab})
        return str(take["take"])

    def send(self, take: str, samples: "np.ndarray[Any, np.dtype[np.int16]]", *, first: int, parts: range | None = None) -> int:
        """Send a recording in parts of a second, or only some of them; returns the number of all."""
        count = -(-len(samples) // RATE_HZ)
        for k in parts or range(count):
            pcm = samples[k * RATE_HZ : (k + 1) * RATE_HZ].astype("<i2").tobytes()
            path = f"/take/{take}/part/{k}?first={first + k * RATE_HZ}"
            reply = self.client.post(path, content=pcm, headers={"content-type": "application/octet-stream"})
            assert reply.status_code == 200, reply.text
        return count

    def end(self, take: str, parts: int, **more: Any) -> dict[str, Any]:
        """End a recording; the findings."""
        clock = [[0, 0.0], [RATE_HZ, 1_000.0]]
        body = {"parts": parts, "played": [], "pressed": None, "clock": clock, "happened": [], "reason": "pressed"}
        found: dict[str, Any] = self.post(f"/take/{take}/end", body | more)["found"]
        return found

    def measure(self, *, heard: bool = True, drift_ppm: float = 0.0) -> dict[str, Any]:
        """The loop-back trial; the next step."""
        take = self.open("calibration", "")
        sound = loop_back.sound()
        rng = np.random.default_rng(1)
        microphone = rng.normal(0, 20, len(sound) + RATE_HZ)
        one = loop_back.sweep()
        for place in loop_back.places() if heard else ():
            late = LATENCY + round(place * drift_ppm * 1e-6)
            microphone[place + late : place + late + len(one)] += one
        parts = self.send(take, microphone.astype(np.int16), first=self.frame)
        found = self.end(take, parts, played=[{"name": "loop-back", "at": self.frame, "frames": len(sound)}])
        assert found["heard"] is heard
        return self.step()


@dataclass
class ServedSeat:
    """A running seat."""

    address: str
    records: SeatStore
    stop: Callable[[], None]

    def sitter(self, tab: str = "page-000001") -> Sitter:
        return Sitter(httpx2.Client(base_url=self.address, timeout=30), tab)


ServeSeat = Callable[..., ServedSeat]


@pytest.fixture(scope="session", autouse=True)
def loaded_once() -> Iterator[None]:
    """The transcriber and the speech detector, loaded once for all tests of a worker: loading them takes longer than a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcribe, "Transcriber", cache(transcribe.Transcriber))
        for module in (into_run, examiner, take_in):
            patch.setattr(module, "silero", cache(silero))
        yield


@pytest.fixture
def serve_seat(tmp_path: Path) -> Iterator[ServeSeat]:
    """Serve a seat that is made from its records."""
    running = ExitStack()

    def started(
        made: Callable[[SeatStore], Seat],
        withdraw: Callable[[SeatStore], Withdraw] | None = None,
        *,
        folder: Path = tmp_path / "people",
        rehearsal: bool = False,
        port: int = 0,
        name: str | None = None,
    ) -> ServedSeat:
        """`name`: another than this machine's own, so that a browser treats its pages as it treats any site's."""
        records = SeatStore(folder)
        leave = withdraw(records) if withdraw else lambda person: withdraw_on_page(folder, records, person)

        def app(here: Address) -> Starlette:
            return SeatApp(records, made(records), here, leave, rehearsal=rehearsal).asgi()

        one = running.enter_context(ExitStack())
        address, _, server = one.enter_context(serving(app, name=name, port=port))

        def stop() -> None:
            """End it as a killed one: open connections are cut."""
            server.force_exit = True
            one.close()

        return ServedSeat(address, records, stop)

    with running:
        yield started
