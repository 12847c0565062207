"""The figures of the supporter's seat: people's own, and each agent beside them on both axes.

Everything is of the conversations that people answered, and of the very replies that are on the board. A person is known by the
pseudonym in the session's sitting, so that whole persons can be resampled, and the mean and the best person rated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from harness.figures.latency import FIGURES, TurnFigures, chances, latency_values, within_budget_flags
from harness.figures.persons import PERSON, by_person, given_by, persons_of
from harness.figures.rank import Rated
from harness.figures.seat import BesideSeat, Bounded, SeatSummary
from harness.figures.speakers import Speakers, bunch_of, speakers_of
from harness.ranking.human_row import HumanRating, people_ratings
from harness.ranking.ranking import MANY
from harness.ranking.wider import Timed, later_than_seat, quantiles_of_seat, share_over_seat
from harness.recording.sitting import Sitting
from harness.store.judgment import Judgment, is_rule
from harness.store.manifest import PEOPLE, AgentEntry
from harness.store.selection import Selection, Turns, board_rows
from harness.store.session import Session
from harness.timing.lost_sound import MOST_ERROR_MS

_LEFT_OUT: Final = frozenset({"first_byte", "greeting"})


@dataclass(frozen=True, slots=True)
class Seat:
    """The replies of one of the seat's agents in one condition, each with its sitting."""

    agent: str
    condition: str
    given: tuple[tuple[Session, Sitting], ...]

    @property
    def persons(self) -> Mapping[tuple[str, int], str]:
        """(context, repeat) → the person whose reply that is."""
        return persons_of(self.given)


def seats_of(selection: Selection) -> tuple[Seat, ...]:
    """The seats of a run that have replies, people's first."""
    return tuple(
        Seat(name, condition, given)
        for name in sorted(selection.manifest.seated)
        for condition in selection.conditions
        if (given := given_by(selection, name, condition))
    )


def figures_over_persons(selection: Selection, seat: Seat, contexts: frozenset[str], cell: TurnFigures) -> dict[str, Any]:
    """The figures of the seat's cell whose intervals rest on persons too: latencies, cut-ins, and waits within the budget."""
    budget_ms, speakers = selection.manifest.budgets_ms["ttfa"], speakers_of(selection.contexts)
    cut_ins = _each(seat, contexts, speakers, lambda turns: chances(turns, "cut_in_rate"))
    within = {
        f"{name}_interval": share_over_seat(
            _each(seat, contexts, speakers, partial(within_budget_flags, figure=name, budget_ms=budget_ms))
        )[1]
        for name in ("ttfa", "answer")
        if getattr(cell.within_budget, f"{name}_interval") is not None
    }
    found: dict[str, Any] = {
        "cut_in_interval": share_over_seat(cut_ins)[1] if cell.cut_in_interval is not None else None,
        "within_budget": cell.within_budget.model_copy(update=within),
    }
    for figure in FIGURES:
        if figure not in _LEFT_OUT and (turns := _timed(selection, seat, figure, contexts)):
            bunched = [turn._replace(context=bunch_of(turn.context, speakers)) for turn in turns]
            found[f"{figure}_ms"] = quantiles_of_seat(bunched, selection.manifest.seed)
    return found


def seat_summary(selection: Selection, seat: Seat, found: Rated) -> SeatSummary:
    """The summary of one seat. `found`: the quoted board of its condition."""
    sittings = _by_sitting(seat)
    largest = {name: max(errors) for name, each in sittings.items() if (errors := [e for e in each if e is not None])}
    rows = _rows(selection, seat, found)
    ratings = None
    if rows:
        named = map(by_person(selection, seat.condition, (seat.agent,)), rows)
        ratings = people_ratings(named, lambda name: name.startswith(PERSON), seed=selection.manifest.seed)
    rated = {(r.context, r.replicate) for r in rows if seat.agent in (r.system_a, r.system_b)}
    return SeatSummary(
        agent=seat.agent,
        condition=seat.condition,
        persons=len({sitting.person for _, sitting in seat.given}),
        conversations=len({session.key.context_id for session, _ in seat.given}),
        replies=len(seat.given),
        sittings=len(sittings),
        not_calibrated=sum(None in errors for errors in sittings.values()),
        over_limit=sum(error > MOST_ERROR_MS for error in largest.values()),
        largest_error_ms=max(largest.values(), default=None),
        unrated=0 if found.board is None or found.people is not None else len(seat.persons.keys() - rated),
        with_losses=sum(bool(sitting.lost_ms) for _, sitting in seat.given),
        mean=_bounded(ratings.mean if ratings is not None else None),
        best=_bounded(ratings.best if ratings is not None else None),
    )


