"""People's preference between each two agents of a run, in the form in which every door shows it.

It answers the question for which a run is mostly played, and long before there is a rating: it needs votes on two agents alone,
and no judge has a part in it (`harness.ranking.head_to_head`).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from harness.figures.endpointing import Model
from harness.figures.silence import votes_with_silences
from harness.figures.validity import votes_to_quote
from harness.ranking.head_to_head import HeadToHead, head_to_head
from harness.store.judgment import Presentation
from harness.store.selection import Selection


class Preferred(Model):
    """One agent that people prefer to another, in one condition: a row of `head_to_head`."""

    agent: str
    """The one with more of the votes."""
    over: str
    condition: str
    presentation: Presentation
    in_words: str
    """The figure in one sentence without its full stop."""
    preferred: int
    """Conversations in which the votes prefer it."""
    conversations: int
    tied: int
    votes: int
    votes_for: int
    votes_tied: int
    share: float
    """Its share of the votes, a tie half."""
    at_least: float
    """That share's lower bound at 95 %, corrected for the direction, and for the choice among `compared` pairs."""
    interval: tuple[float, float]
    compared: int
    raters: int
    effective_raters: float
    whose: str | None = None
    """The one rater whose preference it is; null where it is that of several."""


def sentences(rows: Sequence[Preferred], conditions: Sequence[str]) -> tuple[str, ...]:
    """One sentence each, the surest first, with the condition where there are several."""
    surest = sorted(rows, key=lambda row: -row.at_least)
    return tuple(f"{row.condition}: {row.in_words}." if len(conditions) > 1 else f"{row.in_words}." for row in surest)


def preferences(selection: Selection, condition: str, inside: Collection[str] | None = None) -> tuple[HeadToHead, ...]:
    """The preferences in one condition of a run. `inside`: only these conversations; None: all."""
    table, _ = votes_with_silences(selection, condition)
    if inside is not None and table.contexts:
        known = np.array([name in inside for name in table.contexts], dtype=bool)
        table = table.where(known[table["context"]])
    return head_to_head(table, condition, votes_to_quote(selection, condition))


def preferred(selection: Selection, name: Callable[[str, str], str] | None = None) -> list[Preferred]:
    """The preferences in a run, condition by condition. `name`: name of an agent of a condition where it is shown."""
    return [
        Preferred.model_validate({**shown.as_object, "condition": condition})
        for condition in selection.conditions
        for found in preferences(selection, condition)
        for shown in [replace(found, agent=name(found.agent, condition), over=name(found.over, condition)) if name else found]
    ]
