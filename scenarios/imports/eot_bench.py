"""Rows of eot-bench's published schema: people's turns to agents, with every silence in them.

A row has `id`, `language`, `audio` and `silence_spans`, and may have `words` and `messages` (README of the benchmark's
repository, livekit/eot-bench, Apache-2.0). Of the spans, each with `start` and `end` in seconds, the last is the true end of
the turn and the others are pauses in it. Its hub keeps rows in Parquet; the same rows as JSON Lines, with the sound in files
beside them, are read without a further package. Nothing is downloaded: these are the user's own rows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.jsonl import ROLES, json_lines

COLUMNS = ("id", "language", "audio", "silence_spans", "words", "messages")
BATCH_ROWS = 16
"""Rows read at once: a row contains its sound, and a file has 400."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, coerce_numbers_to_str=True)


class Span(_Row):
    """A silence, in seconds."""

    start: Annotated[float, Field(ge=0)]
    end: Annotated[float, Field(ge=0)]


class Word(_Row):
    """A word with its times in seconds. Publishers use different names for its text."""

    word: str | None = None
    text: str | None = None
    start: float | None = None
    end: float | None = None

    @property
    def said(self) -> str:
        """Its text."""
        return (self.word or self.text or "").strip()


class Message(_Row):
    """A turn before this one."""

    role: str
    content: str | None = None


class Sound(_Row):
    """A file's bytes, or its name beside the rows, or decoded samples with their rate."""

    encoded: Annotated[bytes | None, Field(alias="bytes")] = None
    path: str | None = None
    array: list[float] | None = None
    sampling_rate: Annotated[int, Field(gt=0)] | None = None


class EotRow(_Row):
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
        turns: list[dict[str, str]] = []
        for message in self.messages or ():
            role, said = ROLES.get(message.role), (message.content or "").strip()
            if role is None or not said:
                continue
            if turns and turns[-1]["role"] == role:
                turns[-1]["text"] += f" {said}"
            else:
                turns.append({"role": role, "text": said})
        while turns and turns[-1]["role"] == "seeker":
            turns.pop()
        return turns


def eot_rows(path: Path) -> Iterator[tuple[str, Path, EotRow]]:
    """Each row with its place and the folder of its sound.

    `path`: a .parquet or .jsonl file, or a folder with such files at any depth. Raises `ImportFault` for the first
    wrong row, and for Parquet if its reader is not installed.
    """
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".jsonl"))
    if not files:
        raise ImportFault(f"{path}: no .parquet or .jsonl file of rows is there")
    for file in files:
        if file.suffix == ".parquet":
            rows = _parquet(file)
        else:
            rows = ((f"{file}:{number}", line) for number, line in json_lines(file))
        for where, raw in rows:
            yield where, file.parent, _row(raw, where)


def _row(raw: Any, where: str) -> EotRow:
    if isinstance(raw, dict) and isinstance(raw.get("audio"), str):
        raw = {**raw, "audio": {"path": raw["audio"]}}
    try:
        row = EotRow.model_validate(raw)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise ImportFault(f"{where}: {place}: {fault['msg']}; the columns are {', '.join(COLUMNS)}") from None
    at = 0.0
    for span in row.silence_spans:
        if not at <= span.start <= span.end:
            raise ImportFault(f"{where}: {row.id[:80]!r} at {span.start:.3f} s: silence_spans must follow each other")
        at = span.end
    return row


def _parquet(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportFault(
            f'{file}: Parquet needs the extra "parquet": pip install "heart-voice-harness[parquet]"; rows as .jsonl need none'
        ) from None
    number = 0
    try:
        rows = ParquetFile(file)
        columns = [name for name in COLUMNS if name in rows.schema_arrow.names]
        for batch in rows.iter_batches(batch_size=BATCH_ROWS, columns=columns):
            for raw in batch.to_pylist():
                number += 1
                yield f"{file}, row {number}", raw
    except (pyarrow.ArrowException, OSError) as error:
        raise ImportFault(f"{file}: is no Parquet that can be read ({' '.join(str(error).split())[:120]})") from None
