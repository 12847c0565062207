"""The table in which a person corrects the detected pauses and ends of recordings, by file, in seconds.

For a file in the table, only the table counts: its pauses are those of its rows. So a falsely detected pause
can be removed, which a table of additions could not express. The columns are those that an import writes, so
that a correction starts from the detected pauses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UserError
from harness.files import write_whole
from harness.scenarios.imports.imported import ImportFault
from harness.tables.csv_rows import CsvRows, number
from harness.tables.csv_text import csv_text

TABLE = "pauses.csv"
COLUMNS = ("file", "pause_start_s", "pause_end_s", "end_s")


@dataclass(slots=True)
class Corrected:
    """The table's entries for one file, in seconds: pauses in order, and ends of turns (empty: as detected)."""

    pauses: list[tuple[float, float]] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)


def read_table(path: Path) -> Mapping[str, Corrected]:
    """File name → its entries. Raises `ImportFault` with the number of the first wrong row's line."""
    try:
        return _corrected(CsvRows(path, COLUMNS))
    except UserError as error:
        raise ImportFault(str(error)) from None


def _corrected(rows: CsvRows) -> Mapping[str, Corrected]:
    rows.must_have(("file",), COLUMNS)
    found: dict[str, Corrected] = {}
    for row in rows:
        where = row.where
        if not (name := row.cells["file"].strip()):
            raise ImportFault(f"{where}: a row is a file and up to three numbers")
        one = found.setdefault(name, Corrected())
        start, end, last = (_seconds(row.cells.get(column, ""), f"{where}: {name}: {column}") for column in COLUMNS[1:])
        if (start is None) != (end is None):
            raise ImportFault(f"{where}: {name}: a pause has a start and an end")
        if start is not None and end is not None:
            if end <= start:
                raise ImportFault(f"{where}: {name} at {start:.3f} s: the pause ends before it begins")
            if one.pauses and start < one.pauses[-1][1]:
                raise ImportFault(f"{where}: {name} at {start:.3f} s: the pause begins before the one above has ended")
            one.pauses.append((start, end))
        if last is not None:
            if one.ends and last <= one.ends[-1]:
                raise ImportFault(f"{where}: {name} at {last:.3f} s: ends must stand in their order")
            one.ends.append(last)
    return found


def write_table(rows: Iterable[tuple[str, Corrected]], path: Path) -> None:
    """Write detected pauses and ends as a table for `read_table`."""
    cells = [
        (name, *seconds)
        for name, one in rows
        for seconds in (*((f"{a:.3f}", f"{b:.3f}", "") for a, b in one.pauses), *(("", "", f"{end:.3f}") for end in one.ends))
    ]
    write_whole(path, csv_text(COLUMNS, cells))


def _seconds(cell: str, where: str) -> float | None:
    return number(cell, where, low=0.0, of="number of seconds") if cell.strip() else None
