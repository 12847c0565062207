"""A whole afternoon of the two seats, rehearsed by scripted speakers: from invitation links to the joint report.

`python -m tests.rehearsal RUN OUT [--supporters 12] [--callers 10] [--turns 12]`: RUN is a finished run in seeded mode,
which is copied into OUT. Real servers, a real browser, a loop of real sound; everybody is stored as `automatic`. On the way
a browser is closed in the middle of a recording, one is stopped for seconds as if its computer slept, and each server is
killed and started again: whatever was kept before must be there afterwards. Prints the time that each sitting took, and a
summary as JSON.
"""

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import soundfile
from playwright.sync_api import sync_playwright

from harness.people.records import SeatStore
from harness.people.supporter.conversations import Conversations
from harness.store.run_store import RunStore
from tests.scripted_sitting import ScriptedSitting, at_48_khz
from tests.sound_loop import AutomaticPerson, automatic_person, browser_on, processes, sound_loop, stop_for

PORT: Final = 8_477
START_S: Final = 60.0
SLEPT_S: Final = 4.0
WAITS_MS: Final = (450.0, 620.0, 800.0, 980.0, 1_250.0)
LINK: Final = re.compile(r"(?:caller|supporter) [0-9a-f]{8}: http://localhost:\d+(/invitation/\S+)")


@dataclass
class Server:
    """A seat's server, as its host starts it: killed for real, and started again on the same records."""

    command: Sequence[str]
    log: Path
    links: list[str] = field(default_factory=list)
    process: "subprocess.Popen[str] | None" = None

    def start(self, people: int) -> None:
        """Start it with so many new links."""
        before = self.log.read_text() if self.log.exists() else ""
        with self.log.open("a") as out:
            self.process = subprocess.Popen([*self.command, str(people)], stderr=out, stdout=out, text=True)
        end = time.monotonic() + START_S
        while "holders of a link" not in self.log.read_text()[len(before) :]:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(self.log.read_text())
            time.sleep(0.1)
        self.links += LINK.findall(self.log.read_text()[len(before) :])

    def kill(self) -> None:
        """Kill it in the middle of whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """Ctrl-C: it ends, and takes in what is kept."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(timeout=1_800) != 0:
            raise RuntimeError(self.log.read_text())


@dataclass
class Afternoon:
    """The tally of a seat. `expected`: recordings that were kept on the page."""

    took_s: list[float] = field(default_factory=list)
    expected: int = 0

    def told(self, who: str, seconds: float, more: str = "") -> None:
        self.took_s.append(seconds)
        print(f"{who}: {seconds:.0f} s{more}", file=sys.stderr, flush=True)


@contextmanager
def sitting(browser: Any, person: AutomaticPerson) -> Iterator[ScriptedSitting]:
    """A new browser profile, as of another person's computer."""
    context = browser.new_context()
    try:
        yield ScriptedSitting(context.new_page(), person)
    finally:
        context.close()


def supporters(server: Server, run: Path, people: int, browser: Any, person: AutomaticPerson, voices: list[Path]) -> Afternoon:
    """Everybody answers all that is due. The third closes the page while speaking; after the fifth the server is killed."""
    tally = Afternoon()
    store = RunStore.open(run)
    conversations = Conversations(store)
    server.start(people)
    with closing(SeatStore(run / "people")) as records:
        for n in range(people):
            began = time.monotonic()
            link = f"http://localhost:{PORT}{server.links[n]}"
            with sitting(browser, person) as one:
                one.begin(link)
                answered = 0
                while True:
                    heading = one.heading()
                    if heading.startswith("Thank"):
                        break
                    if heading.startswith("One moment"):
                        one.press("Go on")
                        one.wait_for_heading("Hold")
                        continue
                    if heading.startswith("Hold"):
                        one.measure()
                        one.wait_for_heading("Conversation")
                        continue
                    if heading.startswith("That did not work"):
                        one.press("Go on")
                        one.wait_for_heading("Conversation|Thank|One moment|Hold")
                        continue
                    due = records.dealt(records.people()[-1])[-1]
                    length = len(conversations.caller(due).samples)
                    if n == 2 and answered == 1:
                        _closed_while_speaking(one, link, voices[n % len(voices)], length)
                    else:
                        one.answer(voices[n % len(voices)], WAITS_MS[(n + answered) % len(WAITS_MS)], length)
                    if one.heading().startswith("That"):
                        continue
                    one.keep_answer()
                    answered += 1
                    tally.expected += 1
            tally.told(f"supporter {n + 1}", time.monotonic() - began, f", {answered} answers")
            if n == 4:
                server.kill()
                server.start(0)
    server.stop()
    return tally


def _closed_while_speaking(one: ScriptedSitting, link: str, voice: Path, length: int) -> None:
    """Close the page two seconds into the answer, come back by the link, and decide about what there is."""
    one.person.do("answer", after_ms=500, sound=str(voice), caller_samples=length)
    one.press("Hear the person")
    one.person.wait_for("answered", 60)
    time.sleep(soundfile.info(voice).duration + 1)
    context = one.page.context
    one.page.close(run_before_unload=False)
    one.page = context.new_page()
    one.begin(link)
    one.wait_for_heading("A recording was interrupted")
    one.press("Look at it")
    one.wait_for_heading("Your answer")


