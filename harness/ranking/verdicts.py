"""Judgment rows as arrays: the one form that every fit reads.

A verdict is a signed level: its sign gives the winner, its size how clear it is (1–5), and 0 is a tie. Judges and people give
the same rows. `chosen` selects the rows of a board.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import UserError
from harness.ranking import chosen
from harness.ranking.chosen import Source
from harness.ranking.scale import Floats, Ints
from harness.store.judgment import AXES, Judgment
from harness.store.judgment_columns import table_of

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


def select(
    judgments: Iterable[Judgment],
    *,
    presentation: str | None = None,
    condition: str | None = None,
    source: Source | None = None,
    subset: str | None = None,
) -> list[Judgment]:
    """The rows of one presentation and condition, and on request of one source and one subset; audits of a judge are left out.

    A comparison that a rule decided, because one side gave no reply, is on people's board as well: silence must not win
    there either.

    Raises UserError when rows of several presentations or conditions are given and none is chosen.
    """
    given = list(judgments)
    table = table_of(given)
    kept = chosen.of_one_board(table, presentation, condition, subset)
    if source is not None:
        kept[kept] = chosen.of_source(table.where(kept), source)
    return [row for row, stays in zip(given, kept.tolist(), strict=True) if stays]


def each_once(rows: Sequence[Judgment]) -> list[Judgment]:
    """The rows without exact repeats."""
    return [row for row, stays in zip(rows, chosen.each_once(table_of(rows)).tolist(), strict=True) if stays]


def axis_rows(judgments: Iterable[Judgment], axis: str) -> list[Judgment]:
    """Verdicts on one axis alone. A judge who marked other axes but not this one saw no clear advantage: a tie."""
    found = []
    for row in judgments:
        if row.axes:
            mark = row.axes.get(axis)  # type: ignore[call-overload]
            update = {"winner": "tie", "strength": 1} if mark is None else mark.model_dump()
            found.append(row.model_copy(update=update))
    return found


def weighted_rows(judgments: Iterable[Judgment], weights: Mapping[str, float]) -> list[Judgment]:
    """Verdicts made anew from the axis marks: the weighted mean of signed strengths, rounded away from zero.

    Raises UserError for an unknown axis, a negative weight, or no weight above zero.
    """
    unknown = sorted(set(weights) - set(AXES))
    if unknown:
        raise UserError(f"axis weights: unknown axis {unknown[0]!r}; axes are {', '.join(AXES)}")
    total = float(sum(weights.values()))
    if min(weights.values(), default=0.0) < 0 or total <= 0:
        raise UserError("axis weights: give weights of zero or more, at least one above zero")
    found = []
    for row in judgments:
        if not row.axes:
            continue
        mean = 0.0
        for axis, mark in row.axes.items():
            sign = {"a": 1, "b": -1, "tie": 0}[mark.winner]
            mean += weights.get(axis, 0.0) / total * sign * mark.strength
        # Rounded outwards, so that a slight preference stays one; 1e-9 keeps 3.0000000001 from becoming 4.
        strength = max(1, int(np.ceil(abs(mean) - 1e-9)))
        winner = "tie" if abs(mean) < 1e-9 else "a" if mean > 0 else "b"
        found.append(row.model_copy(update={"winner": winner, "strength": strength}))
    return found


def gather(
    judgments: Sequence[Judgment],
    *,
    lengths: Lengths | None = None,
    systems: Sequence[str] | None = None,
    contexts: Sequence[str] | None = None,
) -> Votes:
    """Rows → arrays. Systems and contexts are sorted by name unless an order is given.

    Raises UserError when there is no row, or when a row sets a system against itself.
    """
    if not judgments:
        raise UserError("no judgments to rank: the file or the chosen subset holds none")
    for row in judgments:
        if row.system_a == row.system_b:
            raise UserError(f"context {row.context}: {row.system_a} is set against itself")
    names = tuple(systems) if systems else tuple(sorted({s for r in judgments for s in (r.system_a, r.system_b)}))
    places = tuple(contexts) if contexts else tuple(sorted({r.context for r in judgments}))
    judges = tuple(sorted({r.judge for r in judgments}))
    name_at = {name: k for k, name in enumerate(names)}
    place_at = {place: k for k, place in enumerate(places)}
    judge_at = {judge: k for k, judge in enumerate(judges)}
    known = lengths or {}

    def words(row: Judgment) -> float:
        a, b = (known.get((row.context, system, row.replicate)) for system in (row.system_a, row.system_b))
        return 0.0 if a is None or b is None else float(np.log1p(a) - np.log1p(b))

    table = np.array(
        [
            (
                name_at[r.system_a],
                name_at[r.system_b],
                0 if r.winner == "tie" else r.strength if r.winner == "a" else -r.strength,
                place_at[r.context],
                judge_at[r.judge],
                SOURCES.index(r.source),
                0 if r.shown_first is None else 1 if r.shown_first == "a" else -1,
            )
            for r in judgments
        ],
        dtype=np.int64,
    )
    length = np.array([words(r) for r in judgments]) if known else np.zeros(len(judgments))
    first, second, level, context, judge, source, shown = table.T
    return Votes(names, places, judges, first, second, level, context, judge, source, shown, length)
