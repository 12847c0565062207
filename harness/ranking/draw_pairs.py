"""Order of the pairs of replies that people are asked about: every pair is drawn at its rate, and every prefix is spread.

People's log-odds rest on a draw of known rates, and an interval on many conversations. So the pairs are arranged in a *circle*,
as evenly as a rule can, and a start is drawn: whatever the circle, a pair is among the first n of N with the chance n/N. On it
the conversations of each subset take turns, and each gives the pair whose systems and third of the judge's doubt had the least
of their share. `by_doubt`: of a large run some of the pairs of which judges are sure are left out by lot before, because a vote
says most where a judge that people agree with is in doubt; a pair's rate is its chance to stay.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.store.judgment import has_reference

SUREST_STAYS: Final = 0.5
"""Chance to stay of a pair of which judges are as sure as can be (strength 5); 1 at strength 1 and below, even steps between.
With a judge that agrees on 78 %, 120 votes are worth 172 at 1, 175 at ⅔, 181 at ½ and 182 at ⅓; with one that is sure of its
own taste 124, 121, 113 and 102 (`benchmarks/ranking_people_coverage.py choose`, 400 boards each)."""
FEWEST_THINNED: Final = 240
"""Pairs of a run from which any are left out: of fewer, one person may want to meet them all."""
LARGEST_CIRCLE: Final = 2_000
"""Pairs on a circle; of more, as many are drawn at random first. It is many times what people vote on in a sitting, and
arranging it takes under a tenth of a second."""
REFERENCE_EVERY: Final = 8
"""Places of which one is a pair with a reference. Of the pairs of two agents and two references five in six have a reference,
and eight votes would hold one or two on the agents."""
_THIRDS: Final = 3


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """Two replies to one context. `certainty`: mean signed strength of the judges' verdicts, without its sign; None without
    a verdict."""

    context: str
    subset: str
    first: str
    second: str
    certainty: float | None = None
    rate: float = 1.0
    """How often it is drawn, relative to the average pair of its kind in the run (`Judgment.draw_rate`)."""


def chance_to_stay(certainty: float | None) -> float:
    """Chance that a pair of a large run is drawn from at all, `SUREST_STAYS` to 1.

    >>> chance_to_stay(None), chance_to_stay(3.0), chance_to_stay(5.0)
    (1.0, 0.75, 0.5)
    """
    sure = min(max((certainty or 0.0) - 1.0, 0.0) / 4.0, 1.0)
    return 1.0 - (1.0 - SUREST_STAYS) * sure


def drawn(
    pairs: Sequence[DrawnPair], seed: str | int, most: int | None = None, *, by_doubt: bool = False
) -> tuple[DrawnPair, ...]:
    """The first `most` pairs of a random order with their rates, each as likely as its rate says at every length.

    `pairs`: all pairs of replies of a run that no rule has decided. `by_doubt`: judges that are borne out gave the certainties.

    >>> pairs = [DrawnPair(f"c{n}", "regular", "x", other) for n in range(3) for other in "yz"]
    >>> sorted(pair.context for pair in drawn(pairs, "a seed", 3))  # few votes meet all conversations
    ['c0', 'c1', 'c2']
    """
    rng = random.Random(seed)
    of_agents = [pair for pair in pairs if not has_reference(pair.first, pair.second)]
    apart = REFERENCE_EVERY - 1
    if not of_agents or apart * (len(pairs) - len(of_agents)) <= len(of_agents):
        return tuple(_from_anywhere(pairs, rng, by_doubt)[:most])
    agents = _from_anywhere(of_agents, rng, by_doubt)
    references = iter(_from_anywhere([pair for pair in pairs if has_reference(pair.first, pair.second)], rng, by_doubt))
    length, first, theirs = len(agents) + len(agents) // apart, rng.randrange(REFERENCE_EVERY), iter(agents)
    return tuple(next(references if at % REFERENCE_EVERY == first else theirs) for at in range(length))[:most]


def _from_anywhere(pairs: Sequence[DrawnPair], rng: random.Random, by_doubt: bool) -> list[DrawnPair]:
    """A circle of pairs, from a drawn place on."""
    some = _thinned(pairs, rng) if by_doubt and len(pairs) >= FEWEST_THINNED else list(pairs)
    some = rng.sample(some, LARGEST_CIRCLE) if len(some) > LARGEST_CIRCLE else some
    circle = _circle(some, rng)
    start = rng.randrange(len(circle)) if circle else 0
    return [*circle[start:], *circle[:start]]


def _thinned(pairs: Sequence[DrawnPair], rng: random.Random) -> list[DrawnPair]:
    chances = [chance_to_stay(pair.certainty) for pair in pairs]
    mean = sum(chances) / len(chances)
    return [replace(pair, rate=chance / mean) for pair, chance in zip(pairs, chances, strict=True) if rng.random() < chance]


def _circle(pairs: Sequence[DrawnPair], rng: random.Random) -> list[DrawnPair]:
    shuffled = rng.sample(pairs, len(pairs))
    of_context: dict[str, list[DrawnPair]] = defaultdict(list)
    for pair in shuffled:
        of_context[pair.context].append(pair)
    subsets: dict[str, list[list[DrawnPair]]] = defaultdict(list)
    for mine in of_context.values():
        subsets[mine[0].subset].append(mine)
    turns = _interleaved([_interleaved([[p.context for p in mine] for mine in group], rng) for group in subsets.values()], rng)
    return _walk(turns, of_context, _third_of_doubt(shuffled))


def _interleaved(groups: Sequence[Sequence[str]], rng: random.Random) -> list[str]:
    """All members of all groups, each group spread evenly over the whole and in its own order."""
    shuffled = rng.sample(groups, len(groups))
    placed = [
        ((k + (number + rng.random()) / len(shuffled)) / len(group), member)
        for number, group in enumerate(shuffled)
        for k, member in enumerate(group)
    ]
    return [member for _, member in sorted(placed, key=lambda each: each[0])]


def _walk(turns: Sequence[str], of_context: Mapping[str, list[DrawnPair]], third: Mapping[DrawnPair, int]) -> list[DrawnPair]:
    """A pair for each turn of a context: of systems that did not meet just before, and of what had the least of its share."""
    sizes = Counter(kind for pair in third for kind in (_systems(pair), third[pair]))
    apart = len({_systems(pair) for pair in third}) // 2
    last: dict[tuple[str, str], int] = {}
    uses: Counter[tuple[str, str] | int] = Counter()
    found = []
    for at, context in enumerate(turns):

        def unfit(pair: DrawnPair, at: int = at) -> tuple[bool, float]:
            recent = at - last.get(_systems(pair), -len(turns)) <= apart
            return recent, sum(uses[kind] / sizes[kind] for kind in (_systems(pair), third[pair]))

        pair = min(of_context[context], key=unfit)
        of_context[context].remove(pair)
        last[_systems(pair)] = at
        uses.update((_systems(pair), third[pair]))
        found.append(pair)
    return found


def _systems(pair: DrawnPair) -> tuple[str, str]:
    return pair.first, pair.second


def _third_of_doubt(pairs: Iterable[DrawnPair]) -> dict[DrawnPair, int]:
    """Pair → third of the judged pairs, from the least certain; the others are a group of their own."""
    judged = sorted((pair for pair in pairs if pair.certainty is not None), key=lambda pair: pair.certainty or 0.0)
    found = {pair: _THIRDS * k // len(judged) for k, pair in enumerate(judged)}
    return found | {pair: _THIRDS for pair in pairs if pair.certainty is None}
