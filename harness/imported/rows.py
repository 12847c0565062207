"""The replies of a file, whatever program wrote it, and what of the file is left out.

The form is found by the first character, because the endings of such files lie: `[` begins a list in JSON, `{` JSON Lines,
anything else a table divided by commas, semicolons or tabs. What is wrong with one row leaves out that row, with its place and
its reason; what is wrong with the file as a whole (no text, a column missing, a quote that is never closed) refuses the file,
because then nobody knows what any row is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.imported.columns import FIELDS, fields_of
from harness.tables.csv_rows import CsvRows, number
from harness.tables.json_rows import numbered_lines, value_of
from harness.tables.lines import MOST_BYTES, lines_of

MOST_ROWS: Final = 200_000
"""A published board of 20 systems on 5,000 conversations, the most that a pack has, is half of it."""
MOST_OF_A_TEXT: Final = 20_000
"""Characters: a reply of an hour's reading is no turn of a conversation."""
LATENCIES: Final = ("ttft_ms", "ttfa_ms")
_COLUMNS_OF: Final = 50
"""Rows of JSON whose names are the columns: programs leave out what is empty."""

Cells = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A row, or a figure of one, that was left out. `kind`: stable, for programs; `why`: a clause."""

    where: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class RowRead:
    """The reply in one row, before it is known whether the pack has its context."""

    where: str
    context: str
    system: str
    text: str
    audio: str = ""
    ttft_ms: float | None = None
    ttfa_ms: float | None = None
    family: str = ""


def rows_of(path: Path, maps: Mapping[str, str]) -> Iterator[RowRead | Fault]:
    """Each row of the file; or what is wrong with it. A row may be followed by a `Fault` of its latency alone (`latency`).

    Raises:
        UserError: the file cannot be read, lacks a column, or has too many rows.
    """
    fields: dict[str, str] = {}
    for count, given in enumerate(_cells(path, maps, fields), start=1):
        if count > MOST_ROWS:
            raise UserError(f"{path}: has over {MOST_ROWS:,} rows; import a part of it")
        if isinstance(given, Fault):
            yield given
        else:
            yield from _read(*given, fields)


def _read(cells: Cells, where: str, fields: Mapping[str, str]) -> Iterator[RowRead | Fault]:
    said: dict[str, str] = {}
    for field, column in fields.items():
        value = cells.get(column)
        if value is not None and not isinstance(value, str | int | float):
            yield Fault(where, "no_text", f"{column!r} is no text but {_kind_of(value)}")
            return
        said[field] = "" if value is None else str(value).strip()
    for field in ("context", "system", "text"):
        if field in fields and not said[field]:
            yield Fault(where, "empty" if field == "text" else f"no_{field}", f"has no {field}")
            return
    if len(said["text"]) > MOST_OF_A_TEXT:
        yield Fault(where, "too_long", f"its text has {len(said['text']):,} characters; at most {MOST_OF_A_TEXT:,} are taken")
        return
    times: dict[str, float] = {}
    wrong = []
    for name in LATENCIES:
        if said.get(name):
            try:
                times[name] = number(said[name], where, low=0, of=f"time in ms ({name})")
            except UserError as error:
                wrong.append(Fault(where, "latency", str(error).removeprefix(f"{where}: ")))
    yield RowRead(
        where, said["context"], said.get("system", ""), said["text"], said.get("audio", ""), times.get("ttft_ms"),
        times.get("ttfa_ms"), said.get("family", ""),
    )  # fmt: skip
    yield from wrong


def _cells(path: Path, maps: Mapping[str, str], fields: dict[str, str]) -> Iterator[tuple[Cells, str] | Fault]:
    """The cells of each row with its place. `fields` is filled before the first."""
    first = next((line.lstrip() for line in lines_of(path) if line.strip()), "")
    if first.startswith("["):
        yield from _named(_listed(path), path, maps, fields)
    elif first.startswith("{"):
        yield from _named(_lines(path), path, maps, fields)
    else:
        wanted = {*maps, *FIELDS, "agent"}
        table = CsvRows(path, wanted, at="{0}, line {1}")
        if not table.columns:
            raise UserError(f"{path}: is empty; it needs the columns context, system and text")
        fields |= fields_of(table.columns, maps, f"{path} {table.read_as}")
        for row in table.each():
            if isinstance(row, UserError):
                yield Fault(_place(table.where, path), "cells", str(row).removeprefix(f"{table.where}: "))
            else:
                yield row.cells, _place(row.where, path)


def _place(where: str, path: Path) -> str:
    return where.removeprefix(f"{path}, ")


def _named(
    rows: Iterator[tuple[Any, str] | Fault], path: Path, maps: Mapping[str, str], fields: dict[str, str]
) -> Iterator[tuple[Cells, str] | Fault]:
    """The rows that are objects; the first of them name the columns."""
    waiting: list[tuple[Any, str] | Fault] = []

    def name() -> None:
        objects = [row[0] for row in waiting if not isinstance(row, Fault) and isinstance(row[0], dict)]
        if not objects and waiting:
            fault = next((row for row in waiting if isinstance(row, Fault)), None)
            raise UserError(f"{path}: {f'{fault.where}: {fault.why}' if fault else 'its rows are no JSON objects'}")
        fields.update(fields_of(list(dict.fromkeys(key for row in objects for key in row)), maps, str(path)))

    for row in rows:
        if fields:
            yield _object(row)
            continue
        waiting.append(row)
        if len(waiting) == _COLUMNS_OF:
            name()
            yield from map(_object, waiting)
    if not fields:
        name()
        yield from map(_object, waiting)


def _object(row: tuple[Any, str] | Fault) -> tuple[Cells, str] | Fault:
    if isinstance(row, Fault) or isinstance(row[0], dict):
        return row
    return Fault(row[1], "no_object", f"is no JSON object but {_kind_of(row[0])}")


def _lines(path: Path) -> Iterator[tuple[Any, str] | Fault]:
    for text, where in numbered_lines(path, at="line {1}"):
        try:
            yield value_of(text, where), where
        except UserError as error:
            yield Fault(where, "not_json", str(error).removeprefix(f"{where}: "))


def _listed(path: Path) -> Iterator[tuple[Any, str] | Fault]:
    try:
        value = value_of(read_text(path, MOST_BYTES), str(path))
    except FileFault as fault:
        raise UserError(fault.at(path)) from None
    if not isinstance(value, list):
        raise UserError(f"{path}: is no list of objects; write a list, JSON Lines or CSV")
    for k, one in enumerate(value, start=1):
        yield one, f"item {k}"


def _kind_of(value: object) -> str:
    kinds = {list: "a list", dict: "an object", bool: "true or false", str: "a text"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else "nothing")
