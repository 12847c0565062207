"""The figures of the supporter's seat: people's own, and each agent beside them on both axes.

Everything is of the conversations that people answered, and of the very replies that are on the board. A person is known by the
pseudonym in the session's sitting, so that whole persons can be resampled, and the mean and the best person rated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.figures.latency import FIGURES, TurnFigures
from harness.figures.rank import Rated
from harness.figures.seat import PERSON, BesideSeat, Bounded, SeatSummary, by_person, given_by, persons_of
from harness.ranking.human_row import HumanRating, people_ratings
from harness.ranking.ranking import MANY
from harness.ranking.wider import Timed, later_than_seat, quantiles_of_seat, share_over_seat
from harness.recording.sitting import Sitting
from harness.store.judgment import Judgment, is_rule
from harness.store.manifest import PEOPLE, AgentEntry
from harness.store.selection import Selection, board_rows
from harness.store.session import Session
from harness.timing.unknown_waits import MOST_ERROR_MS
from harness.turns.estimate import by_cluster
from harness.turns.speakers import bunch_of, speakers_of
from harness.turns.table import TurnKey, TurnTable

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


def figures_over_persons(selection: Selection, seat: Seat, contexts: frozenset[str], cell: TurnFigures) -> Mapping[str, object]:
    """The figures of the seat's cell whose intervals rest on persons too: latencies, cut-ins, and waits within the budget."""
    table = _table(selection, seat)
    within = {
        f"{name}_interval": share_over_seat(_given(table, f"within_budget.{name}", contexts, "speaker"))[1]
        for name in ("ttfa", "answer")
        if getattr(cell.within_budget, f"{name}_interval") is not None
    }
    cut_ins = _given(table, "cut_in_rate", contexts, "speaker")
    latencies = {
        f"{figure}_ms": quantiles_of_seat([Timed(*turn) for turn in turns], selection.manifest.seed)
        for figure in FIGURES
        if figure not in _LEFT_OUT and (turns := _given(table, figure, contexts, "speaker"))
    }
    return {
        "cut_in_interval": share_over_seat(cut_ins)[1] if cell.cut_in_interval is not None else None,
        "within_budget": cell.within_budget.model_copy(update=within),
        **latencies,
    }


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
    own = TurnTable.of_groups(selection.turns(entry.name, condition))
    mine = by_cluster(own, given := own.given("ttfa"), given.high)
    waits = [Timed(*turn) for turn in _given(_table(selection, seat), "ttfa", contexts, "context")]
    later, later_ends = later_than_seat(mine, waits, selection.manifest.seed)
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


def _table(selection: Selection, seat: Seat) -> TurnTable:
    """The turns that people answered."""
    speakers = speakers_of(selection.contexts)
    return TurnTable.of(
        (
            (TurnKey(seat.agent, context, speaker=bunch_of(context, speakers), person=sitting.person), turn)
            for session, sitting in seat.given
            if session.status == "finished" and (context := session.key.context_id)
            for turn in session.turn_timings
        ),
        selection.manifest.budgets_ms,
    )


def _given(
    table: TurnTable, figure: str, contexts: frozenset[str], cluster: Literal["context", "speaker"]
) -> list[tuple[str, str, float]]:
    """(conversation or speaker, person, value) of each turn, or chance, on these contexts."""
    given = table.given(figure)
    inside = table.keys["context"].among(contexts)[given.row]
    names, persons = (table.keys[key].of_rows(given.row[inside]) for key in (cluster, "person"))
    return list(zip(names, persons, given.measured[inside].tolist(), strict=True))


def _rows(selection: Selection, seat: Seat, found: Rated) -> list[Judgment]:
    """The verdicts that make the quoted board of the seat's condition: people's votes, or else judges'."""
    if found.board is None or len(selection.table) > MANY:
        return []
    of = "human" if found.people is not None else "judge"
    presentation = found.people.board.presentation if found.people is not None else selection.quoted(seat.condition)
    rows = (row for row in selection.verdicts if row.source == of or is_rule(row.judge))
    return board_rows(list(rows), seat.condition, presentation)  # type: ignore[arg-type]


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
