"""Input of the ranking from a finished run or a file of judgments.

Of a run: the verdicts of one condition and presentation, and the latency table of the same sessions, as
`harness.store.selection` and `harness.figures.latency` have them. Nothing is chosen here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from harness.errors import UserError
from harness.figures.one_reply import is_one_for_all
from harness.figures.quality_state import in_its_state
from harness.figures.rated_on import rated_on
from harness.figures.seat import PERSON, by_person
from harness.figures.silence import not_voted_on, votes_with_silences
from harness.figures.uncounted_votes import uncounted_votes
from harness.figures.validity import NOT_TO_BE_QUOTED, may_be_quoted, votes_to_quote
from harness.ranking import board_rows
from harness.ranking.board import Board
from harness.ranking.joint import JointPoint, Turn, deciding
from harness.ranking.peoples_axis import Pairs, PeoplesAxis, axis_of
from harness.ranking.question import Measured, RatingQuestion
from harness.ranking.quoted_board import OfVerdicts, joint_figures, of_verdicts
from harness.ranking.ranking import MANY, Ranking, rank, rank_many
from harness.ranking.scores import Scores
from harness.ranking.variants import with_length_term
from harness.ranking.verdicts import lengths_of
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store import judgment_files as files
from harness.store.database import no_run_but_a_file
from harness.store.judgment import Judgment, Presentation, reference_name
from harness.store.judgment_files import lines_in, may_hold_replies, read_table
from harness.store.judgment_table import JudgmentTable
from harness.store.run_store import RunStore
from harness.store.selection import BY_EAR, HEARD, Selection
from harness.tables.names import NamesRead
from harness.turns import TurnTable
from harness.turns.catalogue import LATENCIES
from harness.turns.estimate import by_cluster
from harness.turns.of_run import table_of_run
from harness.wording import command, counted

if TYPE_CHECKING:  # summaries load the judges, whom a file of judgments does not need
    from harness.figures.cells import Subset

Contexts = frozenset[str]


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
    valid: bool = True
    """True if all runs of the rows are."""

    @property
    def may_be_quoted(self) -> bool:
        """True if the ratings count: in an invalid run those of replies that were read."""
        return self.board is None or may_be_quoted(self.board.presentation, valid=self.valid)


def contexts_of(selection: Selection, place: Place) -> Contexts:
    """The contexts that a board is about."""
    return frozenset(c.id for c in selection.contexts if place.subset in ("all", c.subset))


def rated(selection: Selection, place: Place) -> Rated:
    """One board with its joint points, as `rank_condition` makes them.

    On the presentation that is quoted it is people's axis, where the votes give one.
    """
    inside = contexts_of(selection, place)
    manifest = selection.manifest
    table = board_table(selection, place, inside)
    people, refused = None, ""
    if place.presentation == selection.quoted(place.condition):
        people, refused = people_or_why(selection, place.condition, inside)
        if place.presentation == BY_EAR:
            table = table.where(table["human"] == 1)  # A judge that hears takes nobody's place on the axis.
    elif not board_rows.judges_of(table):
        people, refused = people_or_why(selection, place.condition, inside, place.presentation)
    asked = RatingQuestion(
        measured=measured(selection, place.condition, place.presentation, inside),
        budget_ms=manifest.budgets_ms["ttfa"],
        seed=manifest.seed,
    )
    return rated_table(table, asked, people, refused, valid=not manifest.invalid)


def people_or_why(
    selection: Selection, condition: str, inside: Contexts, votes_on: Presentation | None = None
) -> tuple[PeoplesAxis | None, str]:
    """People's axis on some contexts of a condition, or why votes give none; no reason where nobody voted."""
    table, unvoted = votes_with_silences(selection, condition)
    votes_on = votes_on or votes_to_quote(selection, condition)
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
        return None, pairs.all_excluded
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
    heard = read = of_agents = 0
    for context in selection.contexts:
        if context.id in inside:
            spoken, every = speaking[context.id], agents[context.id] + len(context.references)
            heard, read = heard + spoken * (spoken - 1) // 2, read + every * (every - 1) // 2
            of_agents += agents[context.id] * (agents[context.id] - 1) // 2
    return Pairs(heard, read, unheard, *uncounted_votes(selection, condition, inside), of_agents)


def board_table(selection: Selection, place: Place, inside: Contexts) -> JudgmentTable:
    """The verdicts of one board, as columns."""
    table = selection.table
    mine = board_rows.of_one_board(table, place.presentation, place.condition)
    known = np.array([name in inside for name in table.contexts], dtype=bool)
    return table.where(mine & known[table["context"]] if known.size else mine)


