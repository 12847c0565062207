"""A sitting at a loop of real sound: calibrated, then turns answered after known waits, each measured as in a run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile

from harness.audio.level import first_sample, last_sample
from harness.audio.onset import find_onset
from harness.audio.pcm import Int16, resample, to_float, to_int16
from harness.audio.speech import render_turn
from harness.audio.synthesis import PiperSynthesiser
from harness.audio.vocal import RATE_HZ as VOCAL_HZ
from harness.audio.vocal import WINDOW, silero, vocal_spans
from harness.models import resolve
from harness.people.loop_back import LoopBack, loop_back, places, sound
from harness.people.track import RATE_HZ
from tests.automatic_person import HEARD
from tests.harness.people.seat_server import SeatServer, Take, seat_server
from tests.sound_loop import AutomaticPerson, SoundLoop, automatic_person, browser_on, sound_loop

CALLER: Final = "I miss my sister. She moved away."
REPLIES: Final = ("That sounds lonely.", "Oh, what a change for you.", "Mm, go on.", "Have you talked with her since?")
SPEECH_DB: Final = -26.0
STEADY_MS: Final = 2.0
"""Greatest error of a trial that counts: in one with more, the latency moved."""
TRIALS: Final = 4
"""So often is a disturbed loop-back trial asked for again."""


@cache
def spoken(text: str) -> Int16:
    """Speech at 48 kHz, −26 dB, from its first sample to its last."""
    said = render_turn(text, None, PiperSynthesiser(resolve("piper-joe")), None)
    signal = to_float(said.samples)
    signal *= 10 ** (SPEECH_DB / 20) / float(np.sqrt(np.mean(signal**2)))
    samples = resample(to_int16(signal), said.rate_hz, RATE_HZ)
    first, last = first_sample(samples, RATE_HZ), last_sample(samples, RATE_HZ)
    assert first is not None
    assert last is not None
    return samples[first : last + 1]


def caller() -> Int16:
    """A caller whose first sample is loud enough that the automatic person knows it to the sample."""
    samples = spoken(CALLER)
    return samples[int(np.flatnonzero(np.abs(samples.astype(np.int32)) >= HEARD)[0]) :]


def onset(samples: Int16) -> int:
    """The sample at which speech begins, as in a run: a speech model says whether, the level and its change say where."""
    narrow = to_float(resample(samples, RATE_HZ, VOCAL_HZ))
    spans = vocal_spans(silero()(narrow))
    assert spans, "no speech was heard"
    return find_onset(to_float(samples), RATE_HZ, round(spans[0][0] * WINDOW * RATE_HZ / VOCAL_HZ)).sample


def until(page: Any, holds: str, within_s: float = 10.0) -> None:
    """Wait until an expression holds in a page; Playwright's own way needs `eval`, which the page's policy forbids."""
    end = time.monotonic() + within_s
    while not page.evaluate(f"Boolean({holds})"):
        assert time.monotonic() < end, f"never: {holds}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Turn:
    """One turn: the wait as it was and as it was measured. `whole`: nothing of it was lost."""

    true_ms: float
    measured_ms: float
    whole: bool

    @property
    def error_ms(self) -> float:
        return self.measured_ms - self.true_ms


@dataclass
class Sitting:
    """A page open at a loop, with an automatic person in front of it."""

    loop: SoundLoop
    person: AutomaticPerson
    seat: SeatServer
    page: Any
    folder: Path

    def start(self, kind: str, name: str, after_s: float) -> None:
        """Begin a take in the page, and do not wait for it."""
        self.page.evaluate(f"void (window.running = take('{kind}', '/sound/{name}', {after_s}))")

    def finish(self) -> Take:
        return self.seat.takes[int(self.page.evaluate("running"))]

    def take(self, kind: str, name: str, after_s: float) -> Take:
        self.start(kind, name, after_s)
        return self.finish()

    def trial(self) -> LoopBack | None:
        """One loop-back trial, with the headphones at the microphone."""
        self.person.do("hold", on=True)
        take = self.take("calibration", "trial", 0.8)
        self.person.do("hold", on=False)
        return loop_back(take.track(), [take.played() + place for place in places()])

    def calibrated(self) -> LoopBack:
        """The latency, from the first trial that nothing disturbed."""
        for _ in range(TRIALS):
            found = self.trial()
            if found is not None and found.error_p95_ms <= STEADY_MS:
                return found
        raise AssertionError("every loop-back trial was disturbed: this machine is too busy")

    def turn(self, after_ms: float, reply: str, latency: LoopBack) -> Turn:
        """One turn that the person answers `after_ms` after the caller's last sample, or before it when that is negative."""
        length = len(caller())
        self.person.do("answer", after_ms=after_ms, sound=str(self.file(spoken(reply), reply)), caller_samples=length)
        take = self.take("reply", "caller", max(0.0, after_ms / 1_000) + len(spoken(reply)) / RATE_HZ + 0.6)
        answered = self.person.wait_for("answered")
        assert not answered["late"]
        track = take.track()
        measured = track.first + onset(track.samples) - latency.latency_samples - (take.played() + length)
        ended = [what["what"] for what in take.end["happened"]] if take.end else []
        return Turn(answered["waited"] * 1_000 / RATE_HZ, measured * 1_000 / RATE_HZ, not track.lost and "lost" not in ended)

    def file(self, samples: Int16, name: str) -> Path:
        path = self.folder / f"{abs(hash(name))}.wav"
        if not path.exists():
            soundfile.write(path, samples, RATE_HZ)
        return path


