"""A chart with the words it needs: what it is, how to read it, and its numbers as a table for those who cannot see it."""

from dataclasses import dataclass

from harness.reports.charts.theme import Spec


@dataclass(frozen=True, slots=True)
class Table:
    """The chart's own numbers. The first column of each row names it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the report. `name` is its file name among the exports and its place on the page."""

    name: str
    title: str
    caption: str
    spec: Spec
    table: Table | None = None
    by_subset: bool = True
    """Follows the page's switch between all, regular and adversarial conversations; its table is of all."""
    narrow: bool = False
    """Drawn at its own width instead of the page's."""
