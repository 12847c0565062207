"""Judgment files: JSON Lines and CSV, in and out.

Other programs write these files too, so the column names are stable, the first seven suffice, and the error for a file that
cannot be read names file, line and field. An unknown column is ignored, since more may be added; one that is nearly a known
name is refused, since it is a typing error that would silently drop data.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from harness.errors import UserError
from harness.files import write_whole
from harness.nearest import nearest
from harness.printable import visible_json
from harness.store.judgment import AXES, Judgment
from harness.store.judgment_table import Filling, JudgmentTable
from harness.tables.csv_rows import CsvRows
from harness.tables.csv_text import csv_text
from harness.tables.json_rows import numbered_lines, pairs_in, value_of
from harness.tables.names import NamesRead

NEEDED = ("context", "subset", "system_a", "system_b", "source", "judge", "winner")
PLAIN = (*NEEDED, "strength", "shown_first", "presentation", "rationale")
EXTRA = ("own_family", "repeat", "purpose", "condition", "replicate", "draw_rate")
AXIS_COLUMNS = tuple(f"axes.{axis}.{part}" for axis in AXES for part in ("winner", "strength"))
COLUMNS = (*PLAIN, *AXIS_COLUMNS, *EXTRA)
OPTIONAL_EMPTY = frozenset(COLUMNS) - frozenset(NEEDED) - {"rationale"}
"""An empty cell of these means "not given"."""
_FOR_A_TABLE = frozenset((*PLAIN, "repeat", "condition", "axes"))
"""Columns of a row of a file that may be taken into a table without the strict reader."""
_FIELDS = frozenset(Judgment.model_fields)
_NAMES = {"context": "context", "system_a": "system", "system_b": "system", "judge": "judge"}
"""Fields that name something, and what: two spellings of one name would be two systems, contexts or voters."""
_AT = "{}, line {}"
_OF_VERDICTS, _OF_REPLIES = (b"winner", b"system_a"), (b"text", b"reply", b"response", b"answer", b"completion", b"output")
"""Parts of names of columns."""
CLOSENESS = 0.8
"""Similarity above which an unknown column counts as a typing error of a known one."""


def read(path: Path, names: NamesRead | None = None) -> list[Judgment]:
    """All rows of a file; `.csv` is CSV, everything else JSON Lines. `names` collects how names are spelled.

    Raises UserError: no such file, not text, no rows, or the first row that is wrong, with its line and field.
    """
    names = names or NamesRead()
    rows = [_plain_row(given, where, names) for given, where in _given(path)]
    if not rows:
        raise UserError(f"{path}: holds no judgments")
    return rows


def may_hold_replies(path: Path) -> bool:
    """True for a file that begins as one of replies does, and as none of judgments."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(2**16).lower()
            return not any(name in head for name in _OF_VERDICTS) and any(name in head for name in _OF_REPLIES)
    return False


def lines_in(path: Path) -> int:
    """Number of lines in a file, at the speed of the disk; 0 for one that cannot be read."""
    try:
        if not path.is_file():
            return 0
        with path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(2**20), b""))
    except (OSError, ValueError):
        return 0


def read_table(path: Path, names: NamesRead | None = None) -> JudgmentTable:
    """All rows of a file, as `read` would accept them, one at a time. Raises UserError: as `read`."""
    filling, names = Filling(_FOR_A_TABLE), names or NamesRead()
    for given, where in _given(path, fast=True):
        if not (_is_spelled(given, names) and filling.take(given)):
            filling.add(row_of(given, where, names), given)
    found = filling.table()
    if not len(found):
        raise UserError(f"{path}: holds no judgments")
    return found


def _given(path: Path, *, fast: bool = False) -> Iterator[tuple[Any, str]]:
    if path.suffix.lower() == ".csv":
        yield from _csv_rows(path)
        return
    for line, where in numbered_lines(path, at=_AT):
        yield (_quickly(line, where) if fast else value_of(line, where)), where


def _quickly(line: str, where: str) -> Any:
    """The value of a line at a third of the time, where its colons show that no name is there twice."""
    try:
        given = from_json(line, allow_inf_nan=False)
    except ValueError:
        return value_of(line, where)
    plain = type(given) is dict and line.count(":") == pairs_in(given)
    huge = plain and any(isinstance(v, int | float) and not -(2**62) < v < 2**62 for v in given.values())
    return given if plain and not huge else value_of(line, where)


def _csv_rows(path: Path) -> Iterator[tuple[dict[str, str], str]]:
    """The cells of each row by column, without empty ones, and the place of the row in the file."""
    rows = CsvRows(path, COLUMNS, at=_AT)
    _check_names(rows.columns, rows.where)
    if rows.columns:
        rows.must_have(NEEDED)
    for row in rows:
        yield {n: c for n, c in row.cells.items() if c != "" or n not in OPTIONAL_EMPTY}, row.where


def _plain_row(given: Any, where: str, names: NamesRead) -> Judgment:
    if type(given) is dict and _FIELDS.issuperset(given) and _is_spelled(given, names):
        try:
            # Five times as fast as the strict reader, and right where it accepts a row, except for the check in the next line.
            row = Judgment.model_validate(given)
            if row.system_a != row.system_b and all(
                map(str.strip, (row.context, row.subset, row.system_a, row.system_b, row.judge))
            ):
                return row
        except ValidationError:
            pass
    return row_of(given, where, names)


def _is_spelled(given: Any, names: NamesRead) -> bool:
    """True if the names of a row are strings in the spelling in which they are read."""
    return type(given) is dict and all(
        type(name := given.get(field)) is str and names.is_one(kind, name) for field, kind in _NAMES.items()
    )


def row_of(given: Any, where: str, names: NamesRead) -> Judgment:
    """One row from its columns and values, its names in one spelling. Raises UserError, with the wrong field and its place."""
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
    for name, kind in _NAMES.items():
        if isinstance(flat.get(name), str):
            flat[name] = names.one(kind, flat[name], f"{where}, field {name}")
    try:
        row = Judgment.model_validate({**flat, "axes": {a: m for a, m in axes.items() if m is not None}})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"{where}, field {field}: {' '.join(first['msg'].split())} (given: {repr(first['input'])[:60]})"
        ) from None
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
    return nearest(name, COLUMNS, CLOSENESS)


def write(rows: Iterable[Judgment], path: Path) -> None:
    """Write rows so that `read` gives the same ones; `.csv` is CSV, everything else JSON Lines."""
    text = as_csv(rows) if path.suffix.lower() == ".csv" else as_json_lines(rows)
    write_whole(path, text)


def as_json_lines(rows: Iterable[Judgment]) -> str:
    """Rows as JSON Lines: one object per line, with the flat column names."""
    return "".join(visible_json(json.dumps(_flat(row), ensure_ascii=False)) + "\n" for row in rows)


def as_csv(rows: Iterable[Judgment]) -> str:
    """Rows as CSV, with a header of all columns."""
    flat = map(_flat, rows)
    return csv_text(COLUMNS, ([row.get(name) for name in COLUMNS] for row in flat))


def _flat(row: Judgment) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(row, name) for name in (*PLAIN, *EXTRA)}
    for axis, mark in row.axes.items():
        found[f"axes.{axis}.winner"], found[f"axes.{axis}.strength"] = mark.winner, mark.strength
    return found