@contextmanager
def sitting(folder: Path, playwright: Any, offered_hz: int = RATE_HZ) -> Iterator[Sitting]:
    """A page with an open engine. `offered_hz`: the rate of the browser's devices."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        sound_loop(folder, offered_hz) as loop,
        automatic_person(loop) as person,
        seat_server() as seat,
        browser_on(loop, playwright) as browser,
    ):
        seat.sounds = {"trial": sound(), "caller": caller(), "still": np.zeros(4 * RATE_HZ, np.int16)}
        page = browser.new_context().new_page()
        page.goto(seat.address)
        until(page, "window.open_")
        assert page.evaluate("open_()") is None
        yield Sitting(loop, person, seat, page, folder)


def answered(here: Sitting, waits_ms: list[float]) -> tuple[LoopBack, list[Turn]]:
    """A trial, then a turn for each wait; where something was lost both are repeated."""
    latency = here.calibrated()
    turns: list[Turn] = []
    for k, wait_ms in enumerate(waits_ms):
        for _ in range(TRIALS):
            turns.append(here.turn(wait_ms, REPLIES[k % len(REPLIES)], latency))
            if turns[-1].whole:
                break
            latency = here.calibrated()
    return latency, turns


def sixty(folder: Path, playwright: Any) -> Iterator[tuple[LoopBack, list[Turn]]]:
    """Sixty waits in six sittings, half of them with devices of 44.1 kHz."""
    waits_ms = waits_of_sixty()
    for k in range(6):
        with sitting(folder / str(k), playwright, (48_000, 44_100)[k % 2]) as here:
            yield answered(here, waits_ms[10 * k : 10 * k + 10])


def main() -> None:
    """Print the figures of sixty waits."""
    import tempfile

    from playwright.sync_api import sync_playwright

    errors: list[float] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for latency, turns in sixty(Path(folder), playwright):
            errors += (mine := [turn.error_ms for turn in turns if turn.whole])
            print(latency, "lost", len(turns) - len(mine), np.round(mine, 2), flush=True)
    print(f"{len(errors)} waits: bias {np.mean(errors):.2f} ms, p95 {np.percentile(np.abs(errors), 95):.2f} ms")


def waits_of_sixty() -> list[float]:
    """Waits of 200 to 1,500 ms, every sixth a cut-in before the caller's end."""
    random = np.random.default_rng(35)
    return [float(random.uniform(-600, -50) if k % 6 == 5 else random.uniform(200, 1_500)) for k in range(60)]


if __name__ == "__main__":
    main()
