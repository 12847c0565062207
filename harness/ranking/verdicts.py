"""Judgment rows as arrays: the one form that every fit reads.

A verdict is a signed level: its sign says who won, its size how clearly (1–5), and 0 is a tie. Judges and people give the
same rows. What may never share a fit is the *presentation*: a reply that was read and one that was heard with its delay
are two different objects, and a rating made of both would put latency on the quality axis (HEART harness design). So the
presentation is chosen here, once, and rows of several are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harness.errors import UserError
from harness.ranking.scale import Floats, Ints
from harness.store.judgment import AXES, Judgment, is_rule

SOURCES = ("judge", "human")
Source = Literal["judge", "human"]
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


def select(
    judgments: Iterable[Judgment],
    *,
    presentation: str | None = None,
    condition: str | None = None,
    source: Source | None = None,
    subset: str | None = None,
) -> list[Judgment]:
    """The rows of one presentation and condition, and on request of one source and one subset; audits of a judge are left out.

    A comparison that a rule decided, because one side gave no reply, stands on people's board as well: silence must not pay
    there either.

    Raises UserError when rows of several presentations or conditions are given and none is chosen.
    """
    rows = [
        row
        for row in judgments
        if row.purpose == "main"
        and (presentation is None or row.presentation == presentation)
        and (condition is None or row.condition == condition)
        and (subset is None or row.subset == subset)
    ]
    if source is not None:
        rows = _of_source(rows, source)
    over = sorted({row.condition for row in rows if row.condition})
    if len(over) > 1:
        raise UserError(
            f"the judgments hold several line conditions ({', '.join(over)}), each of which has a board of its own: choose one"
        )
    seen = sorted({row.presentation for row in rows})
    if len(seen) > 1:
        raise UserError(
            f"the judgments hold several presentations ({', '.join(seen)}), which never share a ranking: choose one"
        )
    return rows


def _of_source(rows: Sequence[Judgment], source: Source) -> list[Judgment]:
    own = [row for row in rows if row.source == source]
    if source == "judge":
        return own
    rules = sorted({row.judge for row in rows if is_rule(row.judge)})
    voted = {row.context for row in own}
    return own + [row for row in rows if rules and row.judge == rules[0] and row.context in voted]


def each_once(rows: Sequence[Judgment]) -> list[Judgment]:
    """The rows without exact repeats: one voter cannot give the very same verdict on one pair twice, so a file did."""
    return list({_identity(row): row for row in reversed(rows)}.values())[::-1]


def _identity(row: Judgment) -> tuple[object, ...]:
    marks = tuple(sorted((axis, mark.winner, mark.strength) for axis, mark in row.axes.items())) if row.axes else ()
    who = (row.context, row.system_a, row.system_b, row.source, row.judge, row.presentation, row.condition, row.replicate)
    return (*who, row.repeat, row.purpose, row.winner, row.strength, row.shown_first, marks)


def parts(rows: Sequence[Judgment]) -> list[list[Judgment]]:
    """The rows of each set of systems that met, directly or by a chain of opponents: the set with most systems first."""
    names = sorted({s for row in rows for s in (row.system_a, row.system_b)})
    at = {name: k for k, name in enumerate(names)}
    met = ([at[row.system_a] for row in rows], [at[row.system_b] for row in rows])
    count, label = connected_components(csr_array((np.ones(len(rows)), met), shape=(len(names), len(names))), directed=False)
    sets: list[list[Judgment]] = [[] for _ in range(count)]
    for row in rows:
        sets[label[at[row.system_a]]].append(row)
    size = np.bincount(label, minlength=count)
    # Names are sorted, so labels are by first name already, and equal sizes keep that order.
    return [sets[k] for k in sorted(range(count), key=lambda k: -int(size[k]))]


def axis_rows(judgments: Iterable[Judgment], axis: str) -> list[Judgment]:
    """Verdicts on one axis alone. A judge who marked other axes and not this one saw no clear advantage: a tie."""
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
        # Rounded outwards, so that a slight lean stays a lean; 1e-9 keeps 3.0000000001 from becoming 4.
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
