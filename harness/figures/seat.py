"""People in a run: how many, how exactly they were measured, each agent beside them, and which person gave which reply.

A sentence claims no more than its interval: without one it says that there is too little, and where it includes "no
difference" it says that none is clear. What a program said in a rehearsal is called a rehearsal's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import ceil
from typing import Final

from pydantic import Field

from harness.figures.endpointing import Model
from harness.ranking.wider import FEWEST_PERSONS
from harness.recording.sitting import Sitting
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import Judgment
from harness.store.manifest import PEOPLE
from harness.store.selection import Selection
from harness.store.session import Session
from harness.wording import counted, milliseconds, share, share_band


class Bounded(Model):
    """A figure with its 95 % interval; either may be unknown."""

    value: float | None = None
    interval: tuple[float | None, float | None] | None = None


class BesideSeat(Model):
    """An agent beside the people who answered the same callers in the same run, or beside a rehearsal."""

    seat: str
    """`people`, or `rehearsal`, whose replies are a program's."""
    persons: int
    conversations: int
    """Conversations that both answered."""
    later_ms: Bounded
    """Median TTFA minus theirs, on the conversations that both answered."""
    preferred: Bounded
    """Share of comparisons with a random person's reply that the agent won, a tie counting half."""
    comparisons: int
    by_people: bool
    """True if people voted on these comparisons; otherwise judges gave the verdicts."""


class SeatSummary(Model):
    """The replies that were given in the supporter's seat of a run. Their latency and rating are those of the cell `agent`."""

    agent: str
    condition: str
    persons: int
    conversations: int
    replies: int
    sittings: int
    not_calibrated: int
    """Sittings with a reply whose latency no loop-back trial measured: its wait is not known."""
    over_limit: int
    """Sittings with a reply whose error of TTFA is over 20 ms (p95)."""
    largest_error_ms: float | None
    """The largest error of TTFA of the replies whose latency was measured, p95."""
    unrated: int
    """Replies without a verdict, where judges rate the board. Of votes, which are a sample, a reply needs none."""
    with_losses: int
    """Replies in which the microphone lost sound."""
    mean: Bounded = Field(default_factory=Bounded)
    """Elo of the mean person."""
    best: Bounded = Field(default_factory=Bounded)
    """Elo of the best reply of each conversation, without the winner's curse; not known with a single judge or voter."""

    @property
    def is_people(self) -> bool:
        """False for a rehearsal."""
        return self.agent == "people" or self.agent.startswith("people ")


ONSET_MS: Final = 20
"""Largest error of a wait by the onset: 60 waits over a loop of sound were at most 7 ms off, takes made of voices in rooms at
most 3 ms, and 3 of 36 whole replies 16 to 19 ms, at a soft "Yes"."""
TOO_FEW: Final = "too few people or conversations"


def seat_words(seat: SeatSummary) -> str:
    """`people: 12 persons gave 36 replies to 12 conversations; latency of their pages …`, without its full stop."""
    said = "gave" if seat.is_people else "of a rehearsal, no people, gave"
    parts = [
        f"{seat.agent}: {counted(seat.persons, 'person' if seat.is_people else 'speaker')} {said} "
        f"{counted(seat.replies, 'reply', 'replies')} to {counted(seat.conversations, 'conversation')}"
    ]
    if seat.largest_error_ms is not None:
        # The error of the page alone, so never less than the step in which it is stated.
        parts.append(
            f"latency of their pages known to within {max(1, ceil(seat.largest_error_ms))} ms (95 % of sweeps, worst sitting); "
            f"a soft first sound adds up to {ONSET_MS} ms"
        )
    parts += [f"Elo of {name} {words}" for name, words in _ratings(seat)]
    return "; ".join(parts)


def line_names(seat: SeatSummary) -> Iterator[tuple[str, float]]:
    """The name and the Elo of the mean and the best person, where known, for lines of a chart."""
    for name, rating in (("mean person", seat.mean), ("best person", seat.best)):
        if rating.value is not None:
            yield name if seat.is_people else f"{name.split(maxsplit=1)[0]} of the rehearsal", rating.value


