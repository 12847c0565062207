"""The replies that a board is about: read or heard, on which line, in which mode, of which pack, and by whose transcript.

A rating is of replies in one form. A judge that read a transcript never met the voice, and a recogniser's errors are in what it
read; over a telephone line an agent hears its caller worse. So every board says this wherever it is shown, in one sentence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.store.judgment import Presentation
from harness.store.manifest import RunManifest
from harness.store.session import Session
from harness.wording import UNKNOWN_TEXT

READS: Final[Mapping[str, str]] = {
    "written": "read as the agent wrote them",
    "heard_text": "read as a transcript of their sound",
    "audio": "heard, without their delay",
    "audio_with_delay": "heard with their delay",
}
"""Presentation → how a rater met the replies, in words after "replies"."""


@dataclass(frozen=True, slots=True)
class RatedOn:
    """The circumstances of a board of one run. `transcriber`: None if nothing was transcribed."""

    presentation: Presentation
    condition: str
    mode: str
    pack: str
    transcriber: str | None

    @property
    def reads(self) -> str:
        """How a rater met the replies."""
        return READS["written" if self.transcriber is None and self.presentation == "heard_text" else self.presentation]

    @property
    def words(self) -> str:
        """One sentence: `Rated: replies read as a transcript of their sound (base.en); pack heart-mini, seeded, line clean.`"""
        return words_of(self.reads, self.presentation, self.transcriber, self.pack, self.mode, self.condition)


def words_of(reads: str, presentation: str, transcriber: str | None, pack: str, mode: str, condition: str) -> str:
    """The circumstances of a board in one sentence. The transcriber is named where its transcript was read."""
    by = f" (by {transcriber or UNKNOWN_TEXT})" if presentation == "heard_text" and reads != READS["written"] else ""
    return f"Rated: replies {reads}{by}; pack {pack}, {mode}, line {condition}."


def rated_on(manifest: RunManifest, sessions: Iterable[Session], condition: str, presentation: Presentation) -> RatedOn:
    """The circumstances of one board of a run."""
    return RatedOn(presentation, condition, manifest.mode, manifest.pack, transcriber_of(manifest, sessions))


def transcriber_of(manifest: RunManifest, sessions: Iterable[Session]) -> str | None:
    """The transcriber of a run's replies; None if nothing was transcribed."""
    if all(session.heard_text is None for session in sessions):
        return None
    return manifest.transcriber or "not recorded by the harness that transcribed"