def rated_table(
    table: JudgmentTable, asked: RatingQuestion, people: PeoplesAxis | None = None, refused: str = "", *, valid: bool
) -> Rated:
    """The board of people's axis, or else of some verdicts, and the points of those of its systems that have a latency.

    `refused`: reason why votes give no people's axis; `valid`: all runs of the rows are.
    """
    if people is not None:
        return Rated(people.board, _points(people, asked, valid), people=people, valid=valid)
    verdicts = of_verdicts(table, asked, bootstrap=False) if board_rows.judges_of(table) else None
    if verdicts is None:
        return Rated(None, {}, people_refused=refused)
    with_length = with_length_term(verdicts, lengths_of(asked.measured.texts))
    points = _points(verdicts, asked, valid)
    return Rated(verdicts.board, points, with_length, people_refused=refused, judges=verdicts.judges, valid=valid)


def _points(rated: OfVerdicts | PeoplesAxis, asked: RatingQuestion, valid: bool) -> dict[str, JointPoint]:
    figure = next(joint_figures(rated, asked), None)
    points = figure.points if figure is not None else ()
    return {point.system: point if valid else point.without_chances for point in points}


def rank_condition(selection: Selection, condition: str, presentation: Presentation, asked: RatingQuestion) -> Ranking:
    """Rank one condition of a run; what the run knows of its replies and judges joins the question.

    Raises UserError: nothing was judged in it, or no board for `by_people`.
    """
    # Both load the judges, whom a file of judgments does not need.
    from harness.figures.cautions import worded
    from harness.figures.judges import judge_summaries, notes_on_judges, notes_on_stops, notes_on_votes
    from harness.figures.session_figures import one_for_all

    store, manifest = selection.store, selection.manifest
    found = measured(selection, condition, presentation)
    authors = {reference_name(r.id): r.author for c in store.contexts() for r in c.references}
    checks = {check.judge: check for check in store.judge_checks()}
    families = {judge: check.family for judge, check in checks.items()}
    families |= {agent.name: agent.family for agent in manifest.agents if agent.family}
    votes, unvoted = votes_with_silences(selection, condition)
    asked = replace(
        asked,
        measured=found,
        presentation=presentation,
        votes_on=asked.votes_on or votes_to_quote(selection, condition),
        condition=condition,
        people_from=votes,
        pairs=pairs_of(selection, condition, frozenset(c.id for c in selection.contexts), unvoted),
        scores=Scores({**families, **asked.scores.families}, asked.scores.scores),
        checks=checks,
        is_human=lambda name: authors.get(name, name).startswith(PERSON),
        by_person=by_person(selection, condition),
        budget_ms=asked.budget_ms or manifest.budgets_ms["ttfa"],
        seed=manifest.seed if asked.seed is None else asked.seed,
    )
    if len(selection.table) > MANY:
        ranking = rank_many(selection.table, asked)
    else:
        ranking = rank([r for r in selection.verdicts if r.condition == condition and r.presentation == presentation], asked)
    ranking = in_its_state(ranking, judge_summaries(selection))
    made = rated_on(manifest, selection.sessions, condition, cast(Presentation, ranking.board.presentation))
    facts = {"reads": made.reads, **{name: getattr(made, name) for name in ("condition", "mode", "pack", "transcriber")}}
    ranking = replace(ranking, rated_on=facts, rated_on_words=made.words)
    ranking = ranking.without_chances if manifest.invalid else ranking
    judged = selection.table.where(selection.table.named("condition", condition))
    notes = notes_on_stops(store.folder, judged, condition, presentation)
    if ranking.people_votes is not None and unvoted:
        notes = [*notes, not_voted_on(unvoted)]
    ttfa = found.placing
    by_answer = [name for name, values in deciding(ttfa, found.latencies.get("answer", {})).items() if values is not ttfa[name]]
    if by_answer:
        notes = [f"Replies of {', '.join(by_answer)} begin with fillers: the answer, not TTFA, decides their chances.", *notes]
    if ranking.judges:
        each = {agent.name: one_for_all(selection.of(agent.name, condition)) for agent in manifest.agents}
        alike = {name: same for name, same in each.items() if same is not None and is_one_for_all(same)}
        ranking = ranking.without_chances_of(alike)
        notes = [*notes, *(worded("same_reply", a, n, counted(of, "conversation")).text for a, (n, of) in alike.items())]
        notes = [*notes_on_judges(ranking.judges, checks), *notes, *notes_on_votes(judged, presentation)]
    return ranking.with_notes([*(f"INVALID: {NOT_TO_BE_QUOTED}: {why}." for why in manifest.invalid), *notes])


