"""All results of `harness rank`, from rows or from rows and latencies.

The order of systems is always that of the board. Over `MANY` rows, figures that compare rows with each other in pairs are left
out; people's axis (`peoples_axis`) is part of every ranking, and is its board where that is asked for.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from typing import Any, Final

from harness.errors import UserError
from harness.experiment import BUDGET_MS
from harness.ranking import chosen
from harness.ranking.agreement import Agreement, agreement
from harness.ranking.bias import Audit, audits
from harness.ranking.board import Board, QualityState
from harness.ranking.consistency import Consistency, consistency
from harness.ranking.human_row import HumanRatings, people_ratings
from harness.ranking.joint import Events, JointFigure, Latencies, Resampled, lay_over, resample, resample_people
from harness.ranking.judge_vs_person import NOTHING, BesidePeople, beside_people
from harness.ranking.leaderboard import rate_counted
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.peoples_axis import Pairs, PeoplesAxis, axis_of
from harness.ranking.rationales import CoMention, co_mention
from harness.ranking.variants import WITH_LENGTH, Variant, kendall, variants
from harness.ranking.verdicts import Texts, lengths_of
from harness.statistics.bootstrap import DRAWS
from harness.statistics.correlation import Correlation, with_external
from harness.store.judgment import AXES, JudgeCheck, Judgment
from harness.store.judgment_columns import table_of
from harness.store.judgment_table import JudgmentTable
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
        joint = self.joint and _without_chances(self.joint)
        return replace(self, joint=joint, joint_variants=tuple(_without_chances(f) for f in self.joint_variants))

    def with_notes(self, notes: Sequence[str]) -> "Ranking":
        """The same ranking, with further notes beside the board."""
        return replace(self, board=replace(self.board, warnings=(*self.board.warnings, *notes)))


def rank(
    judgments: Iterable[Judgment],
    latencies: Latencies | None = None,
    *,
    other_latencies: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = BUDGET_MS,
    presentation: str | None = None,
    model: RatingModel | None = None,
    texts: Texts | None = None,
    is_human: Callable[[str], bool] | None = None,
    by_person: Callable[[Judgment], Judgment] | None = None,
    external: Mapping[str, Mapping[str, float | None]] | None = None,
    families: Mapping[str, str] | None = None,
    checks: Mapping[str, JudgeCheck] | None = None,
    people_from: JudgmentTable | None = None,
    pairs: Pairs | None = None,
    votes_on: str | None = None,
    by_people: bool | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank. `latencies`: system → context → TTFA of each turn in ms (infinite: no reply). `model`: of every rating here.

    `texts`: the replies as judged, for the audits and for the board with a length term beside the one without. `is_human`:
    True for systems that are people's replies (default: names that begin with `human:`); `by_person`: a verdict with each
    person as a system of their own, where one system is many persons. `external`: score → system → value,
    for correlations; the paper's printed scores always take part, by system name. `families`: judge or system → model family,
    for the audit of self-preference. `checks`: the judges' checks. `by_people`: rate by people's axis (True), by judges'
    verdicts (False), or by people's axis wherever votes give one and no model was named (None); `votes_on`: presentation of the
    votes that it reads (default: as heard, or else as read), `people_from`: rows with those votes, where `judgments` are of
    another presentation, `pairs`: number of pairs of replies that could be drawn for people.

    Raises harness.errors.UserError: no rows, several presentations with none chosen, bad axis weights, or votes that give no
    interval where they are asked for, or are all there is.
    """
    given = list(judgments)
    table = table_of(given)
    ranking = rank_table(
        table, latencies, other_latencies=other_latencies, cut_ins=cut_ins, budget_ms=budget_ms, presentation=presentation,
        model=model, texts=texts, external=external, checks=checks, people_from=people_from, pairs=pairs,
        votes_on=votes_on, by_people=by_people, draws=draws, seed=seed,
    )  # fmt: skip
    model = model or PRIMARY
    kept, _ = chosen.once(table, presentation or ranking.board.presentation)
    rows = [row for row, stays in zip(given, kept.tolist(), strict=True) if stays]
    return replace(
        ranking,
        agreement=agreement(rows, seed=seed),
        beside_people=beside_people(rows, seed=seed),
        people=people_ratings(
            map(by_person, rows) if by_person else rows, is_human or (lambda name: name.startswith("human:")), model, seed=seed
        ),
        audits=audits(rows, texts=texts, judge_family=families, system_family=families),
        consistency=consistency(row for row in given if row.presentation == ranking.board.presentation),
        reasons=co_mention(rows, words=lengths_of(texts or {}), draws=draws, seed=seed),
    ).with_notes(_unmeasured(rows, checks or {}))


