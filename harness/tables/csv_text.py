"""CSV for spreadsheets, terminals and this program's own reader.

Cells are text of others. One that begins like a formula is run by a spreadsheet, so a quote goes before it, as spreadsheets
write it themselves; `without_guard` takes exactly that quote off, so a table that is read again is the same. A control or
formatting character would move the cursor of whoever prints the file, or turn the order of its words; it becomes a dot
(`harness.printable`). So a reason returns as far as it can be shown.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Final

from harness.printable import printable

_FORMULA: Final = re.compile(r"'*[=+\-@\t]")
"""A quote that was there before is guarded too, or taking one off would change the text."""


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and rows; None is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe_cell(name) for name in columns])
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return out.getvalue()


def safe_cell(value: object) -> object:
    """The value of a cell: text that can be shown and is no formula; a number as it is; None empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    text = printable(value.replace("\r\n", "\n"))
    return "'" + text if _FORMULA.match(text) else text


def without_guard(cell: str) -> str:
    """A cell without the quote that keeps a spreadsheet from running it."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell, 1) else cell
