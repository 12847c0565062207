"""Ranking of a table of very many rows: the same fits, from columns instead of objects.

Over `MANY` rows a file is never loaded as objects. All parts of a board are there: ratings, intervals, win rates, the boards by
votes and subsets, and the other models. Figures that compare rows with each other in pairs (agreement, audits of judges,
consistency, reasons) are left out, and the board says so; a part of the file gives them.
"""

from typing import Any, Final

from harness.ranking.ranking import Ranking, rank_table
from harness.store.judgment_table import JudgmentTable
from harness.wording import counted

MANY: Final = 100_000
"""Rows of a file. As objects, so many take half a gigabyte and a minute of one core, most of it in comparing pairs of rows."""


def rank_many(table: JudgmentTable, **options: Any) -> Ranking:
    """Rank the rows of a table and say what is left out; `options` are those of `rank_table`.

    Raises harness.errors.UserError: as `rank_table`.
    """
    ranking = rank_table(table, **options)
    note = (
        f"With {counted(ranking.board.judgments, 'row')} (over {MANY:,}) agreement, audits of judges and their consistency are "
        "left out; rank a part of the file for those."
    )
    return ranking.with_notes([note])