def rank_table(
    table: JudgmentTable,
    latencies: Latencies | None = None,
    *,
    other_latencies: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = BUDGET_MS,
    presentation: str | None = None,
    condition: str | None = None,
    model: RatingModel | None = None,
    texts: Texts | None = None,
    external: Mapping[str, Mapping[str, float | None]] | None = None,
    checks: Mapping[str, JudgeCheck] | None = None,
    people_from: JudgmentTable | None = None,
    pairs: Pairs | None = None,
    votes_on: str | None = None,
    by_people: bool | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """All of a ranking but the figures that compare rows with each other in pairs; every argument means the same as in `rank`.

    Raises harness.errors.UserError: as `rank`, or several conditions with none chosen.
    """
    votes = people_from or table
    people, refused = _people(votes, condition, votes_on, pairs, by_people is True)
    if people is not None and (by_people or (by_people is None and model is None)):
        return _ranked_by_people(people, latencies, other_latencies, cut_ins, budget_ms, external, checks, draws, seed)
    kept, notes = chosen.once(table, presentation, condition)
    rows = table.where(kept)
    source = "judge" if by_people is False else chosen.one_source(rows)
    if source == "human" and model is None:
        raise UserError(refused)
    rating = rows.where(chosen.of_source(rows, source))
    if by_people is False and not chosen.judges_of(rating):
        raise UserError("no judge has rated these replies, so there is no board of judges: leave --judges out")
    model = model or PRIMARY
    counted = model.counted(rating)
    board = rate_counted(counted, model, notes=notes, bootstrap_draws=draws, seed=seed)
    with_draws = partial(resample, counted, model=model, board=board, draws=draws, seed=seed)
    figure, *figures = _joint_figures(with_draws, board, latencies or {}, other_latencies or {}, cut_ins, budget_ms) or (None,)
    beside = () if people is None else (Variant("people, all", people.board, False, kendall(board, people.board)),)
    return Ranking(
        board=board,
        variants=variants(rating, model, counted=counted, primary=board, lengths=lengths_of(texts or {})) + beside,
        joint=figure,
        joint_variants=tuple(figures),
        external=external_correlations(board, external or {}),
        people_votes=people,
        people_refused=refused,
        checks=checks or {},
        judges=chosen.judges_of(rating),
    )


def _people(
    table: JudgmentTable, condition: str | None, votes_on: str | None, pairs: Pairs | None, wanted: bool
) -> tuple[PeoplesAxis | None, str]:
    """People's axis, or the reason why there is none.

    Raises harness.errors.UserError: there is none, and it is `wanted`.
    """
    try:
        return axis_of(table, condition, votes_on, pairs), ""
    except UserError as error:
        if wanted:
            raise
        return None, str(error)


def _ranked_by_people(
    people: PeoplesAxis,
    latencies: Latencies | None,
    other_latencies: Mapping[str, Latencies] | None,
    cut_ins: Events | None,
    budget_ms: float,
    external: Mapping[str, Mapping[str, float | None]] | None,
    checks: Mapping[str, JudgeCheck] | None,
    draws: int,
    seed: int,
) -> Ranking:
    board = people.board
    with_draws = partial(resample_people, people, draws=draws, seed=seed)
    figure, *figures = _joint_figures(with_draws, board, latencies or {}, other_latencies or {}, cut_ins, budget_ms) or (None,)
    return Ranking(
        board=board,
        variants=(),
        joint=figure,
        joint_variants=tuple(figures),
        external=external_correlations(board, external or {}),
        people_votes=people,
        checks=checks or {},
    )


def rank_many(table: JudgmentTable, **options: Any) -> Ranking:
    """Rank the rows of a table and say what is left out; `options` are those of `rank_table`.

    Raises harness.errors.UserError: as `rank_table`.
    """
    ranking = rank_table(table, **options)
    note = (
        f"With {in_words(ranking.board.judgments, 'row')} (over {MANY:,}) agreement, audits of judges and their consistency "
        "are left out; rank a part of the file for those."
    )
    return ranking.with_notes([note])


def _joint_figures(
    drawn_with: Callable[[Sequence[Latencies]], Resampled],
    board: Board,
    latencies: Latencies,
    other_latencies: Mapping[str, Latencies],
    cut_ins: Events | None,
    budget_ms: float,
) -> tuple[JointFigure, ...]:
    """The joint figure of a board on its first latency, then on each other one, all over the same draws; none where no system
    of the board has that latency, or where the latency is part of the board itself."""
    known = {row.system for row in board.systems}
    others = {name: given for name, given in other_latencies.items() if any(given.get(s) for s in known)}
    if not any(latencies.get(s) for s in known) or board.presentation == "audio_with_delay":
        return ()
    drawn = drawn_with([latencies, *others.values()])
    first = lay_over(drawn, latencies, others=others, cut_ins=cut_ins, budget_ms=budget_ms)
    return first, *(lay_over(drawn, given, name=name, budget_ms=budget_ms) for name, given in others.items())


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


def _without_chances(figure: JointFigure) -> JointFigure:
    return replace(figure, points=tuple(point.without_chances for point in figure.points))
