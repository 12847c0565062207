"""Where results are printed: as wide as the terminal, and off a terminal as wide as they are.

A log or a file cannot be widened by who reads it, so nothing is folded or cut there. On a terminal names give way before
numbers do, because a figure that is cut is another figure; a name that gave way stands in full below.
"""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

WIDE: Final = 10_000
"""Columns of a reader that is no terminal: more than any table here has."""
LEAST_NAME: Final = 12
"""Columns that a name keeps; a terminal that is narrower still folds lines, and cuts no figure."""


def screen() -> Console:
    """The console for standard output."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDE
    return console


def print_table(console: Console, table: Table, names: Sequence[str]) -> None:
    """Print a table whose first column is `names`, shortened where the terminal has no room, and in full below it."""
    for column in table.columns:
        column.no_wrap = True
    before = console.width
    over = _needs(console, table) - before
    longest = max((cell_len(name) for name in names), default=0)
    room = max(LEAST_NAME, longest - max(over, 0))
    short = list(dict.fromkeys(name for name in names if cell_len(name) > room))
    if short:
        table.columns[0].max_width = room
        table.columns[0].overflow = "ellipsis"
    console.width = max(before, _needs(console, table))
    console.print(table)
    console.width = before
    for name in short:
        console.print(Text(f"{set_cell_size(name, room - 1)}… is {name}"), soft_wrap=True)


def _needs(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(width=WIDE), table).maximum
