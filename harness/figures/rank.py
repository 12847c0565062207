"""Input of the ranking from a finished run or a file of judgments.

Of a run: the verdicts of one condition and presentation, and the latency table of the same sessions, as
`harness.store.selection` and `harness.figures.latency` have them. Nothing is chosen here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from harness.errors import UserError
from harness.experiment import BUDGET_MS
from harness.figures.persons import PERSON, by_person
from harness.figures.quality_state import in_its_state
from harness.figures.rated_on import rated_on
from harness.figures.silence import not_voted_on, votes_with_silences
from harness.ranking import chosen
from harness.ranking.board import Board
from harness.ranking.joint import Events, JointPoint, Latencies, Resampled, Turn, deciding, lay_over, resample, resample_people
from harness.ranking.leaderboard import rate, rate_counted
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.peoples_axis import Pairs, PeoplesAxis, axis_of
from harness.ranking.ranking import MANY, Ranking, rank, rank_many
from harness.ranking.scores import Scores
from harness.ranking.verdicts import lengths_of
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store import judgment_files as files
from harness.store.judgment import Judgment, Presentation, reference_name
from harness.store.judgment_columns import table_of
from harness.store.judgment_files import lines_in, read_table
from harness.store.judgment_table import JudgmentTable
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection, Texts
from harness.tables.names import NamesRead
from harness.turns import TurnTable
from harness.turns.catalogue import LATENCIES
from harness.turns.estimate import by_cluster
from harness.turns.of_run import table_of_run
from harness.wording import command

if TYPE_CHECKING:  # summaries load the judges, whom a file of judgments does not need
    from harness.figures.cells import Subset

Contexts = frozenset[str]


@dataclass(frozen=True, slots=True)
class Measured:
    """The latency tables of one condition, and the other data that its ranking needs.

    `latencies`: figure → system → context → turns, infinite where one ranks slowest. `cut_ins`: system → context →
    whether each turn was cut into. `texts`: the replies as judged.
    """

    latencies: Mapping[str, Latencies]
    cut_ins: Events
    texts: Texts


def measured(selection: Selection, condition: str, presentation: Presentation, contexts: Contexts | None = None) -> Measured:
    """The measurements of one condition, on all contexts or those named."""
    latencies: dict[str, dict[str, dict[str, list[Turn]]]] = {}
    cut_ins: dict[str, dict[str, list[bool]]] = {}
    table = table_of_run(selection).where({"condition": condition})
    table = table if contexts is None else table.where({"context": contexts})
    # People are no rivals of agents for the frontier or the budget; their latency has an interval of its own (`seat_figures`).
    for entry in selection.manifest.played:
        turns = table.where({"agent": entry.name})
        for figure in LATENCIES:
            if values := _turns(turns, figure.key):
                latencies.setdefault(figure.key, {})[entry.name] = values
        if entry.name in latencies.get("ttfa", {}):
            found = turns.given("cut_in_rate")
            cut_ins[entry.name] = {
                c: flags.astype(bool).tolist() for c, flags in by_cluster(turns, found, found.measured).items()
            }
    return Measured(latencies, cut_ins, selection.reply_texts(condition, presentation))


def _turns(table: TurnTable, figure: str) -> dict[str, list[Turn]]:
    """Context → a latency of its turns, as a pair where others could have delayed it."""
    found = table.given(figure)
    low, high = (by_cluster(table, found, end) for end in (found.low, found.high))
    return {c: [ms if lo == ms else (lo, ms) for lo, ms in zip(low[c].tolist(), high[c].tolist(), strict=True)] for c in high}


@dataclass(frozen=True, slots=True)
class Place:
    """Name of a board: the verdicts of one condition and presentation, on all contexts or one subset. The mode is the run's."""

    condition: str
    presentation: Presentation
    subset: "Subset" = "all"


@dataclass(frozen=True, slots=True)
class Rated:
    """A board and its agents' points in the plane of quality and latency. No board: nothing was judged there."""

    board: Board | None
    points: Mapping[str, JointPoint]
    with_length: Board | None = None
    """The same verdicts rated with a length term; None where lengths are not known or do not differ."""
    people: PeoplesAxis | None = None
    """People's axis, whose board this then is."""
    people_refused: str = ""
    """Reason why there is no people's axis, in one sentence without its full stop."""
    judges: tuple[str, ...] = ()
    """Judges whose verdicts rate this board; none where people's votes do."""


