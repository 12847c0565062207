"""Boards beside the primary one: other votes, other contexts, other models.

Each answers a question about the primary board (do adversarial contexts change the order? does the model of ties?), so each
comes with its rank correlation to it. Contexts are rated by the one given model. Other models, and the length term, are
labelled exploratory: nobody should pick a board among them after seeing them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scipy import stats

from harness.errors import UserError
from harness.ranking.board import Board
from harness.ranking.board_rows import Source, one_source
from harness.ranking.leaderboard import rate, rate_counted
from harness.ranking.model import Method
from harness.ranking.quoted_board import OfVerdicts
from harness.ranking.verdicts import Lengths

SOURCES: Mapping[Source, str] = {"judge": "judges", "human": "people"}
SUBSETS = ("regular", "adversarial")
EXPLORATORY: tuple[Method, ...] = ("strength", "plain", "rao-kupper")
WITH_LENGTH = "exploratory: with a length term"


@dataclass(frozen=True, slots=True)
class Variant:
    """One board. `kendall`: rank correlation with the primary one over shared systems; None under three, or if never met."""

    name: str
    board: Board
    exploratory: bool
    kendall: float | None


def variants(rated: OfVerdicts, lengths: Lengths) -> tuple[Variant, ...]:
    """Parts of the contexts, as far as there are rows, then the other models. The first is the primary board.

    `lengths`: words of each reply, for the board with a length term beside a model that has none.
    """
    rows, model, first = rated.rows, rated.model, rated.board
    voters = SOURCES[one_source(rows)]
    found = [Variant(f"{voters}, all", first, False, kendall(first, first))]
    for subset in SUBSETS:
        try:
            board = rate(rows.where(rows.named("subset", subset)), model)
        except UserError:
            continue
        found.append(Variant(f"{voters}, {subset}", board, False, kendall(first, board)))
    if longer := with_length_term(rated, lengths):
        found.append(Variant(WITH_LENGTH, longer, True, kendall(first, longer)))
    for other in EXPLORATORY:
        if other != model.method:
            board = rate_counted(rated.counted, replace(model, method=other))
            found.append(Variant(f"exploratory: {board.method}", board, True, kendall(first, board)))
    return tuple(found)


def with_length_term(rated: OfVerdicts, lengths: Lengths) -> Board | None:
    """The same verdicts rated with a length term; None where the model has none to add, or lengths give no information."""
    model = rated.model
    if model.method != "ordinal" or model.lengths or not lengths:
        return None
    board = rate(rated.rows, replace(model, lengths=lengths))
    return board if "length" in board.terms else None


def kendall(one: Board, other: Board) -> float | None:
    """Rank correlation of two boards over the systems that both have."""
    there = {row.system: row.elo for row in other.systems}
    shared = [row for row in one.systems if row.system in there]
    if len(shared) < 3 or one.parts > 1 or other.parts > 1:
        return None
    return float(stats.kendalltau([row.elo for row in shared], [there[row.system] for row in shared]).statistic)
