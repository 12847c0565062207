"""Judgment rows as arrays: the one form that every fit reads.

A verdict is a signed level: its sign gives the winner, its size how clear it is (1–5), and 0 is a tie. Judges and people give
the same rows. `chosen` selects the rows of a board.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import UserError
from harness.statistics.arrays import Floats, Ints
from harness.store.judgment import Judgment
from harness.store.judgment_table import Column, JudgmentTable, table_of

SOURCES = ("judge", "human")
Texts = Mapping[tuple[str, str, int], str]
"""(context, system, repeat) → the reply as judged."""
Lengths = Mapping[tuple[str, str, int], int]
"""(context, system, repeat) → length of the reply in words."""


def lengths_of(texts: Texts) -> Lengths:
    """The lengths of replies in words."""
    return {key: len(text.split()) for key, text in texts.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """n verdicts. `first` and `second` index `systems`; a positive `level` is a win of `first`."""

    systems: tuple[str, ...]
    contexts: tuple[str, ...]
    judges: tuple[str, ...]
    first: Ints
    second: Ints
    level: Ints
    """−5 … 5; 0 is a tie."""
    context: Ints
    judge: Ints
    source: Ints
    """Index into SOURCES."""
    shown: Ints
    """+1: `first` was shown first; −1: `second` was; 0: not known."""
    length: Floats
    """log((1 + words of first) / (1 + words of second)); 0 where not known."""

    def __len__(self) -> int:
        return int(self.first.size)

    def among(self, contexts: Sequence[str]) -> "Votes":
        """The same verdicts, their contexts numbered as in `contexts`, which may contain others too."""
        place = {name: k for k, name in enumerate(contexts)}
        at = np.array([place[name] for name in self.contexts], dtype=np.int64)
        return replace(self, contexts=tuple(contexts), context=at[self.context])


def axis_rows(judgments: Iterable[Judgment], axis: str) -> list[Judgment]:
    """Verdicts on one axis alone. A judge who marked other axes but not this one saw no clear advantage: a tie."""
    found = []
    for row in judgments:
        if row.axes:
            mark = row.axes.get(axis)  # type: ignore[call-overload]
            update = {"winner": "tie", "strength": 1} if mark is None else mark.model_dump()
            found.append(row.model_copy(update=update))
    return found


def gather(judgments: Iterable[Judgment]) -> Votes:
    """The verdicts of rows. Raises UserError: a row sets a system against itself."""
    return votes_of(table_of(judgments))


def votes_of(rows: JudgmentTable, lengths: Lengths | None = None) -> Votes:
    """The verdicts of a table, with the names that occur in it; `lengths`: words of each reply, for a model with a length term.

    Raises UserError: a row sets a system against itself.
    """
    same = np.flatnonzero(rows["first"] == rows["second"])
    if same.size:
        context, system = rows.contexts[rows["context"][same[0]]], rows.systems[rows["first"][same[0]]]
        raise UserError(f"context {context}: {system} is set against itself")
    first, systems = _narrowed(np.concatenate([rows["first"], rows["second"]]), rows.systems)
    context, contexts = _narrowed(rows["context"], rows.contexts)
    judge, judges = _narrowed(rows["judge"], rows.judges)
    n = len(rows)
    level = (rows["winner"] * rows["strength"]).astype(np.int64)
    return Votes(
        systems, contexts, judges, first[:n], first[n:], level, context, judge, rows["human"].astype(np.int64),
        rows["shown"].astype(np.int64), _longer(rows, lengths or {}),
    )  # fmt: skip


def _longer(rows: JudgmentTable, lengths: Lengths) -> Floats:
    """log((1 + words of first) / (1 + words of second)) of each row; 0 where one is not known."""
    n = len(rows)
    if not lengths:
        return np.zeros(n)
    columns = [np.concatenate([rows[name], rows[name]]) for name in ("context", "replicate")]
    replies = np.stack([columns[0], np.concatenate([rows["first"], rows["second"]]), columns[1]], axis=1).astype(np.int64)
    each, at = np.unique(replies, axis=0, return_inverse=True)
    known = [lengths.get((rows.contexts[c], rows.systems[s], int(k))) for c, s, k in each]
    words = np.array([np.nan if found is None else np.log1p(found) for found in known])[at.reshape(-1)]
    return np.asarray(np.nan_to_num(words[:n] - words[n:]), dtype=np.float64)


def _narrowed(index: Column, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    """The index restricted to the names that occur."""
    used, place = np.unique(index, return_inverse=True)
    return place.astype(np.int64), tuple(names[k] for k in used)
