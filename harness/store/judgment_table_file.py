"""Files of very many judgments, read one row at a time into columns.

A row that is plainly right becomes numbers. Any other is read by the strict reader of judgment files, which accepts it or
raises an error of one line; so this reader has no separate rules.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from harness.errors import UserError
from harness.store import judgment_files as files
from harness.store.judgment_columns import Filling
from harness.store.judgment_table import JudgmentTable

_READ: Final = frozenset((*files.NEEDED, "strength", "shown_first", "presentation", "rationale", "repeat", "condition", "axes"))
"""Columns of a row of a file that may be taken without the strict reader."""


def lines_in(path: Path) -> int:
    """Number of lines in a file, at the speed of the disk; 0 for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(2**20), b""))
    except OSError:
        return 0


def read_table(path: Path) -> JudgmentTable:
    """All rows of a file, as `judgment_files.read` would accept them, one at a time.

    Raises UserError: as `judgment_files.read`.
    """
    filling = Filling(_READ)
    try:
        for given, where in _csv_rows(path) if path.suffix.lower() == ".csv" else _json_rows(path):
            if not filling.take(given):
                filling.add(files.row_of(given, where), given)
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
                given = files.object_of(text.decode("utf-8"), f"{path}, line {number}")
            yield given, f"{path}, line {number}"


def _csv_rows(path: Path) -> Iterator[tuple[Any, str]]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        yield from files.csv_rows(text, path)
