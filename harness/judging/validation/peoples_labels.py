"""Replies that people rated or compared: the only ground on which a judge may be called borne out.

A judge that is right on pairs of this project knows the taste of their author. So it is compared with the judgements of others.
Where people rated replies, a reply's worth is the mean over raters and dimensions, on a scale from 0 to 1, unkind dimensions
reversed; two replies to the same conversation make a pair, the better one the one with the higher worth. Where people compared
or ranked replies, only those that they compared are a pair. *Clear* is a gap of a third of the scale or more: below that raters
differ among themselves.

`label_files` reads tables, `published_labels` the layouts of published data.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final, Literal

from harness.scenarios.context import Turn

_UNKIND: Final = frozenset({"dismissing_emotions", "dismissing", "self_oriented", "advice_giving", "dismissive", "hostile"})
"""Dimensions on which a high score is bad; advice that nobody asked for is one of them to those who published the ratings. Any
other is marked so in the file by a minus before its name."""
CLEAR: Final = 1 / 3
"""Share of the scale: closer replies depend on the rater, and their figures are shown separately."""
ROUNDS: Final = 4
"""Times that each reply meets two others where there is one reply a context: eight opponents separate nine shares of pairs won,
for four questions a reply."""

Side = tuple[str, str]
"""A reply with the conversation that it answers: (context, reply)."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's score for one reply on one dimension, as in the file."""

    context: str
    reply: str
    rater: str
    dimension: str
    score: float


@dataclass(frozen=True, slots=True)
class Preference:
    """One rater's preference between two replies: 1 the first, 0 the second, ½ neither."""

    context: str
    first: str
    second: str
    rater: str
    for_first: float

    @property
    def sides(self) -> tuple[Side, Side]:
        return (self.context, self.first), (self.context, self.second)

    def as_ratings(self) -> tuple[Rating, Rating]:
        """The vote as a share of pairs won, which is a reply's worth in such a file."""
        first, second = (
            Rating(*side, self.rater, "preferred", score)
            for side, score in zip(self.sides, (self.for_first, 1 - self.for_first), strict=True)
        )
        return first, second


@dataclass(frozen=True, slots=True)
class PeoplesPair:
    """Two replies of which people found one better; `gap` is a share of the scale, above 0 and up to 1."""

    context: str
    turns: tuple[Turn, ...]
    better: str
    worse: str
    gap: float
    worse_turns: tuple[Turn, ...] | None = None
    """The conversation that the worse reply answers, if it differs from the better one's; `worse_context` is its text."""
    worse_context: str = ""
    rater: str = ""
    """The one person who compared them, where every conversation is one person's own."""

    @property
    def clear(self) -> bool:
        return self.gap >= CLEAR

    @property
    def sides(self) -> tuple[Side, Side]:
        return (self.context, self.better), (self.worse_context or self.context, self.worse)

    @property
    def bunch(self) -> str:
        """The name of the pairs that depend on each other: those of one conversation, or of one person's conversations."""
        return self.rater or self.context


