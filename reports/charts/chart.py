"""A chart with its title, its caption, and its numbers as a table for readers who cannot see it."""

from dataclasses import dataclass

from harness.reports.charts.theme import Spec


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a chart. The first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the report. `name` is its file name among the exports and its anchor on the page."""

    name: str
    title: str
    caption: str
    spec: Spec
    table: Table | None = None
    by_subset: bool = True
    """True if the chart follows the page's switch between all, regular and adversarial conversations; its table has all."""
    narrow: bool = False
    """True if it is drawn at its own width instead of the page's."""