def callers(server: Server, people: int, browser: Any, person: AutomaticPerson, voices: list[Path]) -> Afternoon:
    """Everybody tells all that is due. The second's computer sleeps once; after the fourth the server is killed."""
    tally = Afternoon()
    server.start(people)
    for n in range(people):
        began = time.monotonic()
        with sitting(browser, person) as one:
            one.begin(f"http://localhost:{PORT}{server.links[n]}")
            told, slept = 0, False
            while not (heading := one.heading()).startswith("Thank"):
                if heading.startswith("One moment"):
                    one.press("Go on")
                    one.wait_for_heading(r"^\d+ of")
                    continue
                if heading.startswith("That did not work"):
                    one.press("Go on")
                    one.wait_for_heading(r"^\d+ of|Thank|One moment")
                    continue
                if n == 1 and told == 2 and not slept:
                    slept = True
                    _sleeps(one, voices[0])
                    continue
                one.tell(voices[(n * 5 + told) % len(voices)])
                if not one.heading().startswith("Is it"):
                    _again(one)
                    continue
                one.keep_turn()
                told += 1
                tally.expected += 1
        tally.told(f"caller {n + 1}", time.monotonic() - began, f", {told} turns")
        if n == 3:
            server.kill()
            server.start(0)
    server.stop()
    return tally


def _sleeps(one: ScriptedSitting, voice: Path) -> None:
    """The whole computer stops for seconds while somebody speaks; the recording is discarded, and its prompt comes back."""
    one.press("Record")
    one.wait_for_heading("You are recorded")
    one.person.do("say", sound=str(voice))
    time.sleep(1)
    stop_for(SLEPT_S, *processes("chromium"))
    one.wait_for_heading("Is it as you said|There is no turn|You are recorded")
    if one.heading().startswith("You are"):
        one.press("I have finished (space bar)")
        one.wait_for_heading("Is it as you said|There is no turn")
    one.press("Discard and record again")
    one.wait_for_heading(r"^\d+ of|One moment")


def _again(one: ScriptedSitting) -> None:
    """Discard a recording in which the machine lost the voice; its prompt comes back."""
    if one.heading().startswith("There is no turn"):
        one.press("Discard and record again")
        one.wait_for_heading(r"^\d+ of|One moment")


def main() -> None:
    """Rehearse."""
    asked = argparse.ArgumentParser()
    asked.add_argument("run", type=Path)
    asked.add_argument("out", type=Path)
    asked.add_argument("--supporters", type=int, default=12)
    asked.add_argument("--callers", type=int, default=10)
    asked.add_argument("--turns", type=int, default=12)
    given = asked.parse_args()
    given.out.mkdir(parents=True)
    run, recorded = given.out / "run", given.out / "callers"
    shutil.copytree(given.run, run)
    conversations = Conversations(RunStore.open(run))
    voices = [at_48_khz(conversations.caller(name).samples, given.out / f"{name}.wav") for name in conversations.contexts]
    short = sorted(voices, key=lambda path: soundfile.info(path).duration)[:4]
    door = ["--public", "--address", f"127.0.0.1:{PORT}", "--rehearsal"]
    harness = [sys.executable, "-m", "harness", "people"]
    answer = Server([*harness, "answer", str(run), *door, "--supporters"], given.out / "answer.txt")
    record = Server(
        [*harness, "record", "--out", str(recorded), "--pack", "heart-mini", "--turns", str(given.turns), *door, "--callers"],
        given.out / "record.txt",
    )
    with (
        sound_loop(given.out) as loop,
        automatic_person(loop) as person,
        sync_playwright() as playwright,
        browser_on(loop, playwright) as browser,
    ):
        try:
            answers = supporters(answer, run, given.supporters, browser, person, short) if given.supporters else Afternoon()
            turns = callers(record, given.callers, browser, person, voices) if given.callers else Afternoon()
        finally:
            answer.kill()
            record.kill()
    store = RunStore.open(run)
    seated = [session for session in store.sessions() if session.key.agent == "rehearsal"]
    with closing(SeatStore(recorded)) as records:
        kept = [take for take in records.takes() if take.kind == "turn" and take.state == "kept"]
    summary = {
        "supporters": given.supporters, "answers": len(seated), "answers_expected": answers.expected,
        "supporter_median_s": statistics.median(answers.took_s or [0.0]), "callers": given.callers, "turns": len(kept),
        "turns_expected": turns.expected, "caller_median_s": statistics.median(turns.took_s or [0.0]),
    }  # fmt: skip
    print(json.dumps(summary, indent=2))
    if len(seated) != answers.expected or len(kept) != turns.expected:
        raise SystemExit("something that was kept is lost")


if __name__ == "__main__":
    main()
