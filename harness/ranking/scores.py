"""A user's own table beside a board: other scores of its systems, and the model family of each.

CSV with a column `system` (a judge's id may be there too, for its family), an optional column `family`, and any number of
columns of numbers. Each column of numbers is correlated with Elo; families show whether judges favour their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UserError
from harness.tables.csv_rows import CsvRows, number
from harness.tables.names import NamesRead


@dataclass(frozen=True, slots=True)
class Scores:
    """`families`: system or judge → family. `scores`: column → system → value (None: empty cell)."""

    families: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


def read_scores(path: Path) -> Scores:
    """Read the table.

    Raises UserError: unreadable, no column `system`, a system twice, a cell that is no number; with file and line.
    """
    rows = CsvRows(path, ("system", "family"), at="{}, line {}")
    rows.must_have(("system",))
    columns = [name for name in rows.columns if name and name not in ("system", "family")]
    names = NamesRead()
    families: dict[str, str] = {}
    scores: dict[str, dict[str, float | None]] = {name: {} for name in columns}
    seen: set[str] = set()
    for row in rows:
        system = names.one("system", row.cells["system"], row.where)
        if not system or system in seen:
            raise UserError(f"{row.where}: system {system!r} is {'empty' if not system else 'named twice'}")
        seen.add(system)
        if family := row.cells.get("family", "").strip():
            families[system] = family
        for name in columns:
            cell = row.cells[name].strip()
            scores[name][system] = number(cell, f"{row.where}, column {name}") if cell else None
    return Scores(families, scores)
