"""Rows of a user's CSV, each with its line.

The delimiter is that of the three in use (comma, semicolon, tab) whose header has the most of the wanted columns: a
spreadsheet chooses it by the language of its machine, and a look at the first line decides it without a guess. A row must have
a cell for every column, because a shift by one column would change what every other cell means; empty cells beyond the last
column are what spreadsheets leave there. A quote before a formula sign, which `csv_text` writes, is taken off again.
"""

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.nearest import did_you_mean, nearest
from harness.tables.csv_text import without_guard
from harness.tables.lines import lines_of

MOST_OF_A_CELL: Final = 2**20
"""Characters: a reason has some hundred, one that quotes a whole conversation 200,000. A quote that is never closed ends
here."""
MOST_COLUMNS: Final = 1_000
_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_MOST_OF_A_NUMBER: Final = 40

csv.field_size_limit(max(csv.field_size_limit(), MOST_OF_A_CELL))  # The library's only door to it, for the whole process.


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by column. `where`: its place, as an error names it."""

    cells: Mapping[str, str]
    where: str


class CsvRows:
    """The rows of a file, to be read once, and its columns."""

    def __init__(self, path: Path, wanted: Collection[str], named: str | None = None, at: str = "{}:{}") -> None:
        """`wanted`: the columns that tell the delimiter. `named`: what errors call the file; `at`: how they name a line of it.

        Raises UserError: not readable, a bad header, a column twice.
        """
        self._named, self._at = named or str(path), at
        self._lines = lines_of(path, self._named)
        head = next(self._lines, "")
        self.delimiter = max(_DELIMITERS, key=lambda sign: len(set(wanted) & set(_cells_of(head, sign))))
        self._before = 0
        self._reader = csv.reader(chain([head] if head else [], self._lines), delimiter=self.delimiter, strict=True)
        names = [cell.strip() for cell in self._next() or ()]
        while names and not names[-1]:
            names.pop()
        self.columns = tuple(names)
        if len(names) > MOST_COLUMNS:
            raise UserError(f"{self.where}: {len(names)} columns, and no table here has more than {MOST_COLUMNS}")
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"{self.where}: column {twice[:60]!r} is there twice")

    def must_have(self, needed: Collection[str], known: Collection[str] | None = None, more: str = "") -> None:
        """Raises UserError: a column of `needed` is missing, or one is not among `known`. `more`: what to do, in words."""
        strange = [name for name in self.columns if known is not None and name not in known]
        missing = [name for name in needed if name not in self.columns]
        if not strange and not missing:
            return
        wrong = f"column {strange[0][:40]!r} is unknown" if strange else f"column {missing[0]!r} is missing"
        names = f"columns are {', '.join(known)}" if strange and known else f"needed are {', '.join(needed)}"
        if strange:
            near = did_you_mean(strange[0], known or ())
        else:
            found = nearest(missing[0], (name for name in self.columns if name not in needed))
            near = f"; did you mean it by {found[:40]!r}?" if found else ""
        also = more or names
        also = f" {also[0].upper()}{also[1:]}" if near else f"; {also}"
        raise UserError(f"{self.where}: {wrong} {self.read_as}{near}{also}")

    @property
    def read_as(self) -> str:
        """The delimiter in words."""
        return f"(read as divided by {_DELIMITERS[self.delimiter]})"

    def __iter__(self) -> Iterator[Row]:
        """Raises UserError: a row of another width, bad quoting, a cell that is too long."""
        for row in self.each():
            if isinstance(row, UserError):
                raise row
            yield row

    def each(self) -> Iterator[Row | UserError]:
        """The rows, with the error in the place of each that has another width: the rows after it are whole.

        Raises UserError: bad quoting, a cell that is too long.
        """
        width = len(self.columns)
        while (cells := self._next()) is not None:
            if not any(cells):
                continue
            if len(cells) < width or any(cells[width:]):
                told = f"{self.where}: {len(cells)} cells where the header has {width} {self.read_as}"
                cut = "; the line ends before its last column, so save the file again, whole" if len(cells) < width else ""
                yield UserError(f"{told}{cut}")
            else:
                yield Row({n: without_guard(c) for n, c in zip(self.columns, cells, strict=False)}, self.where)

    @property
    def where(self) -> str:
        """The place of the row that was read last."""
        return self._at.format(self._named, self._before)

    def _next(self) -> list[str] | None:
        self._before = self._reader.line_num + 1
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise UserError(f"{self.where}: {_in_words(str(error))}") from None


def number(cell: object, where: str, *, low: float = float("-inf"), of: str = "number") -> float:
    """The number in a cell. Raises UserError: no finite number, or one below `low`; `of`: what it is, in words."""
    text = str(cell).strip() if isinstance(cell, str) else repr(cell) if type(cell) in (int, float) else ""
    value = float(text) if len(text) <= _MOST_OF_A_NUMBER and _NUMBER.fullmatch(text) else float("nan")
    if not (low <= value and abs(value) < float("inf")):
        comma = "; write the decimal sign as a point" if _NUMBER.fullmatch(text.replace(",", ".", 1)) and "," in text else ""
        raise UserError(f"{where}: {str(cell)[:40]!r} is no {of}{comma}")
    return value


def _cells_of(head: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([head], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _in_words(error: str) -> str:
    if "field larger" in error:
        return f"a cell of over {MOST_OF_A_CELL:,} characters, or a quote that is never closed"
    if "unexpected end" in error:
        return "a quote that opens in this row is never closed"
    return f"not CSV ({' '.join(error.split())})"
