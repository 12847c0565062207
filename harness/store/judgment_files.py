"""Judgment files: JSON Lines and CSV, in and out.

Other programs write these files too, so the column names are stable, the first seven suffice, and the error for a file that
cannot be read names file, line and field. An unknown column is ignored, since more may be added; one that is nearly a known
name is refused, since it is a typing error that would silently drop data.
"""

import csv
import difflib
import io
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from harness.errors import UserError
from harness.files import write_whole
from harness.store.judgment import AXES, Judgment
from harness.store.judgment_columns import Filling
from harness.store.judgment_table import JudgmentTable

NEEDED = ("context", "subset", "system_a", "system_b", "source", "judge", "winner")
PLAIN = (*NEEDED, "strength", "shown_first", "presentation", "rationale")
EXTRA = ("own_family", "repeat", "purpose", "condition", "replicate", "draw_rate")
AXIS_COLUMNS = tuple(f"axes.{axis}.{part}" for axis in AXES for part in ("winner", "strength"))
COLUMNS = (*PLAIN, *AXIS_COLUMNS, *EXTRA)
OPTIONAL_EMPTY = frozenset(COLUMNS) - frozenset(NEEDED) - {"rationale"}
"""An empty cell of these means "not given"."""
_FOR_A_TABLE = frozenset((*PLAIN, "repeat", "condition", "axes"))
"""Columns of a row of a file that may be taken into a table without the strict reader."""
CLOSENESS = 0.8
"""Similarity above which an unknown column counts as a typing error of a known one."""


def read(path: Path) -> list[Judgment]:
    """All rows of a file; `.csv` is CSV, everything else JSON Lines.

    Raises UserError: no such file, not text, no rows, or the first row that is wrong, with its line and field.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({_one_line(error)})") from None
    if path.suffix.lower() == ".csv":
        rows = [row_of(given, where) for given, where in csv_rows(io.StringIO(text, newline=""), path)]
    else:
        rows = list(_json_lines(text, path))
    if not rows:
        raise UserError(f"{path}: holds no judgments")
    return rows


def lines_in(path: Path) -> int:
    """Number of lines in a file, at the speed of the disk; 0 for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(2**20), b""))
    except OSError:
        return 0


def read_table(path: Path) -> JudgmentTable:
    """All rows of a file, as `judgment_read` would accept them, one at a time.

    Raises UserError: as `judgment_read`.
    """
    filling = Filling(_FOR_A_TABLE)
    try:
        for given, where in _csv_file(path) if path.suffix.lower() == ".csv" else _json_rows(path):
            if not filling.take(given):
                filling.add(row_of(given, where), given)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({' '.join(str(error).split())})") from None
    found = filling.table()
    if not len(found):
        raise UserError(f"{path}: holds no judgments")
    return found


def _json_rows(path: Path) -> Iterator[tuple[Any, str]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            try:
                given = from_json(text, allow_inf_nan=False)
            except ValueError:
                given = object_of(text.decode("utf-8"), f"{path}, line {number}")
            yield given, f"{path}, line {number}"


def _csv_file(path: Path) -> Iterator[tuple[Any, str]]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        yield from csv_rows(text, path)


def _json_lines(text: str, path: Path) -> Iterator[Judgment]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            # Five times as fast as through an object, and right where it accepts a row, except for the check in the next line.
            row = Judgment.model_validate_json(line)
            plain = row.system_a != row.system_b and all(map(str.strip, _needed_of(row)))
        except ValidationError:
            plain = False
        yield row if plain else row_of(object_of(line, where), where)


def _needed_of(row: Judgment) -> tuple[str, ...]:
    return row.context, row.subset, row.system_a, row.system_b, row.judge


def object_of(line: str, where: str) -> Any:
    """The value of a line of JSON. Raises UserError: it is no JSON."""
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{where}: not JSON ({_one_line(error)})") from None


def csv_rows(lines: Iterable[str], path: Path) -> Iterator[tuple[dict[str, str], str]]:
    """The cells of each row by column, without empty ones, and the place of the row in the file.

    Raises UserError: not CSV, a column is missing, unknown or there twice, or a row of another width.
    """
    reader = csv.reader(lines, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_names(header, f"{path}, line 1")
        missing = [name for name in NEEDED if name not in header]
        if missing:
            raise UserError(f"{path}, line 1: column {missing[0]!r} is missing; needed are {', '.join(NEEDED)}")
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise UserError(f"{path}, line 1: column {twice!r} is there twice")
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(header):
                raise UserError(f"{where}: {len(cells)} cells where the header has {len(header)}")
            yield {n: c for n, c in zip(header, cells, strict=True) if c != "" or n not in OPTIONAL_EMPTY}, where
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not CSV ({_one_line(error)})") from None


def row_of(given: Any, where: str) -> Judgment:
    """One row from its names and values. Raises UserError, with the wrong field and its place."""
    if not isinstance(given, dict):
        raise UserError(f"{where}: a judgment is a JSON object, not {type(given).__name__}")
    _check_names(given, where)
    flat = {name: value for name, value in given.items() if name in PLAIN or name in EXTRA}
    axes: dict[str, Any] = dict(given["axes"]) if isinstance(given.get("axes"), dict) else {}
    if given.get("axes") is not None and not isinstance(given["axes"], dict):
        raise UserError(f"{where}, field axes: an object of axis → winner and strength is needed")
    for name in AXIS_COLUMNS:
        if given.get(name) is not None:
            _, axis, part = name.split(".")
            marked = axes.setdefault(axis, {})
            if isinstance(marked, dict):
                marked[part] = given[name]
    for name in NEEDED:
        if isinstance(given.get(name), str) and not given[name].strip():
            raise UserError(f"{where}, field {name}: is empty")
    try:
        row = Judgment.model_validate({**flat, "axes": {a: m for a, m in axes.items() if m is not None}})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{where}, field {field}: {_one_line(first['msg'])} (given: {str(first['input'])[:60]!r})") from None
    if row.system_a == row.system_b:
        raise UserError(f"{where}, field system_b: {row.system_a!r} is set against itself")
    return row


def _check_names(names: Iterable[str], where: str) -> None:
    for name in names:
        if name not in COLUMNS and name != "axes":
            near = _near(name)
            if near:
                raise UserError(f"{where}, field {name}: unknown; did you mean {near!r}?")


@lru_cache(maxsize=256)
def _near(name: str) -> str | None:
    # Cached, because every line of a file has the same names.
    found = difflib.get_close_matches(name, COLUMNS, 1, CLOSENESS)
    return found[0] if found else None


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def write(rows: Iterable[Judgment], path: Path) -> None:
    """Write rows so that `read` gives the same ones; `.csv` is CSV, everything else JSON Lines."""
    text = as_csv(rows) if path.suffix.lower() == ".csv" else as_json_lines(rows)
    write_whole(path, text)


def as_json_lines(rows: Iterable[Judgment]) -> str:
    """Rows as JSON Lines: one object per line, with the flat column names."""
    return "".join(json.dumps(_flat(row), ensure_ascii=False) + "\n" for row in rows)


def as_csv(rows: Iterable[Judgment]) -> str:
    """Rows as CSV, with a header of all columns."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in _flat(row).items()} for row in rows)
    return out.getvalue()


def _flat(row: Judgment) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(row, name) for name in (*PLAIN, *EXTRA)}
    for axis, mark in row.axes.items():
        found[f"axes.{axis}.winner"], found[f"axes.{axis}.strength"] = mark.winner, mark.strength
    return found
