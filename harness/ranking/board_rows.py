"""Choice of the judgments of a board: one presentation and condition, no audits, each verdict once, and the source of votes.

The rules are written over columns. A page chooses a run's own rows, as objects, by `board_rows` of `harness.store.selection`,
which asks for one board by name and so has nothing to refuse; a test compares both. Rows of two *presentations* never share a
fit: a reply that was read and one that was heard with its delay are two different objects, and a rating made of both would put
latency on the quality axis (HEART harness design). So rows of several are refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from harness.errors import UserError
from harness.statistics.arrays import Bools
from harness.store.judgment import AXES, is_rule
from harness.store.judgment_table import NOT_MARKED, Column, JudgmentTable

Source = Literal["judge", "human"]


def once(
    table: JudgmentTable,
    presentation: str | None = None,
    condition: str | None = None,
    source: Source | None = None,
) -> tuple[Bools, list[str]]:
    """(n,): the rows of one board, of a voter's verdicts on a pair the last; and a note where there were several.

    Raises UserError: see `of_one_board`.
    """
    kept = of_one_board(table, presentation, condition)
    kept[kept] = of_source(table.where(kept), source)
    chosen = table.where(kept)
    kept[kept] = each_once(chosen)
    return kept, repeats_in_words(chosen)


def of_one_board(table: JudgmentTable, presentation: str | None = None, condition: str | None = None) -> Bools:
    """(n,): the rows of one presentation and condition; audits of a judge are left out.

    Raises UserError when rows of several presentations or conditions are there and none is chosen.
    """
    kept = table["purpose"] == 0
    if presentation is not None:
        kept &= table.named("presentation", presentation)
    if condition is not None:
        kept &= table.named("condition", condition)
    over = [name for k in np.unique(table["condition"][kept]) if (name := table.conditions[k])]
    if len(over) > 1:
        raise UserError(
            f"the judgments hold several line conditions ({', '.join(over)}), each of which has a separate board: choose one"
        )
    seen = [table.presentations[k] for k in np.unique(table["presentation"][kept])]
    if len(seen) > 1:
        raise UserError(
            f"the judgments hold several presentations ({', '.join(seen)}), which never share a ranking: choose one"
        )
    return np.asarray(kept, dtype=bool)


def of_source(table: JudgmentTable, source: Source | None) -> Bools:
    """(n,): the rows of one source, or all.

    A comparison that a rule decided, because one side gave no reply, is on people's board as well, where they voted:
    silence must not win there either.
    """
    if source is None:
        return np.ones(len(table), dtype=bool)
    own = table["human"] == (source == "human")
    if source == "judge":
        return np.asarray(own, dtype=bool)
    rules = [k for k in np.unique(table["judge"]) if is_rule(table.judges[k])]
    voted = np.isin(table["context"], np.unique(table["context"][own]))
    return np.asarray(own | ((table["judge"] == rules[0]) & voted) if rules else own, dtype=bool)


def one_source(table: JudgmentTable) -> Source:
    """The source of a model's board: judges, or people where no judge gave a verdict.

    Votes and verdicts never share a model's fit; verdicts have their part in people's axis (`peoples_axis`), which rates votes
    wherever no other model was named.
    """
    return "judge" if judges_of(table) or not table["human"].any() else "human"


def judges_of(table: JudgmentTable) -> tuple[str, ...]:
    """The judges whose verdicts are among some rows; neither people nor rules are any."""
    names = (table.judges[k] for k in np.unique(table["judge"][table["human"] == 0]))
    return tuple(name for name in names if not is_rule(name))


def each_once(table: JudgmentTable) -> Bools:
    """(n,): the last of a voter's verdicts on one pair, unless they are numbered in `repeat`.

    A judge's in both orders are two, because each order has its own leaning. To leave out only repeats that agree would weigh
    a voter's changes of mind more than their firm verdicts and pull a board together; the last one is right for a row that
    is there twice, for a correction, and for a voter who was asked again, however the pair came to be chosen for it
    (docs/statistics.md, "A verdict counts once").
    """
    return _last_of_each(table, [*_asked(table)])


def repeats_in_words(table: JudgmentTable) -> list[str]:
    """A sentence on the rows that `each_once` leaves out; none without."""
    repeats = len(table) - int(each_once(table).sum())
    if not repeats:
        return []
    said = [table["winner"] * _turned(table), table["strength"], table["draw_rate"], *table.axes.T]
    exactly = len(table) - int(_last_of_each(table, [*_asked(table), *said]).sum())
    how = "exactly (same voter, pair, order and verdict)" if exactly == repeats else "(same voter, pair and order)"
    changed = "" if exactly == repeats else f", {repeats - exactly} with another verdict"
    return [
        f"{repeats} of {len(table)} rows repeat another one {how}{changed}: the last of each counts; "
        "number the rows of a voter who was asked again in `repeat`."
    ]


def _turned(table: JudgmentTable) -> Column:
    """(n,): 1 where the two systems of a row are in order, −1 where they are not."""
    return np.where(table["first"] <= table["second"], 1, -1)


def _asked(table: JudgmentTable) -> Iterator[Column]:
    """What a verdict is about, and whose it is."""
    yield np.minimum(table["first"], table["second"])
    yield np.maximum(table["first"], table["second"])
    yield np.where(table["human"] == 1, 0, table["shown"] * _turned(table))
    for name in ("context", "judge", "presentation", "condition", "human", "purpose", "replicate", "repeat"):
        yield table[name]


def _last_of_each(table: JudgmentTable, columns: Iterable[Column]) -> Bools:
    key = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        if values.size > 1:
            # Numbered anew each time, so that the product always fits into 63 bits.
            key = np.unique(key, return_inverse=True)[1] * values.size + code
    _, last = np.unique(key[::-1], return_index=True)
    kept = np.zeros(len(table), dtype=bool)
    kept[len(table) - 1 - last] = True
    return kept


def weighted(table: JudgmentTable, weights: Mapping[str, float]) -> JudgmentTable:
    """Verdicts made anew from the axis marks: the weighted mean of signed strengths, rounded away from zero.

    Raises UserError for an unknown axis, a negative weight, or no weight above zero.
    """
    unknown = sorted(set(weights) - set(AXES))
    if unknown:
        raise UserError(f"axis weights: unknown axis {unknown[0]!r}; axes are {', '.join(AXES)}")
    total = float(sum(weights.values()))
    if min(weights.values(), default=0.0) < 0 or total <= 0:
        raise UserError("axis weights: give weights of zero or more, at least one above zero")
    rows = table.where((table.axes != NOT_MARKED).any(axis=1))
    share = np.array([weights.get(axis, 0.0) / total for axis in AXES])
    mean = np.where(rows.axes == NOT_MARKED, 0, rows.axes) @ share
    winner = np.where(np.abs(mean) < 1e-9, 0, np.sign(mean)).astype(np.int8)
    # Rounded outwards, so that a slight preference stays one; 1e-9 keeps 3.0000000001 from becoming 4.
    strength = np.maximum(1, np.ceil(np.abs(mean) - 1e-9)).astype(np.int8)
    return replace(rows, columns={**rows.columns, "winner": winner, "strength": strength})