def contexts_of(selection: Selection, place: Place) -> Contexts:
    """The contexts that a board is about."""
    return frozenset(c.id for c in selection.contexts if place.subset in ("all", c.subset))


def rated(selection: Selection, place: Place) -> Rated:
    """One board with its joint points, by the same model and the same latency table as `rank_condition`.

    On the presentation that is quoted it is people's axis, where the votes give one.
    """
    inside = contexts_of(selection, place)
    found = measured(selection, place.condition, place.presentation, inside)
    manifest = selection.manifest
    table = board_table(selection, place, inside)
    people, refused = None, ""
    if place.presentation == selection.quoted(place.condition):
        people, refused = people_or_why(selection, place.condition, inside)
    elif not chosen.judges_of(table):
        people, refused = people_or_why(selection, place.condition, inside, place.presentation)
    return _rated(
        table, found, people, refused, budget_ms=manifest.budgets_ms["ttfa"], seed=manifest.seed, valid=not manifest.invalid
    )


def people_or_why(
    selection: Selection, condition: str, inside: Contexts, votes_on: Presentation | None = None
) -> tuple[PeoplesAxis | None, str]:
    """People's axis on some contexts of a condition, or why votes give none; no reason where nobody voted."""
    table, unvoted = votes_with_silences(selection, condition)
    axis, refused = axis_or_why(table, condition, inside, pairs_of(selection, condition, inside, unvoted), votes_on)
    if axis is not None and unvoted:
        board = replace(axis.board, warnings=(*axis.board.warnings, not_voted_on(unvoted)))
        axis = replace(axis, board=board)
    return axis, refused


def axis_or_why(
    table: JudgmentTable, condition: str, inside: Contexts, pairs: Pairs, votes_on: Presentation | None = None
) -> tuple[PeoplesAxis | None, str]:
    """People's axis of the rows on some contexts of a condition, or why votes give none; no reason where nobody voted."""
    known = np.array([name in inside for name in table.contexts], dtype=bool)
    rows = table.where(table.named("condition", condition) & known[table["context"]]) if known.size else table
    voted = (rows["human"] == 1) & (rows["purpose"] == 0)
    if votes_on is not None:
        voted &= rows.named("presentation", votes_on)
    if not voted.any():
        return None, ""
    try:
        return axis_of(rows, condition, votes_on, pairs), ""
    except UserError as error:
        return None, str(error)


def pairs_of(selection: Selection, condition: str, inside: Contexts, without: Contexts = frozenset()) -> Pairs:
    """Number of pairs of replies of the first repeat that a person could compare; `without` these systems."""
    unheard = frozenset(agent.name for agent in selection.manifest.agents if agent.kind == "text")
    keys = [reply.session.key for reply in selection.replies(condition, 0, HEARD) if reply.fate != "missing"]
    keys = [key for key in keys if key.agent not in without]
    agents = Counter(key.context_id for key in keys)
    speaking = Counter(key.context_id for key in keys if key.agent not in unheard)
    heard = read = 0
    for context in selection.contexts:
        if context.id in inside:
            spoken, every = speaking[context.id], agents[context.id] + len(context.references)
            heard, read = heard + spoken * (spoken - 1) // 2, read + every * (every - 1) // 2
    return Pairs(heard, read, unheard)


def board_table(selection: Selection, place: Place, inside: Contexts) -> JudgmentTable:
    """The verdicts of one board, as columns."""
    table = selection.table
    mine = chosen.of_one_board(table, place.presentation, place.condition)
    known = np.array([name in inside for name in table.contexts], dtype=bool)
    return table.where(mine & known[table["context"]] if known.size else mine)


def rated_rows(
    rows: Sequence[Judgment],
    found: Measured,
    people: PeoplesAxis | None = None,
    refused: str = "",
    *,
    budget_ms: float,
    seed: int,
    valid: bool,
) -> Rated:
    """The board of people's axis, or else of some verdicts, and the points of those of its systems that have a latency.

    `refused`: reason why votes give no people's axis; `valid`: all runs of the rows are.
    """
    return _rated(table_of(rows), found, people, refused, budget_ms=budget_ms, seed=seed, valid=valid)


