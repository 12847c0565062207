"""All results of `harness rank`, from rows or from rows and latencies.

The order of systems is always that of the board. Over `MANY` rows, figures that compare rows with each other in pairs are left
out; people's axis (`peoples_axis`) is part of every ranking, and is its board where that is asked for.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Final

from harness.errors import UserError
from harness.ranking import board_rows
from harness.ranking.agreement import Agreement, agreement
from harness.ranking.bias import Audit, audits
from harness.ranking.board import Board, QualityState
from harness.ranking.columns import too_large
from harness.ranking.consistency import Consistency, consistency
from harness.ranking.head_to_head import HeadToHead, head_to_head
from harness.ranking.human_row import HumanRatings, people_ratings
from harness.ranking.joint import JointFigure
from harness.ranking.judge_vs_person import NOTHING, BesidePeople, beside_people
from harness.ranking.model import PRIMARY
from harness.ranking.peoples_axis import PeoplesAxis, axis_of
from harness.ranking.question import RatingQuestion
from harness.ranking.quoted_board import OfVerdicts, joint_figures, of_verdicts
from harness.ranking.rationales import CoMention, co_mention
from harness.ranking.variants import WITH_LENGTH, Variant, kendall, variants
from harness.ranking.verdicts import lengths_of
from harness.statistics.correlation import Correlation, with_external
from harness.store.judgment import AXES, JudgeCheck, Judgment
from harness.store.judgment_table import JudgmentTable, table_of
from harness.wording import counted as in_words

LENGTH_WORDS = {
    "without": "The quoted rating has no length term, since it shows what was preferred; with one it shows what would be "
    "preferred if replies were equally long; verdicts cannot separate a liking for length from replies that length improves.",
    "with": "The quoted rating has a length term, as was asked: it shows what would be preferred if replies were equally long.",
    "unknown": "The rating has no length term; the lengths of the replies are not known here, or do not differ.",
}
"""Statement of the quoted rating, and why (docs/decisions/ranking-length-term.md)."""
MANY: Final = 100_000
"""Rows of a file. As objects, so many take half a gigabyte and a minute of one core, most of it in comparing pairs of rows.
Over so many a file is never loaded as objects, and all parts of a board are made from columns."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All results of `harness rank` for one presentation."""

    board: Board
    variants: tuple[Variant, ...]
    joint: JointFigure | None
    joint_variants: tuple[JointFigure, ...] = ()
    """The same conversations on the other latencies: filler-aware onsets, TTFT."""
    external: Mapping[str, tuple[Correlation, Correlation]] = field(default_factory=dict)
    """Score → Pearson and Spearman of Elo with it, over the systems that have both (three or more)."""
    agreement: Agreement = field(default_factory=Agreement)
    people: HumanRatings | None = None
    audits: tuple[Audit, ...] = ()
    consistency: tuple[Consistency, ...] = ()
    reasons: CoMention | None = None
    beside_people: BesidePeople = NOTHING
    people_votes: PeoplesAxis | None = None
    """People's axis; None where votes give none."""
    people_refused: str = ""
    """Reason why there is no people's axis, in one sentence without its full stop."""
    head_to_head: tuple[HeadToHead, ...] = ()
    """People's preference between each two agents that they voted on."""
    checks: Mapping[str, JudgeCheck] = field(default_factory=dict)
    """Judge → its check on pairs with known answers; a judge that is not here was not measured."""
    judges: tuple[str, ...] = ()
    """Judges whose verdicts rate the board; none where people's votes do."""
    quality_state: QualityState = "none"
    quality_words: str = ""
    """The state in one sentence without its full stop."""
    rated_on: Mapping[str, str | None] = field(default_factory=dict)
    """Circumstances of the replies (reads, condition, mode, pack, transcriber); empty for rows of which nothing is known."""
    rated_on_words: str = ""
    """These in one sentence."""

    @property
    def with_length(self) -> Board | None:
        """The same verdicts rated with a length term; None where lengths give no information, or the model has no such term."""
        if "length" in self.board.terms:
            return self.board
        return next((v.board for v in self.variants if v.name == WITH_LENGTH), None)

    @property
    def length_words(self) -> str:
        """Statement of the quoted rating, with or without a length term, and why."""
        quoted = "with" if "length" in self.board.terms else "unknown" if self.with_length is None else "without"
        return LENGTH_WORDS[quoted]

    @property
    def without_chances(self) -> "Ranking":
        """The same ranking where no figure may decide anything."""
        return self.without_chances_of({rating.system for rating in self.board.systems})

    def without_chances_of(self, systems: Collection[str]) -> "Ranking":
        """The same ranking where no figure of these systems may decide anything."""
        joint = self.joint and _without_chances(self.joint, systems)
        return replace(self, joint=joint, joint_variants=tuple(_without_chances(f, systems) for f in self.joint_variants))

    def with_notes(self, notes: Sequence[str]) -> "Ranking":
        """The same ranking, with further notes beside the board."""
        return replace(self, board=replace(self.board, warnings=(*self.board.warnings, *notes)))


