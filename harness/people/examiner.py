"""Findings of a finished recording, as the page and the records have them.

The speech detector is loaded with the first recording and shared: loading it takes longer than a person waits, and two
recordings are examined one after the other, so that a room full of people does not slow every page down.
"""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from math import isfinite

from harness.audio.vocal import VocalDetector, silero
from harness.people.faults import Played, Taken, findings
from harness.people.loop_back import LoopBack
from harness.people.records import Take
from harness.people.seat import Json
from harness.people.track import Track
from harness.study.texts import Texts


class Examiner:
    """The examination of recordings, one at a time."""

    def __init__(self, t: Texts) -> None:
        """Make it. `t`: its words, in the speakers' language."""
        self._t = t
        self.turn = threading.Lock()
        """Held while the detector is used."""

    @cached_property
    def vocal(self) -> VocalDetector:
        """The speech detector."""
        return silero()

    def examined(self, take: Take, track: Track, played: Sequence[Played] = (), loop: LoopBack | None = None) -> list[Json]:
        """The findings in a recording, as `harness.people.faults.Finding` has them."""
        rate = take.settings.get("sampleRate")
        taken = Taken(
            samples=track.samples,
            first=track.first,
            lost=track.lost,
            microphone_hz=int(rate) if isinstance(rate, int | float) and isfinite(rate) and rate > 0 else None,
            reason=str(take.ended.get("reason", "pressed")),
            played=played,
            latency_s=None if loop is None else loop.latency_samples / track.rate_hz,
        )
        with self.turn:
            found = findings(taken, self.vocal, self._t)
        return [asdict(finding) for finding in found]