def _by_sitting(seat: Seat) -> dict[str, list[float | None]]:
    """The error of each reply, by sitting; None for one whose latency is not known. A sitting may have several trials."""
    found: dict[str, list[float | None]] = {}
    for _, sitting in seat.given:
        found.setdefault(sitting.sitting, []).append(None if sitting.loop is None else sitting.loop.error_p95_ms)
    return found


def beside_seat(
    selection: Selection, entry: AgentEntry, seats: Sequence[Seat], found: Rated, condition: str
) -> BesideSeat | None:
    """One agent beside people, or, where there are none, beside a rehearsal; None where nobody sat there."""
    here = sorted((s for s in seats if s.condition == condition), key=lambda s: s.agent != PEOPLE)
    if entry.seated or not here:
        return None
    seat = here[0]
    contexts = frozenset(session.key.context_id for session, _ in seat.given)
    mine = latency_values(selection.turns(entry.name, condition), "ttfa")
    later, later_ends = later_than_seat(mine, _timed(selection, seat, "ttfa", contexts), selection.manifest.seed)
    won = _won(entry.name, _rows(selection, seat, found), seat)
    share, share_ends = share_over_seat(won)
    return BesideSeat(
        seat=seat.agent,
        persons=len({sitting.person for _, sitting in seat.given}),
        conversations=len(contexts & mine.keys()),
        later_ms=Bounded(value=later, interval=later_ends),
        preferred=Bounded(value=share, interval=share_ends),
        comparisons=len(won),
        by_people=found.people is not None,
    )


def _timed(selection: Selection, seat: Seat, figure: str, contexts: frozenset[str]) -> list[Timed]:
    """The seat's turns by context, person and value; none where the figure is withheld for the whole cell."""
    every = selection.turns(seat.agent, seat.condition)
    if not latency_values(every, figure):
        return []
    found = []
    for session, sitting in seat.given:
        context = session.key.context_id
        if context in contexts and session.status == "finished":
            values = latency_values({context: session.turn_timings}, figure)
            found += [Timed(context, sitting.person, value) for value in values.get(context, ())]
    return found


def _rows(selection: Selection, seat: Seat, found: Rated) -> list[Judgment]:
    """The verdicts that make the quoted board of the seat's condition: people's votes, or else judges'."""
    if found.board is None or len(selection.table) > MANY:
        return []
    of = "human" if found.people is not None else "judge"
    presentation = found.people.board.presentation if found.people is not None else selection.quoted(seat.condition)
    rows = (row for row in selection.verdicts if row.source == of or is_rule(row.judge))
    return board_rows(list(rows), seat.condition, presentation)  # type: ignore[arg-type]


def _each(
    seat: Seat, contexts: frozenset[str], speakers: Speakers, held: Callable[[Turns], Mapping[str, Sequence[bool]]]
) -> list[tuple[str, str, float]]:
    """(speaker or context, person, 1 where it holds) of each turn."""
    return [
        (bunch_of(session.key.context_id, speakers), sitting.person, float(flag))
        for session, sitting in seat.given
        if session.key.context_id in contexts and session.status == "finished"
        for flags in held({session.key.context_id: session.turn_timings}).values()
        for flag in flags
    ]


def _won(agent: str, rows: Sequence[Judgment], seat: Seat) -> list[tuple[str, str, float]]:
    """(context, person, share won) of each comparison of an agent with a reply of the seat."""
    persons = seat.persons
    return [
        (
            row.context,
            persons.get((row.context, row.replicate), "unknown"),
            0.5 if row.winner == "tie" else float((row.winner == "a") == (row.system_a == agent)),
        )
        for row in rows
        if {row.system_a, row.system_b} == {agent, seat.agent}
    ]


def _bounded(rating: HumanRating | None) -> Bounded:
    # Without an interval a rating is not quoted anywhere.
    return Bounded() if rating is None or rating.interval is None else Bounded(value=rating.elo, interval=rating.interval)