def rank(judgments: Iterable[Judgment], asked: RatingQuestion | None = None) -> Ranking:
    """Rank. The paper's printed scores are always among those to correlate with, by system name.

    Raises UserError: no rows, several presentations or conditions with none chosen, bad axis weights, or votes that give no
    interval where they are asked for, or are all there is.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> rows = [Judgment.model_validate(said | {"context": f"c{n}", "winner": "ab"[n % 4 == 0]}) for n in range(12)]
    >>> from harness.ranking.question import RatingQuestion
    >>> rank(rows, RatingQuestion(draws=20)).board["warm"].win_rate
    0.75
    """
    asked = asked or RatingQuestion()
    given = [row for row in judgments if asked.condition in (None, row.condition)]
    ranking = rank_table(table := table_of(given), asked)
    kept, _ = board_rows.once(table, asked.presentation or ranking.board.presentation)
    rows = [row for row, stays in zip(given, kept.tolist(), strict=True) if stays]
    seed, texts, families = asked.drawn_by, asked.measured.texts, asked.scores.families
    return replace(
        ranking,
        agreement=agreement(rows, seed=seed),
        beside_people=beside_people(rows, seed=seed),
        people=people_ratings(
            map(asked.by_person, rows) if asked.by_person else rows, asked.is_human, asked.model or PRIMARY, seed=seed
        ),
        audits=audits(rows, texts=texts, judge_family=families, system_family=families),
        consistency=consistency(row for row in given if row.presentation == ranking.board.presentation),
        reasons=co_mention(rows, words=lengths_of(texts), draws=asked.draws, seed=seed),
    ).with_notes(_unmeasured(rows, asked.checks))


def rank_table(table: JudgmentTable, asked: RatingQuestion) -> Ranking:
    """All of a ranking but the figures that compare rows with each other in pairs.

    Raises UserError: as `rank`.
    """
    voted = asked.people_from or table
    # Thousands of systems are a column misread, which the refusal says.
    preferred = () if too_large(voted) else head_to_head(voted, asked.condition, asked.votes_on)
    people, refused = _people(table, asked)
    if people is not None and (asked.by_people or (asked.by_people is None and asked.model is None)):
        return _with_figures(people, asked, Ranking(people.board, (), None, people_votes=people, head_to_head=preferred))
    rated = None if asked.by_people else of_verdicts(table, asked)
    if rated is None and preferred:
        unrated = Board("none", (), (), preferred[0].presentation)
        return Ranking(unrated, (), None, people_refused=refused, head_to_head=preferred)
    if rated is None:
        raise UserError(refused)
    board = rated.board
    beside = () if people is None else (Variant("people, all", people.board, False, kendall(board, people.board)),)
    found = variants(rated, lengths_of(asked.measured.texts)) + beside
    ranking = Ranking(
        board, found, None, people_votes=people, people_refused=refused, head_to_head=preferred, judges=rated.judges
    )
    return _with_figures(rated, asked, ranking)