@dataclass(frozen=True, slots=True)
class PeoplesLabels:
    """A file of ratings, read and checked."""

    name: str
    sha256: str
    ratings: tuple[Rating, ...]
    scale: tuple[float, float]
    preferences: tuple[Preference, ...] = ()
    """Set where people compared replies: then only replies that they compared are a pair, and `ratings` are their votes."""
    bunches: Literal["conversation", "rater"] = "conversation"
    """`rater`: each person compared conversations of their own, so that one person's pairs depend on each other."""

    def pairs(self, raters: frozenset[str] | None = None) -> tuple[PeoplesPair, ...]:
        """Every pair of replies that people did not find alike (by `raters`; None: by all)."""
        if self.preferences:
            return tuple(self._preferred(p for p in self.preferences if raters is None or p.rater in raters))
        worth = worths((r for r in self.ratings if raters is None or r.rater in raters), self.scale)
        by_context: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for (context, reply), value in worth.items():
            by_context[context].append((reply, value))
        return tuple(
            PeoplesPair(context, conversation(context), *((a, b) if worth_a > worth_b else (b, a)), abs(worth_a - worth_b))
            for context, replies in by_context.items()
            for (a, worth_a), (b, worth_b) in combinations(sorted(replies), 2)
            if worth_a != worth_b
        )

    def across(self, seed: int) -> tuple[PeoplesPair, ...]:
        """Pairs of replies to different conversations, each reply in about `2 * ROUNDS` of them, at random.

        For files with one reply per context: the winner is the reply that serves its own conversation better, and only the
        order of all replies has a meaning.
        """
        worth = worths(self.ratings, self.scale)
        rng, found = random.Random(f"across {seed}"), {}
        for _ in range(ROUNDS):
            order = rng.sample(sorted(worth), len(worth))
            for one, other in zip(order, order[1:] + order[:1], strict=True):
                better, worse = (one, other) if worth[one] > worth[other] else (other, one)
                if worth[one] != worth[other]:
                    found[better, worse] = _pair(better, worse, worth[better] - worth[worse])
        return tuple(found.values())

    def leanings_of(self, rater: str) -> Callable[[PeoplesPair], float | None]:
        """A function of a pair: 1 where this rater too finds the better reply better, -1 worse, 0 the same; None where the
        rater did not see both."""
        if self.preferences:
            votes: dict[tuple[Side, Side], float] = {}
            for p in self.preferences:
                if p.rater == rater:
                    first, second = p.sides
                    votes[first, second], votes[second, first] = 2 * p.for_first - 1, 1 - 2 * p.for_first
            return lambda pair: votes.get(pair.sides)
        own = worths((r for r in self.ratings if r.rater == rater), self.scale)

        def leaning(pair: PeoplesPair) -> float | None:
            better, worse = (own.get(side) for side in pair.sides)
            return None if better is None or worse is None else float((better > worse) - (better < worse))

        return leaning

    @property
    def raters(self) -> tuple[str, ...]:
        return tuple(sorted({r.rater for r in self.ratings}))

    def _preferred(self, preferences: Iterable[Preference]) -> Iterator[PeoplesPair]:
        """Pairs of which more than half of the votes went to one side; the gap is the share of these votes minus that of the
        others, so that three raters who agree give 1 and two against one a third."""
        votes: dict[tuple[Side, Side], list[float]] = defaultdict(list)
        raters: dict[tuple[Side, Side], str] = {}
        for p in preferences:
            first, second = sorted(p.sides)
            votes[first, second].append(p.for_first if p.sides == (first, second) else 1 - p.for_first)
            raters[first, second] = p.rater
        for (first, second), given in votes.items():
            ahead = 2 * sum(given) / len(given) - 1
            if ahead:
                better, worse = (first, second) if ahead > 0 else (second, first)
                yield _pair(better, worse, abs(ahead), raters[first, second] if self.bunches == "rater" else "")


def _pair(better: Side, worse: Side, gap: float, rater: str = "") -> PeoplesPair:
    apart = worse[0] != better[0]
    return PeoplesPair(
        better[0], conversation(better[0]), better[1], worse[1], gap,
        worse_turns=conversation(worse[0]) if apart else None, worse_context=worse[0] if apart else "", rater=rater,
    )  # fmt: skip


def is_unkind(dimension: str) -> bool:
    """True for a dimension on which a high score is bad."""
    return dimension.startswith("-") or dimension.lower() in _UNKIND


def worths(ratings: Iterable[Rating], scale: tuple[float, float]) -> Mapping[Side, float]:
    """(context, reply) → mean over raters and dimensions, 0 to 1, unkind dimensions reversed."""
    low, high = scale
    found: dict[Side, list[float]] = defaultdict(list)
    for rating in ratings:
        share = (rating.score - low) / (high - low)
        found[rating.context, rating.reply].append(1 - share if is_unkind(rating.dimension) else share)
    return {key: sum(values) / len(values) for key, values in found.items()}


@lru_cache(maxsize=10_000)
def conversation(context: str) -> tuple[Turn, ...]:
    """A conversation from lines that begin with `Seeker:` or `Supporter:`. A line that begins with neither continues
    the turn before it, and is the seeker's where there is none."""
    turns: list[Turn] = []
    for line in context.replace("\r", "\n").split("\n"):
        who, colon, said = line.partition(":")
        if colon and who.strip().lower() == "seeker":
            role = "seeker"
        elif colon and who.strip().lower() == "supporter":
            role = "supporter"
        else:
            role, said = turns[-1].role if turns else "seeker", line
            if turns and said.strip():
                said = f"{turns.pop().text} {said.strip()}"
        if said.strip():
            turns.append(Turn.model_validate({"role": role, "text": said.strip()}))
    return tuple(turns) or (Turn(role="seeker", text=" ".join(context.split())),)
