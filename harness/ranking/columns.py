"""Judgments as columns: the sets of systems that they connect, and the counts that a rating needs.

These rules are written only here, for any number of rows. A few rows become a table first, because a rule that is
written twice, once for objects and once for columns, becomes two rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harness.errors import UserError
from harness.ranking.verdicts import Lengths, Votes, votes_of
from harness.statistics.arrays import Bools
from harness.store.judgment import AXES
from harness.store.judgment_table import NOT_MARKED, JudgmentTable

MOST_SYSTEMS: Final = 200
"""A public arena has some 300 entries, a run a dozen; the fits of 300 took 37 s, of 2,000 over 100 s, of 100,001 petabytes."""
MOST_CELLS: Final = 10_000_000
"""Systems² × contexts: the clustered covariance holds a matrix of each context. Nine million took 1.9 GB, and a million rows of
26 systems in 10,000 contexts are under seven."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Rows in the form that a rating reads: the verdicts, and the plain shares that are shown beside it."""

    votes: Votes
    presentation: str
    shares: Mapping[str, float]
    """System → share won."""
    axes: Mapping[str, Mapping[str, float]]
    """System → axis → share won."""
    own_family: int


@dataclass(frozen=True, slots=True, eq=False)
class CountedBoard:
    """All rows of a board, and the same by sets of systems that met, largest first."""

    whole: Counted
    parts: tuple[Counted, ...]


def count(rows: JudgmentTable, lengths: Lengths | None = None) -> CountedBoard:
    """Rows in the form that every model reads; `lengths`: words of each reply, for a model with a length term.

    Raises UserError: no rows, or one that sets a system against itself.
    """
    if not len(rows):
        raise UserError("no judgments to rank: the file or the chosen subset holds none")
    must_fit(rows)
    each = _parts(rows)
    whole = _counted(rows, lengths)
    if len(each) == 1:
        return CountedBoard(whole, (whole,))
    return CountedBoard(whole, tuple(_counted(rows.where(part), lengths) for part in each))


def must_fit(rows: JudgmentTable) -> None:
    """Raises UserError: the rows are too many systems for a board."""
    if wrong := too_large(rows):
        raise UserError(wrong)


def too_large(rows: JudgmentTable) -> str:
    """Why no board can rate so many systems, or systems in so many contexts, in a few gigabytes; empty where it can."""
    systems = np.unique(np.concatenate([rows["first"], rows["second"]])).size
    contexts = np.unique(rows["context"]).size
    if systems > MOST_SYSTEMS:
        return (
            f"{systems:,} systems, and a board rates at most {MOST_SYSTEMS}, because it compares each with each: rank a part "
            "of them, or look whether the columns of systems hold something else"
        )
    if systems**2 * contexts > MOST_CELLS:
        return (
            f"{systems} systems in {contexts:,} contexts: an interval needs each pair of systems in each context, and "
            f"{systems}² × {contexts:,} is over {MOST_CELLS:,}; rank fewer systems or fewer contexts at once"
        )
    return ""


def _parts(rows: JudgmentTable) -> list[Bools]:
    """The rows of each set of systems that met, directly or by a chain of opponents: the largest set first."""
    size = len(rows.systems)
    pairs = np.unique(rows["first"].astype(np.int64) * size + rows["second"])
    met = csr_array((np.ones(pairs.size), (pairs // size, pairs % size)), shape=(size, size))
    _, label = connected_components(met, directed=False)
    here = label[np.unique(np.concatenate([rows["first"], rows["second"]]))]
    sizes = {int(k): int((here == k).sum()) for k in dict.fromkeys(here.tolist())}
    return [label[rows["first"]] == k for k in sorted(sizes, key=lambda k: -sizes[k])]


def _counted(rows: JudgmentTable, lengths: Lengths | None) -> Counted:
    votes = votes_of(rows, lengths)
    shares = _shares(votes, rows["winner"])
    marked = rows.axes != NOT_MARKED
    any_mark = marked.any(axis=1)
    axes: dict[str, dict[str, float]] = {}
    for k, axis in enumerate(AXES):
        if marked[:, k].any():
            # A judge who marked other axes and not this one saw a tie.
            points = np.where(marked[:, k], np.sign(rows.axes[:, k]), 0)
            for system, share in _shares(votes, points, any_mark).items():
                axes.setdefault(system, {})[axis] = share
    presentation = rows.presentations[int(rows["presentation"][0])]
    return Counted(votes, presentation, shares, axes, int(rows["own_family"].sum()))


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