def _people(table: JudgmentTable, asked: RatingQuestion) -> tuple[PeoplesAxis | None, str]:
    """People's axis, or the reason why there is none."""
    try:
        return axis_of(asked.people_from or table, asked.condition, asked.votes_on, asked.pairs), ""
    except UserError as error:
        return None, str(error)


def _with_figures(rated: OfVerdicts | PeoplesAxis, asked: RatingQuestion, ranking: Ranking) -> Ranking:
    """The ranking with its joint figures, correlations with other scores, and checks of judges."""
    figure, *figures = tuple(joint_figures(rated, asked)) or (None,)
    return replace(
        ranking,
        joint=figure,
        joint_variants=tuple(figures),
        external=external_correlations(ranking.board, asked.scores.scores),
        checks=asked.checks,
    )


def rank_many(table: JudgmentTable, asked: RatingQuestion) -> Ranking:
    """Rank the rows of a table and say what is left out.

    Raises UserError: as `rank`.
    """
    ranking = rank_table(table, asked)
    note = (
        f"With {in_words(ranking.board.judgments, 'row')} (over {MANY:,}) agreement, audits of judges and their consistency "
        "are left out; rank a part of the file for those."
    )
    return ranking.with_notes([note])


def _unmeasured(rows: Sequence[Judgment], checks: Mapping[str, JudgeCheck]) -> list[str]:
    """A sentence for each judge whose accuracy is unknown or poor."""
    asked = sorted({row.judge for row in rows if row.source == "judge" and not row.judge.startswith("rule:")})
    unknown = [judge for judge in asked if judge not in checks]
    notes = [f"{', '.join(unknown)}: accuracy as a judge not measured here."] if unknown else []
    return notes + [f"{judge}: {checks[judge].note}" for judge in asked if judge in checks and checks[judge].note]


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One system as the HEART paper prints it, for comparison with one's own. Shares in percent; None where it prints nothing.

    The figures are typed from the paper's figure 4, its table 1 and its text; the source is stated in the file. Latencies there
    are from a public index of text interfaces, so they are TTFT of replies that were not judged: never mix them into a joint
    figure.
    """

    system: str
    axes: dict[str, float]
    win_rate: float
    elo: float
    aa_index: float | None
    ttft_ms: float | None


def printed_table() -> tuple[PrintedRow, ...]:
    """The 18 rows, best first."""
    text = resources.files("harness.ranking").joinpath("paper_table.json").read_text(encoding="utf-8")
    table = json.loads(text)
    found = []
    for cells in table["rows"]:
        row = dict(zip(table["columns"], cells, strict=True))
        axes = {axis: float(row[axis]) for axis in AXES}
        found.append(PrintedRow(row["system"], axes, row["win_rate"], row["elo"], row["aa_index"], row["ttft_ms"]))
    return tuple(found)


def _printed() -> dict[str, dict[str, float | None]]:
    table = printed_table()
    return {
        "paper: Elo": {row.system: row.elo for row in table},
        "paper: AA index": {row.system: row.aa_index for row in table},
        "paper: TTFT": {row.system: row.ttft_ms for row in table},
    }


def external_correlations(
    board: Board, scores: Mapping[str, Mapping[str, float | None]]
) -> dict[str, tuple[Correlation, Correlation]]:
    """Score → Pearson and Spearman of Elo with it; the paper's printed scores take part, by system name."""
    # Ratings of two parts are on two scales, so only the largest part is correlated with anything.
    ratings = {row.system: row.elo for row in board.systems if row.part == 1}
    found = {name: with_external(ratings, values) for name, values in {**_printed(), **scores}.items()}
    return {name: both for name, both in found.items() if both is not None}


def _without_chances(figure: JointFigure, systems: Collection[str]) -> JointFigure:
    return replace(figure, points=tuple(p.without_chances if p.system in systems else p for p in figure.points))
