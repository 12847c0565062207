"""Rows of eot-bench's published schema: people's turns to agents, with every silence in them.

A row has `id`, `language`, `audio` and `silence_spans`, and may have `words` and `messages` (README of the benchmark's
repository, livekit/eot-bench, Apache-2.0). Of the spans, each with `start` and `end` in seconds, the last is the true end of
the turn and the others are pauses in it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.sound_rows import Row, Sound, checked_row, sound_rows
from harness.scenarios.imports.talk import history_of, role_in_pack

COLUMNS = ("id", "language", "audio", "silence_spans", "words", "messages")


class Span(Row):
    """A silence, in seconds."""

    start: Annotated[float, Field(ge=0)]
    end: Annotated[float, Field(ge=0)]


class Word(Row):
    """A word with its times in seconds. Publishers use different names for its text."""

    word: str | None = None
    text: str | None = None
    start: float | None = None
    end: float | None = None

    @property
    def said(self) -> str:
        """Its text."""
        return (self.word or self.text or "").strip()


class Message(Row):
    """A turn before this one."""

    role: str
    content: str | None = None


class EotRow(Row):
    """One turn of a person."""

    id: str
    language: str
    audio: Sound
    silence_spans: Annotated[list[Span], Field(min_length=1)]
    words: list[Word] | None = None
    messages: list[Message] | None = None

    @property
    def end_s(self) -> float:
        """The end of the turn: the start of the last silence."""
        return self.silence_spans[-1].start

    def text(self) -> str:
        """The text from the row's own words; empty if it has none."""
        return " ".join(word.said for word in self.words or () if word.said)

    def history(self) -> list[dict[str, str]]:
        """The earlier turns with a pack's roles, neighbours of one role merged; others and empty ones are omitted."""
        said = ((role_in_pack(message.role), (message.content or "").strip()) for message in self.messages or ())
        return history_of((role, text) for role, text in said if role and text)


def eot_rows(path: Path) -> Iterator[tuple[str, Path, EotRow]]:
    """Each row with its place and the folder of its sound.

    `path`: a .parquet or .jsonl file, or a folder with such files at any depth. Raises `ImportFault` for the first
    wrong row, and for Parquet if its reader is not installed.
    """
    for where, folder, raw in sound_rows(path, COLUMNS, ("audio",)):
        yield where, folder, _row(raw, where)


def _row(raw: Any, where: str) -> EotRow:
    row = checked_row(EotRow, raw, where, COLUMNS)
    at = 0.0
    for span in row.silence_spans:
        if not at <= span.start <= span.end:
            raise ImportFault(f"{where}: {row.id[:80]!r} at {span.start:.3f} s: silence_spans must follow each other")
        at = span.end
    return row