def _rated(
    table: JudgmentTable,
    found: Measured,
    people: PeoplesAxis | None,
    refused: str,
    *,
    budget_ms: float,
    seed: int,
    valid: bool,
) -> Rated:
    if people is not None:
        drawn = resample_people(people, found.latencies.values(), seed=seed)
        return Rated(people.board, _points(drawn, found, budget_ms, valid), None, people)
    kept, notes = chosen.once(table)
    once = table.where(kept)
    once = once.where(chosen.of_source(once, "judge"))
    judges = chosen.judges_of(once)
    if not judges:
        return Rated(None, {}, people_refused=refused)
    counted = PRIMARY.counted(once)
    board = rate_counted(counted, PRIMARY, notes=notes)
    adjusted = rate(once, RatingModel(lengths=lengths_of(found.texts)), notes=notes)
    with_length = adjusted if "length" in adjusted.terms else None
    # Every latency takes part in the drawing, as in `rank`: the same conversations give the same P(frontier).
    drawn = resample(counted, found.latencies.values(), board=board, seed=seed)
    points = _points(drawn, found, budget_ms, valid)
    return Rated(board, points, with_length, people_refused=refused, judges=judges)


def _points(drawn: Resampled, found: Measured, budget_ms: float, valid: bool) -> dict[str, JointPoint]:
    ttfa = {system: values for system, values in found.latencies.get("ttfa", {}).items() if system in drawn.board.names}
    if not ttfa or drawn.board.presentation == "audio_with_delay":
        return {}
    figure = lay_over(drawn, deciding(ttfa, found.latencies.get("answer", {})), budget_ms=budget_ms)
    points = figure.points if valid else [point.without_chances for point in figure.points]
    return {point.system: point for point in points}


def rank_condition(
    selection: Selection,
    condition: str,
    presentation: Presentation,
    *,
    budget_ms: float | None = None,
    scores: Scores | None = None,
    **options: Any,
) -> Ranking:
    """Rank one condition of a run. Raises UserError: nothing was judged in it, or no board for `by_people`."""
    # Both load the judges, whom a file of judgments does not need.
    from harness.figures.judges import judge_summaries
    from harness.figures.rank_notes import notes_on_judges, notes_on_stops, notes_on_votes

    store = selection.store
    table = scores or Scores({}, {})
    found = measured(selection, condition, presentation)
    authors = {reference_name(r.id): r.author for c in store.contexts() for r in c.references}
    checks = {check.judge: check for check in store.judge_checks()}
    families = {judge: check.family for judge, check in checks.items()}
    families |= {agent.name: agent.family for agent in selection.manifest.agents if agent.family}
    votes, unvoted = votes_with_silences(selection, condition)
    common: dict[str, Any] = {
        "other_latencies": {name: values for name, values in found.latencies.items() if name != "ttfa"},
        "cut_ins": found.cut_ins,
        "budget_ms": budget_ms or selection.manifest.budgets_ms["ttfa"],
        "presentation": presentation,
        "texts": found.texts,
        "external": table.scores,
        "checks": checks,
        "people_from": votes,
        "pairs": pairs_of(selection, condition, frozenset(c.id for c in selection.contexts), unvoted),
    }
    ttfa = found.latencies.get("ttfa", {})
    by_answer = [name for name, values in deciding(ttfa, found.latencies.get("answer", {})).items() if values is not ttfa[name]]
    if len(selection.table) > MANY:
        ranking = rank_many(selection.table, condition=condition, latencies=ttfa, **common, **options)
    else:
        ranking = rank(
            [r for r in selection.verdicts if r.condition == condition and r.presentation == presentation],
            ttfa,
            is_human=lambda name: authors.get(name, name).startswith(PERSON),
            by_person=by_person(selection, condition),
            families={**families, **table.families},
            **common,
            **options,
        )
    ranking = in_its_state(ranking, judge_summaries(selection))
    made = rated_on(selection.manifest, selection.sessions, condition, cast(Presentation, ranking.board.presentation))
    facts = {"reads": made.reads, **{name: getattr(made, name) for name in ("condition", "mode", "pack", "transcriber")}}
    ranking = replace(ranking, rated_on=facts, rated_on_words=made.words)
    invalid = selection.manifest.invalid
    ranking = ranking.without_chances if invalid else ranking
    judged = selection.table.where(selection.table.named("condition", condition))
    notes = notes_on_stops(store.folder, judged, condition, presentation)
    if ranking.people_votes is not None and unvoted:
        notes = [*notes, not_voted_on(unvoted)]
    if by_answer:
        notes = [f"Replies of {', '.join(by_answer)} begin with fillers: the answer, not TTFA, decides their chances.", *notes]
    if ranking.judges:
        notes = [*notes_on_judges(ranking.judges, checks), *notes, *notes_on_votes(judged, presentation)]
    return ranking.with_notes([*(f"INVALID: these figures must not be quoted: {why}." for why in invalid), *notes])


