"""The events section of the page: its table for one subset, in the same words as the terminal."""

from dataclasses import dataclass

from harness.figures.events_words import HEAD, Rows, event_notes, event_rows
from harness.reports.view import PageView, Subset


@dataclass(frozen=True, slots=True)
class EventsSection:
    """A table of text; the first column names the agent. `notes`: remarks that belong to no cell."""

    head: tuple[str, ...]
    rows: Rows
    notes: tuple[str, ...]


def section(view: PageView, subset: Subset) -> EventsSection:
    """The section for one subset; without rows in a run without events."""
    mine = [(a.name, a.slices[subset].cell.events) for a in view.agents if a.spoken and subset in a.slices]
    return EventsSection(HEAD, event_rows(mine), event_notes(mine))
