"""A scripted sitting in a real browser at a loop of real sound: the clicks of a person, and an automatic one who speaks.

Used by the tests of the seats' pages and by the rehearsal of a whole afternoon. Everything is stored as `automatic`.
"""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import soundfile
from playwright.sync_api import TimeoutError

from harness.people.track import RATE_HZ
from tests.sound_loop import AutomaticPerson

PATIENCE_MS: Final = 60_000
FINISH_MS: Final = 10_000
TRIALS: Final = 4
"""Loop-back trials that are tried: on a machine with two cores and other work some lose pieces of sound."""


@dataclass
class Clicks:
    """What a person does on one page of a seat without a word."""

    page: Any

    def heading(self) -> str:
        """The page's heading now."""
        return str(self.page.locator("#stage h1").inner_text(timeout=PATIENCE_MS))

    def press(self, name: str) -> None:
        """Press a button by its name."""
        self.page.get_by_role("button", name=name, exact=True).click(timeout=PATIENCE_MS)

    def wait_for_heading(self, pattern: str) -> str:
        """The heading once it matches."""
        found = self.page.locator("#stage h1", has_text=re.compile(pattern))
        found.wait_for(timeout=PATIENCE_MS)
        return str(found.inner_text())

    def begin(self, address: str) -> None:
        """Open the page, agree, and begin."""
        self.page.goto(address)
        self.page.check("#adult")
        self.page.check("#consent")
        self.press("Begin")
        self.page.locator("#stage h1").wait_for(timeout=PATIENCE_MS)

    def keep_answer(self) -> None:
        """Keep the answer that is reviewed."""
        self.page.check("#stage input[type=checkbox]")
        self.press("Keep it")
        self.wait_for_heading("Conversation|Thank|Hold|One moment")

    def keep_turn(self) -> None:
        """Keep the turn that is reviewed."""
        self.press("Keep it")
        self.wait_for_heading(r"^\d+ of|Thank|One moment")


@dataclass
class ScriptedSitting(Clicks):
    """One browser page in a seat, and somebody who hears it and speaks."""

    person: AutomaticPerson

    def measure(self) -> None:
        """The loop-back trial, with the headphones at the microphone."""
        for _ in range(TRIALS):
            self.person.do("hold", on=True)
            self.page.get_by_role("button", name=re.compile("^Measure")).click(timeout=PATIENCE_MS)
            status = self.page.locator("[role=status]", has_text=re.compile("Measured|not hear|lost"))
            status.wait_for(timeout=PATIENCE_MS)
            self.person.do("hold", on=False)
            if "Measured" in status.inner_text():
                self.press("Put the headphones on and go on")
                return
        raise AssertionError(f"no trial was heard: {status.inner_text()}")

    def answer(self, voice: Path, after_ms: float, caller_samples: int) -> dict[str, Any]:
        """Hear a caller and answer after `after_ms`; the automatic person's own report of it."""
        self.person.do("answer", after_ms=after_ms, sound=str(voice), caller_samples=caller_samples)
        self.press("Hear the person")
        report = self.person.wait_for("answered", PATIENCE_MS / 1_000)
        time.sleep(soundfile.info(voice).duration + 0.5)
        self._finish("I have finished")
        self.wait_for_heading("Your answer|That did not work")
        return report

    def tell(self, voice: Path, after_s: float = 0.8) -> None:
        """Record one turn in the caller's seat."""
        if self.page.get_by_role("button", name="Record", exact=True).is_disabled():
            self.page.locator("#stage input[name=topic]").first.check()
        self.press("Record")
        self.wait_for_heading("You are recorded")
        time.sleep(after_s)
        self.person.do("say", sound=str(voice))
        time.sleep(soundfile.info(voice).duration + 0.6)
        self._finish("I have finished (space bar)")
        self.wait_for_heading("Is it as you said|There is no turn|That did not work")

    def _finish(self, name: str) -> None:
        """Press the button that ends a recording, unless the page has ended it by itself: the machine was too busy."""
        button = self.page.get_by_role("button", name=name, exact=True)
        with suppress(TimeoutError):
            button.click(timeout=FINISH_MS)


def at_48_khz(samples: Any, path: Path) -> Path:
    """A file of these samples at 48 kHz."""
    soundfile.write(path, samples, RATE_HZ, subtype="PCM_16")
    return path
