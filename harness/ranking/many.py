"""Ranking of a table of very many rows: the same fits, from columns instead of objects.

Over `MANY` rows a file is never loaded as objects. All parts of a board are there: ratings, intervals, win rates, the boards by
votes and subsets, and the other models. Figures that compare rows with each other in pairs (agreement, audits of judges,
consistency, reasons) are left out, and the board says so; a part of the file gives them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from harness.errors import UserError
from harness.experiment import BUDGET_MS
from harness.ranking import chosen, columns
from harness.ranking.agreement import NOTHING_KNOWN
from harness.ranking.board import Board
from harness.ranking.bootstrap import DRAWS
from harness.ranking.columns import CountedBoard
from harness.ranking.joint import Events, Latencies, resample_counted
from harness.ranking.leaderboard import rate_counted, repeats_in_words
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.ranking import Ranking, external_correlations, joint_figures
from harness.ranking.variants import EXPLORATORY, SOURCES, SUBSETS, WITH_LENGTH, Variant, kendall
from harness.ranking.verdicts import Lengths, Texts, lengths_of
from harness.store.judgment import JudgeCheck
from harness.store.judgment_table import JudgmentTable
from harness.wording import counted as in_words

MANY: Final = 100_000
"""Rows of a file. As objects, so many take half a gigabyte and a minute of one core, most of it in comparing pairs of rows."""


def rank_many(
    table: JudgmentTable,
    *,
    presentation: str | None = None,
    condition: str | None = None,
    model: RatingModel = PRIMARY,
    latencies: Latencies | None = None,
    other_latencies: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = BUDGET_MS,
    texts: Texts | None = None,
    external: Mapping[str, Mapping[str, float | None]] | None = None,
    checks: Mapping[str, JudgeCheck] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank the rows of a table, as `ranking.rank` ranks few rows: every argument means the same.

    Raises harness.errors.UserError: no rows, or several presentations or conditions with none chosen.
    """
    given = table.where(chosen.of_one_board(table, presentation, condition))
    if not len(given):
        raise UserError("no judgments to rank: the file or the chosen subset holds none")
    rows = given.where(chosen.each_once(given))
    notes = [repeats_in_words(len(given) - len(rows), len(given))] if len(rows) < len(given) else []
    notes.append(
        f"With {in_words(len(rows), 'row')} (over {MANY:,}) agreement, audits of judges and their consistency are "
        "left out; rank a part of the file for those."
    )
    counted = columns.count(rows, model.lengths if model.method == "ordinal" else None)
    board = rate_counted(counted, model, notes=notes, bootstrap_draws=draws, seed=seed)
    figure, *figures = joint_figures(
        lambda tables: resample_counted(counted, tables, model, board=board, draws=draws, seed=seed),
        board, latencies or {}, other_latencies or {}, cut_ins, budget_ms,
    ) or (None,)  # fmt: skip
    return Ranking(
        board=board,
        variants=_variants(rows, counted, model, board, lengths_of(texts or {})),
        agreement=NOTHING_KNOWN,
        people=None,
        audits=(),
        consistency=(),
        joint=figure,
        joint_variants=tuple(figures),
        checks=checks or {},
        external=external_correlations(board, external or {}),
    )


def _variants(
    rows: JudgmentTable, counted: CountedBoard, model: RatingModel, first: Board, lengths: Lengths
) -> tuple[Variant, ...]:
    found = []
    sources = np.unique(rows["human"]).size
    for source_name, source in SOURCES.items():
        if sources == 1 and source is not None:
            continue
        for subset_name, subset in SUBSETS.items():
            kept = chosen.of_source(rows, source)
            if subset is not None:
                kept = kept & (rows["subset"] == (rows.subsets.index(subset) if subset in rows.subsets else -1))
            if not kept.any():
                continue
            same = source is None and subset is None
            board = first if same else rate_counted(columns.count(rows.where(kept)), model)
            found.append(Variant(f"{source_name}, {subset_name}", board, False, kendall(first, board)))
    if model.method == "ordinal" and not model.lengths and lengths:
        board = rate_counted(columns.count(rows, lengths), replace(model, lengths=lengths))
        if "length" in board.terms:
            found.append(Variant(WITH_LENGTH, board, True, kendall(first, board)))
    for other in EXPLORATORY:
        if other != model.method:
            board = rate_counted(counted, replace(model, method=other))
            found.append(Variant(f"exploratory: {board.method}", board, True, kendall(first, board)))
    return tuple(found)