def beside_words(beside: BesideSeat, *, quoted: bool) -> str:
    """An agent beside people on both axes, without a full stop. `quoted`: its rating may decide anything."""
    parts = [_later(beside)]
    if quoted:
        parts.append(_preferred(beside))
    return ", and ".join(parts)


def _later(beside: BesideSeat) -> str:
    here = "people do here" if beside.seat.startswith(PEOPLE) else "the rehearsal does here"
    theirs = f"{'people' if beside.seat.startswith(PEOPLE) else 'the rehearsal'}'s"
    value, ends = beside.later_ms.value, _ends(beside.later_ms)
    if beside.persons < FEWEST_PERSONS or beside.conversations < FEWEST_CLUSTERS:
        return f"{TOO_FEW} to compare its wait with {theirs}"
    if value is None or ends is None:
        return f"its wait cannot be compared with {theirs}, because too many turns got no reply"
    low, high = ends
    band = f"(95 % interval {milliseconds(low)} to {milliseconds(high)})"
    if low > 0:
        return f"answers {milliseconds(value)} later than {here} {band}"
    if high < 0:
        return (
            f"answers {milliseconds(-value)} sooner than {here} (95 % interval {milliseconds(-high)} to {milliseconds(-low)})"
        )
    return f"answers neither clearly later nor clearly sooner than {here} {band}"


def _preferred(beside: BesideSeat) -> str:
    whose = "a random person's reply" if beside.seat.startswith(PEOPLE) else "the rehearsal's reply"
    if not beside.comparisons:
        return f"was never compared with {whose}"
    value, ends = beside.preferred.value, _ends(beside.preferred)
    of = counted(beside.comparisons, "vote" if beside.by_people else "verdict")
    if value is None or ends is None:
        return f"there are {TOO_FEW} to say how often it is preferred to {whose}"
    found = f"{share(value)} of {of} (95 % interval {share_band(ends)})"
    if ends[0] > 0.5:
        return f"is preferred to {whose} in {found}"
    if ends[1] < 0.5:
        return f"is preferred to {whose} in only {found}"
    return f"is preferred to {whose} in {found}, which is not clearly more or less than half"


def _ends(figure: Bounded) -> tuple[float, float] | None:
    if figure.interval is None or figure.interval[0] is None or figure.interval[1] is None:
        return None
    return figure.interval[0], figure.interval[1]


def _ratings(seat: SeatSummary) -> Iterator[tuple[str, str]]:
    for name, rating in (("the mean person", seat.mean), ("the best person", seat.best)):
        if rating.value is not None and (ends := _ends(rating)) is not None:
            whose = name if seat.is_people else f"the {name.split()[1]} speaker"
            yield whose, f"{rating.value:.0f} (95 % interval {ends[0]:.0f}–{ends[1]:.0f})"


PERSON: Final = "human:"
"""Prefix of a person's name among systems."""
Given = tuple[tuple[Session, Sitting], ...]


def given_by(selection: Selection, agent: str, condition: str) -> Given:
    """The replies of one of the seat's agents in a condition, each with its sitting."""
    sittings = ((session, selection.store.sitting(session)) for session in selection.of(agent, condition))
    return tuple((session, sitting) for session, sitting in sittings if sitting is not None)


def persons_of(given: Given) -> dict[tuple[str, int], str]:
    """(context, repeat) → the person whose reply that is."""
    return {(session.key.context_id, session.key.repeat): sitting.person for session, sitting in given}


def by_person(selection: Selection, condition: str, agents: Iterable[str] | None = None) -> Callable[[Judgment], Judgment]:
    """A function that gives a verdict with each person as a system of their own. `agents`: default, people alone."""
    names = [name for name in selection.manifest.seated if name == PEOPLE] if agents is None else list(agents)
    known: Mapping[str, Mapping[tuple[str, int], str]] = {
        name: persons_of(given_by(selection, name, condition)) for name in names
    }

    def named(row: Judgment) -> Judgment:
        place = row.context, row.replicate
        sides = {
            side: PERSON + known[system][place]
            for side in ("system_a", "system_b")
            if (system := getattr(row, side)) in known and place in known[system]
        }
        return row.model_copy(update=sides) if sides else row

    return named
