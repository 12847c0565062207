"""The one path from a table of verdicts and votes to a board and its joint figure.

The summary of a run, its page and `harness rank` show the same Elo and the same P(frontier), because all of them come here with
a `RatingQuestion`. Every latency takes part in the drawing of conversations, shown or not: the same conversations give the same
chances at every door.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.errors import UserError
from harness.ranking import board_rows
from harness.ranking.board import Board
from harness.ranking.columns import CountedBoard
from harness.ranking.joint import JointFigure, Latencies, Resampled, lay_over, resample, resample_people
from harness.ranking.leaderboard import rate_counted
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.peoples_axis import PeoplesAxis
from harness.ranking.question import PLACING, RatingQuestion
from harness.store.judgment_table import JudgmentTable


@dataclass(frozen=True, slots=True, eq=False)
class OfVerdicts:
    """A board by a model, with the verdicts that it rates."""

    board: Board
    model: RatingModel
    rows: JudgmentTable
    counted: CountedBoard

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges whose verdicts rate it; none where people's votes do."""
        return board_rows.judges_of(self.rows)


def of_verdicts(table: JudgmentTable, asked: RatingQuestion, *, bootstrap: bool = True) -> OfVerdicts | None:
    """The board of verdicts; None where only people rated, and no model was named for their votes.

    `bootstrap`: with the interval of resampled conversations beside the sandwich's, which takes a refit for each draw.

    Raises UserError: no rows, several presentations or conditions with none chosen, bad axis weights, or no
    judge where judges are asked for.
    """
    kept, notes = board_rows.once(table, asked.presentation, asked.condition)
    rows = table.where(kept)
    source = "judge" if asked.by_people is False else board_rows.one_source(rows)
    if source == "human" and asked.model is None:
        return None
    rating = rows.where(board_rows.of_source(rows, source))
    if asked.by_people is False and not board_rows.judges_of(rating):
        raise UserError("no judge has rated these replies, so there is no board of judges: leave --judges out")
    model = asked.model or PRIMARY
    counted = model.counted(rating)
    board = rate_counted(counted, model, notes=notes, bootstrap_draws=asked.draws if bootstrap else 0, seed=asked.drawn_by)
    return OfVerdicts(board, model, rating, counted)


def joint_figures(rated: OfVerdicts | PeoplesAxis, asked: RatingQuestion) -> Iterator[JointFigure]:
    """The joint figure of a board on the placing latency, then on each other one, all over the same draws; none where no system
    of the board has that latency, where the latency is part of the board itself, or where judges heard the replies, since
    nothing can bear out what they say."""
    board, placing = rated.board, asked.measured.placing
    known = {row.system for row in board.systems}
    others = {name: given for name, given in asked.measured.others.items() if any(given.get(s) for s in known)}
    heard_by_judges = board.presentation == "audio" and isinstance(rated, OfVerdicts) and bool(rated.judges)
    if not any(placing.get(s) for s in known) or board.presentation == "audio_with_delay" or heard_by_judges:
        return
    drawn = _drawn(rated, [placing, *others.values()], asked)
    yield lay_over(drawn, placing, name=PLACING, others=others, cut_ins=asked.measured.cut_ins, budget_ms=asked.within_ms)
    for name, given in others.items():
        yield lay_over(drawn, given, name=name, budget_ms=asked.within_ms)


def _drawn(rated: OfVerdicts | PeoplesAxis, latencies: Sequence[Latencies], asked: RatingQuestion) -> Resampled:
    if isinstance(rated, PeoplesAxis):
        return resample_people(rated, latencies, draws=asked.draws, seed=asked.drawn_by)
    return resample(rated.counted, latencies, rated.model, board=rated.board, draws=asked.draws, seed=asked.drawn_by)
