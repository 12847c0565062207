"""The division of a run's contexts into shards, so that each shard is a small image of the whole.

A context is in one shard with all its agents, conditions and repeats: comparisons are between replies of one machine and one
hour. Contexts are assigned by subset and emotion, the longest first, each to the shard with the fewest of that kind, then the
fewest words (R. L. Graham, SIAM J. Appl. Math. 17, 1969); then exchanged as long as that brings the shard with the most words
closer to another. No two shards differ by more than one context in any kind or subset. Nothing is random.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.errors import UserError
from harness.scenarios.context import Context, spoken_indices

MOST_EXCHANGES: Final = 10_000
"""Most exchanges. Each brings two shards closer, so they end by themselves; the shipped packs need under fifty."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a run that is played here."""

    shard: tuple[int, int] | None = None
    """(number, of), from 1; None for the whole run."""
    plan_file: str = ""
    """The file of the plan, for messages on how to play another shard."""
    elsewhere: frozenset[str] = frozenset()
    """Ids of sessions that are finished and stored elsewhere, so that they are not played here."""


WHOLE: Final = Share()


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4` as (2, 4).

    Raises:
        UserError: the text has another form, or there is no such shard.
    """
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    number, of = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= of:
        raise UserError(f"--shard {text}: must be I/N with I from 1 to N, as in 2/4")
    return number, of


def deal(contexts: Sequence[Context], of: int, mode: str) -> tuple[tuple[Context, ...], ...]:
    """The contexts of each of `of` shards, in the order of the run.

    Raises:
        UserError: there are fewer contexts than shards.
    """
    if of > len(contexts):
        raise UserError(f"--shard I/{of}: the run has {len(contexts)} contexts; use at most {len(contexts)} shards")
    hands = _Hands(contexts, of, {context.id: _words(context, mode) for context in contexts})
    hands.deal()
    hands.exchange()
    return tuple(tuple(c for c in contexts if hands.shard[c.id] == shard) for shard in range(of))


@dataclass
class _Hands:
    """The contexts of each shard during the division, with their counts by kind and their words."""

    contexts: Sequence[Context]
    of: int
    words: Mapping[str, int]
    shard: dict[str, int] = field(default_factory=dict)
    of_kind: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spoken = [0] * self.of

    def deal(self) -> None:
        kinds: dict[tuple[str, str], list[Context]] = defaultdict(list)
        for context in self.contexts:
            kinds[_kind(context)].append(context)
        held = [0] * self.of
        of_subset: dict[str, list[int]] = defaultdict(lambda: [0] * self.of)
        for (subset, emotion), alike in sorted(kinds.items()):
            of_kind = self.of_kind[subset, emotion] = [0] * self.of
            for context in sorted(alike, key=lambda c: (-self.words[c.id], c.id)):
                here = min(range(self.of), key=lambda k: (of_kind[k], of_subset[subset][k], held[k], self.spoken[k], k))
                self.shard[context.id] = here
                for count in (of_kind, of_subset[subset], held):
                    count[here] += 1
                self.spoken[here] += self.words[context.id]

    def exchange(self) -> None:
        hands: list[list[Context]] = [[] for _ in range(self.of)]
        for context in sorted(self.contexts, key=lambda c: c.id):
            hands[self.shard[context.id]].append(context)
        for _ in range(MOST_EXCHANGES):
            most = max(range(self.of), key=lambda k: (self.spoken[k], -k))
            others = sorted((k for k in range(self.of) if k != most), key=lambda k: (self.spoken[k], k))
            found = next((pair for k in others if (pair := self._best(hands[most], hands[k])) is not None), None)
            if found is None:
                return
            self._swap(*found, hands)

    def _best(self, heavy: Sequence[Context], light: Sequence[Context]) -> tuple[Context, Context] | None:
        """The exchange that brings two shards closest; None if none brings them closer."""
        if not heavy or not light:
            return None
        gap = self.spoken[self.shard[heavy[0].id]] - self.spoken[self.shard[light[0].id]]
        fair = [
            (abs(gap - 2 * (self.words[x.id] - self.words[y.id])), x.id, y.id, x, y)
            for x in heavy
            for y in light
            if 0 < self.words[x.id] - self.words[y.id] < gap and self._stays_even(x, y)
        ]
        return min(fair)[3:] if fair else None

    def _stays_even(self, x: Context, y: Context) -> bool:
        """True if every kind is spread as evenly after an exchange of x and y."""
        if _kind(x) == _kind(y):
            return True
        a, b = self.shard[x.id], self.shard[y.id]
        mine, its = self.of_kind[_kind(x)], self.of_kind[_kind(y)]
        return x.subset == y.subset and mine[a] > mine[b] and its[b] > its[a]

    def _swap(self, x: Context, y: Context, hands: list[list[Context]]) -> None:
        a, b = self.shard[x.id], self.shard[y.id]
        for context, source, target in ((x, a, b), (y, b, a)):
            hands[source].remove(context)
            hands[target].append(context)
            self.shard[context.id] = target
            self.of_kind[_kind(context)][source] -= 1
            self.of_kind[_kind(context)][target] += 1
            self.spoken[source] -= self.words[context.id]
            self.spoken[target] += self.words[context.id]


def _kind(context: Context) -> tuple[str, str]:
    return context.subset, str(context.emotion)


def _words(context: Context, mode: str) -> int:
    return sum(len(context.turns[index].text.split()) for index in spoken_indices(context, mode))
