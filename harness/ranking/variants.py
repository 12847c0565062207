"""Boards beside the primary one: other votes, other contexts, other models.

Each answers a question about the primary board (do people rank as judges do? do adversarial contexts change the order? does
the model of ties?), so each comes with its rank correlation to it. Votes and contexts are rated by the one given
model. Other models, and the length term, are labelled exploratory: nobody should pick a board among them after seeing them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy import stats

from harness.errors import UserError
from harness.ranking.board import Board
from harness.ranking.chosen import Source
from harness.ranking.leaderboard import count, leaderboard, rate_counted, repeats_in_notes
from harness.ranking.model import PRIMARY, Method, RatingModel
from harness.ranking.verdicts import Lengths, each_once, select
from harness.store.judgment import Judgment

SOURCES: dict[str, Source | None] = {"combined": None, "judges": "judge", "people": "human"}
SUBSETS: dict[str, str | None] = {"all": None, "regular": "regular", "adversarial": "adversarial"}
EXPLORATORY: tuple[Method, ...] = ("strength", "plain", "rao-kupper")
WITH_LENGTH = "exploratory: with a length term"


@dataclass(frozen=True, slots=True)
class Variant:
    """One board. `kendall`: rank correlation with the primary one over shared systems; None under three, or if never met."""

    name: str
    board: Board
    exploratory: bool
    kendall: float | None


def variants(
    judgments: Sequence[Judgment],
    model: RatingModel = PRIMARY,
    *,
    primary: Board | None = None,
    lengths: Lengths | None = None,
    presentation: str | None = None,
) -> tuple[Variant, ...]:
    """Votes × contexts, as far as there are rows, then the other models on all rows. The first is the primary board.

    `primary`: the board of these rows and this model, if it exists already. `lengths`: words of each reply, for the board
    with a length term beside a model that has none.
    """
    first = primary or leaderboard(judgments, model, presentation=presentation)
    sources = {row.source for row in judgments}
    found = []
    for source_name, source in SOURCES.items():
        if len(sources) == 1 and source is not None:
            continue
        for subset_name, subset in SUBSETS.items():
            if source is None and subset is None:
                board = first
            else:
                try:
                    board = leaderboard(judgments, model, presentation=presentation, source=source, subset=subset)
                except UserError:
                    continue
            found.append(Variant(f"{source_name}, {subset_name}", board, False, kendall(first, board)))
    if model.method == "ordinal" and not model.lengths and lengths:
        board = leaderboard(judgments, replace(model, lengths=lengths), presentation=presentation)
        if "length" in board.terms:
            found.append(Variant(WITH_LENGTH, board, True, kendall(first, board)))
    given = select(judgments, presentation=presentation)
    rows = each_once(given)
    notes = repeats_in_notes(given, rows)
    counted = count(rows, replace(model, lengths=None))
    for other in EXPLORATORY:
        if other != model.method:
            board = rate_counted(counted, replace(model, method=other), notes=notes)
            found.append(Variant(f"exploratory: {board.method}", board, True, kendall(first, board)))
    return tuple(found)


def kendall(one: Board, other: Board) -> float | None:
    """Rank correlation of two boards over the systems that both have."""
    there = {row.system: row.elo for row in other.systems}
    shared = [row for row in one.systems if row.system in there]
    if len(shared) < 3 or one.parts > 1 or other.parts > 1:
        return None
    return float(stats.kendalltau([row.elo for row in shared], [there[row.system] for row in shared]).statistic)
