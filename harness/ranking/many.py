"""Ranking a table of very many rows: the same fits, from columns instead of objects.

Over `MANY` rows a file is never held as objects. All that a board says is there: ratings, intervals, win rates, the boards by
votes and subsets, and the other models. What compares rows with each other in pairs (agreement, audits of judges, consistency,
structure, reasons) is left out, and the board says so; it can be had from a part of the file.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harness.errors import UserError
from harness.ranking.agreement import NOTHING_KNOWN
from harness.ranking.board import Board
from harness.ranking.bootstrap import DRAWS
from harness.ranking.leaderboard import Counted, CountedBoard, rate_counted, repeats_in_words
from harness.ranking.model import PRIMARY, Method, RatingModel
from harness.ranking.ranking import Ranking, external_correlations
from harness.ranking.scale import Bools, Ints
from harness.ranking.variants import SOURCES, SUBSETS, Variant, kendall
from harness.ranking.verdicts import Source, Votes
from harness.store.judgment import AXES, is_rule
from harness.store.judgment_table import NOT_MARKED, Column, JudgmentTable
from harness.wording import counted as in_words

MANY: Final = 100_000
"""Rows of a file. As objects so many take half a gigabyte and a minute of one core, most of it in comparing pairs of rows."""
OTHER_MODELS: Final[tuple[Method, ...]] = ("strength", "plain", "rao-kupper")
"""Davidson's model has no fit here that shares its rows between contexts."""


