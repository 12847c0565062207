"""Console width: the terminal's, or unlimited when output is piped.

A reader cannot widen a log or a file, so nothing is folded or cut there. On a terminal names are shortened before numbers,
because a figure that is cut is another figure; a shortened name is printed in full below the table.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print all statistics and cautions, as on the page.")]
WIDE: Final = 10_000
"""Console width in columns when output is piped: more than any table here needs."""
LEAST_NAME: Final = 12
"""Least width of a name in columns; a narrower terminal folds lines instead of cutting a figure."""


def screen() -> Console:
    """The console for standard output."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDE
    return console


def print_table(console: Console, table: Table, names: Sequence[str]) -> None:
    """Print a table whose first column is `names`: shortened if the terminal is too narrow, then in full below it."""
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


def words_table(title: str, head: Sequence[str], left: int = 1) -> Table:
    """An empty table of words under a title; columns after the first `left` are aligned to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for k, name in enumerate(head):
        table.add_column(name, justify="left" if k < left else "right", no_wrap=not k)
    return table


def _needs(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(width=WIDE), table).maximum
