"""Figures that a run has from its boards: of each agent, and of the board itself, with the state of its quality axis."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import comb
from statistics import fmean
from typing import Final, cast

from harness.figures.cells import BoardSummary, EloOver, JudgeSummary, PeopleVotes, QualityFigures, ReferenceSummary
from harness.figures.head_to_head import preferences
from harness.figures.quality_state import QUOTED, state_of, words_of
from harness.figures.rank import Place, Rated, contexts_of
from harness.figures.rated_on import RatedOn
from harness.figures.way_to_people import Sides, way_to_people
from harness.ranking.board import QualityState
from harness.ranking.peoples_axis import PeoplesAxis
from harness.scenarios.screens import fit_for_people
from harness.store.judgment import Presentation, is_reference
from harness.store.selection import HEARD, Selection

CHANCES: Final = ("p_frontier", "p_best_within_budget", "p_frontier_range", "p_best_within_budget_range")


def quality_figures(found: Rated, agent: str, state: QualityState, *, one_for_all: bool) -> QualityFigures:
    """The figures of a cell that come from its board; all null where the agent is not on one, and no chances of an opinion.

    `one_for_all`: it gives the same reply to every caller, for which no judge's rating is quoted.
    """
    quotable = found.may_be_quoted and (state == "people" or not one_for_all)
    board, point = found.board, found.points.get(agent)
    rating = next((r for r in board.systems if r.system == agent), None) if board is not None else None
    if board is None or rating is None:
        return QualityFigures()
    chances = {name: getattr(point, name) for name in CHANCES} if point is not None and state in QUOTED and quotable else {}
    return QualityFigures(
        elo=rating.quoted,
        elo_with_length=found.with_length[agent].quoted if found.with_length is not None else None,
        elo_method=board.method,
        elo_interval=rating.interval,
        separated=agent in board.separated,
        # A reference that the agent never met, even by a chain of opponents, is on a scale of its own.
        elo_over={
            row.system: EloOver(value=over.quoted, interval=over.interval)
            for row in board.systems
            if is_reference(row.system) and row.part == rating.part
            for over in [board.difference(agent, row.system)]
        },
        win_rate=rating.win_rate,
        axes=dict(rating.axes),
        quality_state=state,
        quality_valid=quotable,
        **chances,
    )


def board_summary(
    found: Rated, place: Place, made: RatedOn, judges: Sequence[JudgeSummary], way: str = ""
) -> BoardSummary | None:
    """A board in the form of the summary; None where nothing was judged. `way`: from the run to people's axis."""
    board, people = found.board, found.people
    if board is None:
        return None
    if people is not None:  # votes may be on replies heard where judges read them
        made = replace(made, presentation=cast(Presentation, people.board.presentation))
    return BoardSummary(
        condition=place.condition,
        mode=made.mode,
        presentation=place.presentation,
        pack=made.pack,
        transcriber=made.transcriber,
        reads=made.reads,
        rated_on=made.words,
        subset=place.subset,
        method=board.method,
        terms=dict(board.terms),
        judgments=board.judgments,
        contexts=board.contexts,
        references={
            r.system: ReferenceSummary(
                elo=r.quoted,
                elo_interval=r.interval,
                separated=r.system in board.separated,
                win_rate=r.win_rate,
                axes=dict(r.axes),
            )
            for r in board.systems
            if is_reference(r.system)
        },
        quality_state=state_of(found.people, found.judges, judges),
        quality_words=words_of(found.people, found.judges, judges),
        people_votes=None if people is None else people_votes(people),
        people_refused=found.people_refused,
        way_to_people=way,
    )


def refusals(boards: Mapping[Place, Rated]) -> dict[str, str]:
    """Condition → reason why its votes give no board, where no judge gives one either."""
    return {
        place.condition: found.people_refused
        for place, found in boards.items()
        if place.subset == "all" and found.board is None and found.people_refused
    }


def people_votes(people: PeoplesAxis) -> PeopleVotes:
    """People's axis in the form of the summary."""
    return PeopleVotes(
        votes=people.votes,
        skipped=people.skipped,
        raters=people.raters,
        contexts=people.board.contexts,
        pairs=people.pairs,
        presentation=cast(Presentation, people.board.presentation),
        judges=list(people.judges),
        judge_weight=people.power,
        judge_agrees=people.agrees,
        worth=people.worth,
        saved=people.saved,
    )


def way_of(selection: Selection, place: Place, *, rated: bool = False) -> str:
    """The way from this run to people's answer on a board. `rated`: people's votes give its ratings."""
    inside = contexts_of(selection, place) & {context.id for context in fit_for_people(selection.contexts)}
    every = selection.reply_texts(place.condition, HEARD)
    texts = {key: text for key, text in every.items() if key[2] == 0 and key[0] in inside}
    sides = sides_of([(context, system) for context, system, _ in texts])
    known = preferences(selection, place.condition, inside)
    answered = len(known) == comb(sides.competing, 2) > 0 and all(one.is_apart for one in known)
    asked = [c.turns[-1].text for c in selection.contexts if c.id in inside]
    given, words = sum(one.votes for one in known), words_of_a_vote(asked, texts.values())
    return way_to_people(selection.store.folder, sides, words, given=given, answered=answered, rated=rated)


def sides_of(replies: Sequence[tuple[str, str]]) -> Sides:
    """The replies that can be compared, from the context and the system of each."""
    agents = [(context, system) for context, system in replies if not is_reference(system)]
    each, every = (Counter(context for context, _ in found).values() for found in (agents, replies))
    return Sides(each, every, len({system for _, system in agents}), len({system for _, system in replies}))


def words_of_a_vote(asked: Sequence[str], replies: Collection[str]) -> float:
    """Words that are read for one vote: those of a caller's turn and of two replies, on average."""
    turn, reply = (fmean(len(text.split()) for text in texts) if texts else 0.0 for texts in (asked, replies))
    return turn + 2 * reply
