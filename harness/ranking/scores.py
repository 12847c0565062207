"""A user's own table beside a board: other scores of its systems, and the model family of each.

CSV with a column `system` (a judge's id may be there too, for its family), an optional column `family`, and any number of
columns of numbers. Each column of numbers is correlated with Elo; families show whether judges favour their own.
"""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError


@dataclass(frozen=True, slots=True)
class Scores:
    """`families`: system or judge → family. `scores`: column → system → value (None: empty cell)."""

    families: Mapping[str, str]
    scores: Mapping[str, Mapping[str, float | None]]


def read_scores(path: Path) -> Scores:
    """Read the table.

    Raises UserError: unreadable, no column `system`, a system twice, a cell that is no number; with file and line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, strict=True)
            rows = [(reader.line_num, row) for row in reader]
            header = [name for name in reader.fieldnames or () if name]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV ({' '.join(str(error).split())})") from error
    if "system" not in header:
        raise UserError(f"{path}, line 1: a column `system` is needed")
    columns = [name for name in header if name not in ("system", "family")]
    families: dict[str, str] = {}
    scores: dict[str, dict[str, float | None]] = {name: {} for name in columns}
    seen: set[str] = set()
    for number, row in rows:
        system = (row["system"] or "").strip()
        if not system or system in seen:
            raise UserError(f"{path}, line {number}: system {system!r} is {'empty' if not system else 'named twice'}")
        seen.add(system)
        if family := (row.get("family") or "").strip():
            families[system] = family
        for name in columns:
            scores[name][system] = _number(row[name], f"{path}, line {number}, column {name}")
    return Scores(families, scores)


def _number(cell: str | None, where: str) -> float | None:
    text = (cell or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{where}: {text!r} is not a number")
    return value