def rank_many(
    table: JudgmentTable,
    *,
    presentation: str | None = None,
    condition: str | None = None,
    model: RatingModel = PRIMARY,
    external: Mapping[str, Mapping[str, float | None]] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank the rows of a table. `external`: score → system → value, for correlations.

    Raises harness.errors.UserError: no rows, or several presentations or conditions with none chosen.
    """
    chosen = _selected(table, presentation, condition)
    rows = _each_once(chosen)
    notes = [repeats_in_words(len(chosen) - len(rows), len(chosen))] if len(rows) < len(chosen) else []
    notes.append(
        f"With {in_words(len(rows), 'row')} (over {MANY:,}) agreement, audits of judges, their consistency, the structure of "
        "axes and Davidson's model are left out; rank a part of the file for those."
    )
    counted = _count(rows)
    board = rate_counted(counted, model, notes=notes, bootstrap_draws=draws, seed=seed)
    return Ranking(
        board=board,
        variants=_variants(rows, counted, model, board),
        agreement=NOTHING_KNOWN,
        people=None,
        audits=(),
        consistency=(),
        structure=None,
        joint=None,
        external=external_correlations(board, external or {}),
    )


def _selected(table: JudgmentTable, presentation: str | None, condition: str | None) -> JudgmentTable:
    """As `verdicts.select`: one presentation and condition, without audits of judges."""
    kept = table["purpose"] == 0
    for column, names, value in (
        ("presentation", table.presentations, presentation), ("condition", table.conditions, condition),
    ):  # fmt: skip
        if value is not None:
            kept &= table[column] == (names.index(value) if value in names else -1)
    rows = table.where(kept)
    if not len(rows):
        raise UserError("no judgments to rank: the file or the chosen subset holds none")
    over = [name for k in np.unique(rows["condition"]) if (name := rows.conditions[k])]
    if len(over) > 1:
        raise UserError(
            f"the judgments hold several line conditions ({', '.join(over)}), each of which has a board of its own: choose one"
        )
    seen = [rows.presentations[k] for k in np.unique(rows["presentation"])]
    if len(seen) > 1:
        raise UserError(
            f"the judgments hold several presentations ({', '.join(seen)}), which never share a ranking: choose one"
        )
    return rows


def _each_once(rows: JudgmentTable) -> JudgmentTable:
    """As `verdicts.each_once`: the first of rows that repeat each other exactly."""
    columns = [rows[name] for name in rows.columns if name not in ("subset", "own_family")] + list(rows.axes.T)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        if values.size > 1:
            # Numbered anew each time, so that the product never leaves 63 bits.
            key = np.unique(key, return_inverse=True)[1] * values.size + code
    _, first = np.unique(key, return_index=True)
    kept = np.zeros(len(rows), dtype=bool)
    kept[first] = True
    return rows.where(kept)


def _count(rows: JudgmentTable) -> CountedBoard:
    each = _parts(rows)
    whole = _counted(rows)
    return CountedBoard(whole, (whole,) if len(each) == 1 else tuple(_counted(rows.where(part)) for part in each))


def _parts(rows: JudgmentTable) -> list[Bools]:
    """As `verdicts.parts`: the rows of each set of systems that met, the largest set first."""
    size = len(rows.systems)
    pairs = np.unique(rows["first"].astype(np.int64) * size + rows["second"])
    met = csr_array((np.ones(pairs.size), (pairs // size, pairs % size)), shape=(size, size))
    _, label = connected_components(met, directed=False)
    here = label[np.unique(np.concatenate([rows["first"], rows["second"]]))]
    sizes = {int(k): int((here == k).sum()) for k in dict.fromkeys(here.tolist())}
    return [label[rows["first"]] == k for k in sorted(sizes, key=lambda k: -sizes[k])]


def _counted(rows: JudgmentTable) -> Counted:
    first, systems = _narrowed(np.concatenate([rows["first"], rows["second"]]), rows.systems)
    context, contexts = _narrowed(rows["context"], rows.contexts)
    judge, judges = _narrowed(rows["judge"], rows.judges)
    n = len(rows)
    level = (rows["winner"] * rows["strength"]).astype(np.int64)
    votes = Votes(
        systems, contexts, judges, first[:n], first[n:], level, context, judge, rows["human"].astype(np.int64),
        rows["shown"].astype(np.int64), np.zeros(n),
    )  # fmt: skip
    shares = _shares(votes, rows["winner"])
    marked = rows.axes != NOT_MARKED
    any_mark = marked.any(axis=1)
    axes: dict[str, dict[str, float]] = {}
    for k, axis in enumerate(AXES):
        if marked[:, k].any():
            # As `counts.axis_win_rates`: a judge who marked other axes and not this one saw a tie.
            points = np.where(marked[:, k], np.sign(rows.axes[:, k]), 0)
            for system, share in _shares(votes, points, any_mark).items():
                axes.setdefault(system, {})[axis] = share
    presentation = rows.presentations[int(rows["presentation"][0])]
    return Counted(votes, presentation, shares, axes, int(rows["own_family"].sum()))


def _narrowed(index: Column, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    """The index among those names alone that occur."""
    used, place = np.unique(index, return_inverse=True)
    return place.astype(np.int64), tuple(names[k] for k in used)


def _shares(
    votes: Votes, winner: np.ndarray[tuple[int, ...], np.dtype[np.integer]], kept: Bools | None = None
) -> dict[str, float]:
    """System → share of its comparisons won, a tie half."""
    kept = np.ones(len(votes), dtype=bool) if kept is None else kept
    points = (winner[kept] + 1) / 2
    size = len(votes.systems)
    won = np.bincount(votes.first[kept], points, size) + np.bincount(votes.second[kept], 1 - points, size)
    met = np.bincount(votes.first[kept], minlength=size) + np.bincount(votes.second[kept], minlength=size)
    return {name: float(won[k] / met[k]) for k, name in enumerate(votes.systems) if met[k]}


def _of_source(rows: JudgmentTable, source: Source | None) -> Bools:
    """As `verdicts.select` with a source: silence stands on people's board too, where they voted."""
    if source is None:
        return np.ones(len(rows), dtype=bool)
    own = rows["human"] == (source == "human")
    if source == "judge":
        return np.asarray(own, dtype=bool)
    rules = [k for k, name in enumerate(rows.judges) if is_rule(name)]
    voted = np.isin(rows["context"], np.unique(rows["context"][own]))
    return np.asarray(own | ((rows["judge"] == rules[0]) & voted) if rules else own, dtype=bool)


def _variants(rows: JudgmentTable, counted: CountedBoard, model: RatingModel, first: Board) -> tuple[Variant, ...]:
    found = []
    sources = np.unique(rows["human"]).size
    for source_name, source in SOURCES.items():
        if sources == 1 and source is not None:
            continue
        for subset_name, subset in SUBSETS.items():
            kept = _of_source(rows, source)
            if subset is not None:
                kept = kept & (rows["subset"] == (rows.subsets.index(subset) if subset in rows.subsets else -1))
            if not kept.any():
                continue
            same = source is None and subset is None
            board = first if same else rate_counted(_count(rows.where(kept)), model)
            found.append(Variant(f"{source_name}, {subset_name}", board, False, kendall(first, board)))
    for other in OTHER_MODELS:
        if other != model.method:
            board = rate_counted(counted, replace(model, method=other))
            found.append(Variant(f"exploratory: {board.method}", board, True, kendall(first, board)))
    return tuple(found)