def rank_rows(rows: Iterable[Judgment], asked: RatingQuestion) -> Ranking:
    """Rank judgments of which nothing else is known, so that a judge's are an opinion.

    The presentation of the question is of the verdicts, and of the votes.

    Raises UserError: as `ranking.rank`.
    """
    return in_its_state(rank(rows, _of_votes_too(asked)))


def _of_votes_too(asked: RatingQuestion) -> RatingQuestion:
    """The question with one presentation for verdicts and votes; verdicts that only predict votes may be on any."""
    return replace(
        asked, votes_on=asked.votes_on or asked.presentation, presentation=None if asked.by_people else asked.presentation
    )


def rank_target(
    path: Path,
    asked: RatingQuestion | None = None,
    *,
    votes: Sequence[Judgment] = (),
    left_out: str = "",
    keep_excluded: bool = False,
) -> Ranking:
    """Rank a run's folder or a judgment file.

    The presentation of the question is of the verdicts, and of the votes. `votes`: people's, from a listening test of the run;
    `left_out`: why none of them counts, if all are excluded.

    Raises UserError: nothing there, an unreadable file, a run without judgments, several conditions or presentations with none
    chosen, a condition that the run does not have.
    """
    asked = asked or RatingQuestion()
    if path.is_dir():
        with closing(RunStore.open(path)) as store:
            return _rank_run(Selection(store, votes, keep_excluded=keep_excluded, left_out=left_out), _of_votes_too(asked))
    if may_hold_replies(path):
        raise UserError(no_run_but_a_file(path))
    names = NamesRead()
    if lines_in(path) > MANY:
        ranking = in_its_state(rank_many(read_table(path, names), _of_votes_too(asked)))
    else:
        ranking = rank_rows(files.read(path, names), asked)
    return ranking.with_notes(names.notes())


def _rank_run(selection: Selection, asked: RatingQuestion) -> Ranking:
    store, condition = selection.store, chosen_condition(selection, asked.condition)
    judged, presentation = selection.judged(condition) or selection.presentations(condition), asked.presentation
    if presentation is None and not judged:
        inside = frozenset(c.id for c in selection.contexts)
        if excluded := uncounted_votes(selection, condition, inside)[1]:
            raise UserError(f"{store.folder}: {excluded}")
        raise UserError(_nobody_voted(store.folder, len(inside)) if asked.by_people else _nothing_counts(store.folder, store))
    if presentation is None and (asked.by_people or not selection.presentations(condition, human=False)):
        presentation = selection.quoted(condition)  # People's axis finds its votes itself.
    if presentation is None and len(judged) > 1:
        raise UserError(
            f"{store.folder}: judged as {', '.join(judged)}, which never share a ranking: choose one with --presentation"
        )
    return rank_condition(selection, condition, presentation or judged[0], asked)


def chosen_condition(selection: Selection, condition: str | None) -> str:
    """The condition asked for, or the run's only one.

    Raises UserError: the run has several and none was chosen, or has not the one that was.
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
    checks = store.judge_checks()
    if unheard := [f"{check.judge}: {check.why_missing}" for check in checks if check.silent and check.why_missing]:
        return f"{path}: no judge answered: {'; '.join(unheard)}"
    failed = sorted(check.judge for check in checks if check.excluded)
    if failed and next(store.stored_judgments(), None) is not None:
        return (
            f"{path}: {', '.join(failed)} got half or more of the pairs with known answers wrong and is excluded; "
            "judge with another, or rank all the same with --keep-excluded"
        )
    return (
        f"{path}: the run holds no judgments yet; let people vote on its page or with {command('listen', path)}, or judge it "
        f"with: {command('judge', 'run', path)}"
    )


def _nobody_voted(path: Path, contexts: int) -> str:
    if contexts < FEWEST_CLUSTERS:
        return (
            f"{path}: nobody has voted on these replies, and an interval needs votes on {FEWEST_CLUSTERS} conversations, of "
            f"which this run has {contexts}; play more first"
        )
    return f"{path}: nobody has voted on these replies; vote on the run's page, or with {command('listen', path)}"
