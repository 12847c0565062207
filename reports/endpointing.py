"""The endpointing section of the page: its two tables for one subset, in the same words as `harness endpointing`."""

from dataclasses import dataclass

from harness.figures.endpointing_words import ENDS_HEAD, PAUSES_HEAD, Rows, ends_rows, pauses_rows, talked_over, untimed
from harness.reports.view import PageView, Subset


@dataclass(frozen=True, slots=True)
class EndpointingSection:
    """Tables of text; the first column names the agent. `notes`: remarks that belong to no cell."""

    ends_head: tuple[str, ...]
    ends: Rows
    pauses_head: tuple[str, ...]
    pauses: Rows
    notes: tuple[str, ...]


def section(view: PageView, subset: Subset) -> EndpointingSection:
    """The section for one subset, with rows only for agents that have figures."""
    mine = [(a.name, a.slices[subset].cell) for a in view.agents if a.spoken and subset in a.slices]
    known = [(name, found) for name, found in mine if found.dead_air_ms.n or found.endpointing]
    return EndpointingSection(
        ENDS_HEAD, ends_rows(known), PAUSES_HEAD, pauses_rows(known), (*talked_over(mine), *untimed(mine))
    )
