"""Which votes, which contexts, which model: the boards beside the primary one.

Each answers a question about the primary board (do people rank as judges do? do adversarial contexts change the order? does
the model of ties?), so each comes with its rank correlation to it. The other models are labelled exploratory: nobody should
pick a board among them after seeing them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from harness.errors import UserError
from harness.ranking.board import Board
from harness.ranking.leaderboard import Method, leaderboard
from harness.ranking.verdicts import Source
from harness.store.judgment import Judgment

SOURCES: dict[str, Source | None] = {"combined": None, "judges": "judge", "people": "human"}
SUBSETS: dict[str, str | None] = {"all": None, "regular": "regular", "adversarial": "adversarial"}
EXPLORATORY: tuple[Method, ...] = ("strength", "plain", "davidson", "rao-kupper")


@dataclass(frozen=True, slots=True)
class Variant:
    """`kendall`: rank correlation with the primary board over shared systems; None under three of them."""

    name: str
    board: Board
    exploratory: bool
    kendall: float | None


def variants(
    judgments: Sequence[Judgment], *, presentation: str | None = None, method: Method = "ordinal"
) -> tuple[Variant, ...]:
    """Votes × contexts, as far as there are rows, then the other models on all rows. The first is the primary board."""
    primary = leaderboard(judgments, presentation=presentation, method=method)
    sources = {row.source for row in judgments}
    found = []
    for source_name, source in SOURCES.items():
        if len(sources) == 1 and source is not None:
            continue
        for subset_name, subset in SUBSETS.items():
            try:
                board = leaderboard(judgments, presentation=presentation, method=method, source=source, subset=subset)
            except UserError:
                continue
            found.append(Variant(f"{source_name}, {subset_name}", board, False, _kendall(primary, board)))
    for other in EXPLORATORY:
        if other != method:
            board = leaderboard(judgments, presentation=presentation, method=other)
            found.append(Variant(f"exploratory: {board.method}", board, True, _kendall(primary, board)))
    return tuple(found)


def _kendall(one: Board, other: Board) -> float | None:
    there = {row.system: row.elo for row in other.systems}
    shared = [row for row in one.systems if row.system in there]
    if len(shared) < 3:
        return None
    return float(stats.kendalltau([row.elo for row in shared], [there[row.system] for row in shared]).statistic)