def rank_rows(rows: Sequence[Judgment], *, presentation: str | None = None, **options: Any) -> Ranking:
    """Rank judgments of which nothing else is known, so that a judge's are an opinion; `options` are those of `ranking.rank`.

    `presentation`: of the verdicts, and of the votes.

    Raises UserError: as `ranking.rank`.
    """
    options = {"votes_on": presentation} | options
    return in_its_state(rank(rows, presentation=None if options.get("by_people") else presentation, **options))


def rank_target(
    path: Path,
    *,
    condition: str | None = None,
    presentation: Presentation | None = None,
    budget_ms: float | None = None,
    votes: Sequence[Judgment] = (),
    keep_excluded: bool = False,
    scores: Scores | None = None,
    **options: Any,
) -> Ranking:
    """Rank a run's folder or a judgment file; `options` are those of `ranking.rank`.

    `presentation`: of verdicts and votes. `votes`: people's, from a listening test of the run. `scores`: a user's own
    table of families and external scores.

    Raises UserError: nothing there, an unreadable file, a run without judgments, several conditions or presentations with none
    chosen, a condition that the run does not have.
    """
    table = scores or Scores({}, {})
    options = {"votes_on": presentation} | options
    if options.get("by_people"):
        # Verdicts only predict votes, so they may be on any presentation.
        presentation = None
    names = NamesRead()
    if not path.is_dir() and lines_in(path) > MANY:
        known = {name: options[name] for name in ("model", "draws", "seed", "votes_on", "by_people") if name in options}
        rows_of_many = read_table(path, names)
        ranking = rank_many(rows_of_many, presentation=presentation, condition=condition, external=table.scores, **known)
        return in_its_state(ranking).with_notes(names.notes())
    if not path.is_dir():
        rows = files.read(path, names)
        if condition is not None:
            rows = [row for row in rows if row.condition == condition]
        return rank_rows(
            rows,
            presentation=presentation,
            budget_ms=budget_ms or BUDGET_MS,
            families=table.families,
            external=table.scores,
            **options,
        ).with_notes(names.notes())
    store = RunStore.open(path)
    try:
        selection = Selection(store, votes, keep_excluded=keep_excluded)
        chosen = chosen_condition(selection, condition)
        judged, by_people = selection.judged(chosen), options.get("by_people")
        if presentation is None and not judged:
            raise UserError(_nobody_voted(path, len(selection.contexts)) if by_people else _nothing_counts(path, store))
        if presentation is None and (by_people or not selection.presentations(chosen, human=False)):
            presentation = selection.quoted(chosen)  # People's axis finds its votes itself.
        if presentation is None and len(judged) > 1:
            raise UserError(
                f"{path}: judged as {', '.join(judged)}, which never share a ranking: choose one with --presentation"
            )
        seed = {"seed": store.manifest.seed} | options
        return rank_condition(selection, chosen, presentation or judged[0], budget_ms=budget_ms, scores=scores, **seed)
    finally:
        store.close()


def chosen_condition(selection: Selection, condition: str | None) -> str:
    """The condition asked for, or the run's only one.

    Raises:
        UserError: the run has several and none was chosen, or has not the one that was.
    """
    have = selection.conditions
    if condition is None and len(have) > 1:
        raise UserError(
            f"{selection.store.folder}: played in the conditions {', '.join(have)}, each of which has a separate board: "
            "choose one with --condition"
        )
    if condition is not None and condition not in have:
        raise UserError(f"--condition {condition}: {selection.store.folder} was played in {', '.join(have)}; name one of them")
    return condition or have[0]


def _nothing_counts(path: Path, store: RunStore) -> str:
    failed = sorted(check.judge for check in store.judge_checks() if check.excluded)
    if failed and next(store.stored_judgments(), None) is not None:
        return (
            f"{path}: {', '.join(failed)} got half or more of the pairs with known answers wrong and is excluded; "
            "judge with another, or rank all the same with --keep-excluded"
        )
    return (
        f"{path}: the run holds no judgments yet; let people vote on its page or with {command('listen', path)}, or judge it "
        f"with: {command('judge', path)}"
    )


def _nobody_voted(path: Path, contexts: int) -> str:
    if contexts < FEWEST_CLUSTERS:
        return (
            f"{path}: nobody has voted on these replies, and an interval needs votes on {FEWEST_CLUSTERS} conversations, of "
            f"which this run has {contexts}; play more first"
        )
    return f"{path}: nobody has voted on these replies; vote on the run's page, or with {command('listen', path)}"
