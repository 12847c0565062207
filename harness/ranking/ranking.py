"""The object of `harness rank`: made from rows, or from rows and latencies, for programs to read.

Keys are stable and more may be added; unknown values are null, and an infinite percentile (no reply) is null with its
`over_limit` true, since JSON has no infinity. An interval with one end null is a bound. The order of systems is always that
of the board.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib import resources
from typing import Any, Final

from pydantic import TypeAdapter

from harness.errors import UserError
from harness.experiment import BUDGET_MS
from harness.ranking import chosen
from harness.ranking.agreement import Agreement, agreement
from harness.ranking.association import Correlation, with_external
from harness.ranking.bias import Audit, audits
from harness.ranking.board import Board
from harness.ranking.bootstrap import DRAWS
from harness.ranking.consistency import Consistency, consistency
from harness.ranking.human_row import HumanRatings, people_ratings
from harness.ranking.joint import Events, JointFigure, JointPoint, Latencies, Resampled, lay_over, resample, resample_people
from harness.ranking.judge_vs_person import NOTHING, BesidePeople, beside_people
from harness.ranking.leaderboard import rate_counted
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.peoples_axis import Pairs, PeoplesAxis, axis_of
from harness.ranking.rationales import CoMention, co_mention
from harness.ranking.variants import WITH_LENGTH, Variant, variants
from harness.ranking.verdicts import Texts, lengths_of
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
_SHOWN: Final = (
    "interval", "band", "win_rate", "axes", "judgments", "contexts", "bootstrap_interval", "paper_interval", "part",
)  # fmt: skip
"""Figures of a system on a board, beside its Elo."""
_CHECKED: Final = ("accuracy", "accuracy_interval", "trusted")
"""Figures of a judge, beside its consistency."""
MANY: Final = 100_000
"""Rows of a file. As objects, so many take half a gigabyte and a minute of one core, most of it in comparing pairs of rows.
Over so many a file is never loaded as objects, and all parts of a board are made from columns."""
_JSON: Final = TypeAdapter(Any)
"""Writes records by their fields, tuples as lists, and values that are not finite as null."""


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
        """The same ranking for a run whose figures may not be quoted."""
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
    model: RatingModel = PRIMARY,
    texts: Texts | None = None,
    is_human: Callable[[str], bool] | None = None,
    external: Mapping[str, Mapping[str, float | None]] | None = None,
    families: Mapping[str, str] | None = None,
    checks: Mapping[str, JudgeCheck] | None = None,
    people_from: JudgmentTable | None = None,
    pairs: Pairs | None = None,
    votes_on: str | None = None,
    by_people: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank. `latencies`: system → context → TTFA of each turn in ms (infinite: no reply). `model`: of every rating here.

    `texts`: the replies as judged, for the audits and for the board with a length term beside the one without. `is_human`:
    True for systems that are people's replies (default: names that begin with `human:`). `external`: score → system → value,
    for correlations; the paper's printed scores always take part, by system name. `families`: judge or system → model family,
    for the audit of self-preference. `checks`: the judges' checks. `by_people`: rate by people's axis instead of by the model;
    `votes_on`: presentation of the votes that it reads (default: as heard, or else as read), `people_from`: rows with those
    votes, where `judgments` are of another presentation, `pairs`: number of pairs of replies that could be drawn for people.

    Raises harness.errors.UserError: no rows, several presentations with none chosen, bad axis weights, or `by_people` without
    votes that give an interval.
    """
    given = list(judgments)
    table = table_of(given)
    kept, _ = chosen.once(table, presentation)
    rows = [row for row, stays in zip(given, kept.tolist(), strict=True) if stays]
    ranking = rank_table(
        table, latencies, other_latencies=other_latencies, cut_ins=cut_ins, budget_ms=budget_ms, presentation=presentation,
        model=model, texts=texts, external=external, checks=checks, people_from=people_from, pairs=pairs,
        votes_on=votes_on, by_people=by_people, draws=draws, seed=seed,
    )  # fmt: skip
    return replace(
        ranking,
        agreement=agreement(rows, seed=seed),
        beside_people=beside_people(rows, seed=seed),
        people=people_ratings(rows, is_human or (lambda name: name.startswith("human:")), model, seed=seed),
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
    model: RatingModel = PRIMARY,
    texts: Texts | None = None,
    external: Mapping[str, Mapping[str, float | None]] | None = None,
    checks: Mapping[str, JudgeCheck] | None = None,
    people_from: JudgmentTable | None = None,
    pairs: Pairs | None = None,
    votes_on: str | None = None,
    by_people: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """All of a ranking but the figures that compare rows with each other in pairs; every argument means the same as in `rank`.

    Raises harness.errors.UserError: as `rank`, or several conditions with none chosen.
    """
    people, refused = _people(people_from or table, condition, votes_on, pairs, by_people)
    if by_people and people is not None:
        return _ranked_by_people(people, latencies, other_latencies, cut_ins, budget_ms, external, checks, draws, seed)
    kept, notes = chosen.once(table, presentation, condition)
    rows = table.where(kept)
    counted = model.counted(rows.where(chosen.of_source(rows, chosen.one_source(rows))))
    board = rate_counted(counted, model, notes=notes, bootstrap_draws=draws, seed=seed)
    with_draws = partial(resample, counted, model=model, board=board, draws=draws, seed=seed)
    figure, *figures = _joint_figures(with_draws, board, latencies or {}, other_latencies or {}, cut_ins, budget_ms) or (None,)
    return Ranking(
        board=board,
        variants=variants(rows, model, counted=counted, primary=board, lengths=lengths_of(texts or {})),
        joint=figure,
        joint_variants=tuple(figures),
        external=external_correlations(board, external or {}),
        people_votes=people,
        people_refused=refused,
        checks=checks or {},
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


def as_object(ranking: Ranking) -> dict[str, Any]:
    """The object that `harness rank --json` prints."""
    board, figure = ranking.board, ranking.joint
    elo_with_length = {row.system: row.quoted for row in ranking.with_length.systems} if ranking.with_length else {}
    whole = {
        "schema": 1,
        "method": board.method,
        "presentation": board.presentation,
        "judgments": board.judgments,
        "contexts": board.contexts,
        "warnings": board.warnings,
        "terms": board.terms,
        "parts": board.parts,
        "systems": {name: row | {"elo_with_length": elo_with_length.get(name)} for name, row in _systems(board).items()},
        "length_term": ranking.length_words,
        "agreement": _agreement(ranking.agreement),
        "beside_people": _beside_people(ranking.beside_people),
        "people_votes": _people_votes(ranking),
        "joint": {p.system: _point(p) for p in figure.points} if figure else {},
        "joint_variants": {
            f.latency: {
                "points": {
                    p.system: {
                        "p50_ms": p.latency.p50,
                        "p50_interval": p.latency.p50_interval,
                        "p_frontier": p.p_frontier,
                        "p_best_within_budget": p.p_best_within_budget,
                    }
                    for p in f.points
                },
                "slope": f.slope,
            }
            for f in ranking.joint_variants
        },
        "slope": figure and figure.slope,
        "budget_ms": figure and figure.budget_ms,
        "people": ranking.people
        and {
            name: rating if rating is not None and rating.interval is not None else None
            for name, rating in _but(ranking.people).items()
        },
        "boards": {
            v.name: {
                "method": v.board.method,
                "systems": _systems(v.board),
                "exploratory": v.exploratory,
                "kendall": v.kendall,
            }
            for v in ranking.variants
        },
        "audits": {audit.name: _but(audit, "name") for audit in ranking.audits},
        "judges": {
            each.judge: _but(each, "judge") | {name: getattr(ranking.checks.get(each.judge), name, None) for name in _CHECKED}
            for each in ranking.consistency
        },
        "external": {name: {c.kind: _but(c, "kind") for c in both} for name, both in ranking.external.items()},
        "reasons": ranking.reasons
        and _but(ranking.reasons, "skills")
        | {"skills": {skill.skill: _but(skill, "skill") for skill in ranking.reasons.skills}},
    }
    found: dict[str, Any] = json.loads(_JSON.dump_json(whole))
    return found


def _but(row: Any, *names: str) -> dict[str, Any]:
    """The fields of a row by name, without some."""
    return {each.name: getattr(row, each.name) for each in fields(row) if each.name not in names}


def _systems(board: Board) -> dict[str, dict[str, Any]]:
    return {row.system: {"elo": row.quoted} | {name: getattr(row, name) for name in _SHOWN} for row in board.systems}


def _point(p: JointPoint) -> dict[str, Any]:
    return {
        "p_frontier": p.p_frontier,
        "p_best_within_budget": p.p_best_within_budget,
        "elo": p.quoted,
        "elo_interval": p.elo_interval,
        "turns": p.latency.n,
        "ttfa_p50_ms": p.latency.p50,
        "ttfa_p50_interval": p.latency.p50_interval,
        "ttfa_p50_over_limit": p.latency.p50_over_limit,
        "ttfa_p95_ms": p.latency.p95,
        "ttfa_p95_interval": p.latency.p95_interval,
        "ttfa_p95_over_limit": p.latency.p95_over_limit,
        "cut_in_rate": p.cut_in_rate,
        "cut_in_interval": p.cut_in_interval,
        "others": {name: {"p50": v.p50, "interval": v.p50_interval} for name, v in p.others.items()},
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    """Figures of several judges under their names: "one | other"."""
    return {
        name: {" | ".join(key) if isinstance(key, tuple) else key: each for key, each in value.items()}
        if isinstance(value, Mapping)
        else value
        for name, value in _but(found).items()
    }


def _beside_people(found: BesidePeople) -> dict[str, Any]:
    return {
        "judges": {each.judge: _but(each, "judge") | {"at_chance": each.at_chance} for each in found.judges},
        "elo_by_people": found.people_elo,
        "elo_by_judges": found.judges_elo,
        "board_correlation": found.board_correlation,
    }


def _people_votes(ranking: Ranking) -> dict[str, Any]:
    """People's axis, or the reason why there is none under `refused`."""
    people = ranking.people_votes
    if people is None:
        return {"refused": ranking.people_refused}
    board = people.board
    return {
        "refused": None,
        "presentation": board.presentation,
        "method": board.method,
        "votes": people.votes,
        "raters": people.raters,
        "contexts": board.contexts,
        "pairs": people.pairs,
        "judges": people.judges,
        "judge_weight": people.power,
        "judge_agrees": people.agrees,
        "worth": people.worth,
        "saved": people.saved,
        "warnings": board.warnings,
        "systems": _systems(board),
    }


def _without_chances(figure: JointFigure) -> JointFigure:
    return replace(figure, points=tuple(point.without_chances for point in figure.points))
