"""The table in which a person corrects the detected pauses and ends of recordings, by file, in seconds.

For a file in the table, only the table counts: its pauses are those of its rows. So a falsely detected pause
can be removed, which a table of additions could not express. The columns are those that an import writes, so
that a correction starts from the detected pauses.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.files import write_whole
from harness.scenarios.imports.imported import ImportFault

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
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ImportFault(f"{path}: cannot be read as text") from None
    rows = csv.DictReader(io.StringIO(text))
    if "file" not in (rows.fieldnames or ()) or set(rows.fieldnames or ()) - set(COLUMNS):
        raise ImportFault(f"{path}:1: its columns must be {','.join(COLUMNS)}")
    found: dict[str, Corrected] = {}
    for row in rows:
        where = f"{path}:{rows.line_num}"
        if None in row or not (name := (row["file"] or "").strip()):
            raise ImportFault(f"{where}: a row is a file and up to three numbers")
        one = found.setdefault(name, Corrected())
        start, end, last = (_seconds(row.get(column), f"{where}: {name}: {column}") for column in COLUMNS[1:])
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
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for name, one in rows:
        table.writerows((name, f"{start:.3f}", f"{end:.3f}", "") for start, end in one.pauses)
        table.writerows((name, "", "", f"{end:.3f}") for end in one.ends)
    write_whole(path, out.getvalue())


def _seconds(cell: str | None, where: str) -> float | None:
    if cell is None or not cell.strip():
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ImportFault(f"{where}: {cell.strip()[:40]!r} is no number of seconds")
    return value
