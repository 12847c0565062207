"""Phrases that occur in several contexts, the sign of a set written from templates.

A rater who meets the same five words in three conversations stops believing in the people. Overlap of two contexts is
the share of the smaller one's word triples that the other has too, over what seeker and supporter say.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.scenarios.context import Context

_WORD = re.compile(r"[a-z0-9']+")
PHRASE_WORDS, OVERLAP_WORDS = 5, 3
OPENING_WORDS = 4


@dataclass(frozen=True, slots=True)
class NearestPair:
    """The two contexts with the largest overlap: ids, and overlap from 0 to 1."""

    a: str
    b: str
    overlap: float


def words(text: str) -> list[str]:
    """The words of a text in lower case; curly apostrophes count as straight ones."""
    return _WORD.findall(text.lower().replace("’", "'"))


def runs(texts: Iterator[str] | Sequence[str], length: int) -> set[tuple[str, ...]]:
    """All runs of `length` words in the texts."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        said = words(text)
        found.update(tuple(said[k : k + length]) for k in range(len(said) - length + 1))
    return found


def repeated_phrases(contexts: Sequence[Context], least: int = 3) -> dict[str, tuple[str, ...]]:
    """The runs of five words that occur in at least `least` contexts (references included), with the ids."""
    where: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for context in contexts:
        texts = [turn.plain for turn in context.turns] + [reference.text for reference in context.references]
        for run in runs(texts, PHRASE_WORDS):
            where[run].append(context.id)
    return {" ".join(run): tuple(sorted(ids)) for run, ids in sorted(where.items()) if len(ids) >= least}


def nearest_pair(contexts: Sequence[Context]) -> NearestPair | None:
    """The pair with the largest overlap among contexts from different conversations; None without a pair."""
    said = [(context, runs([turn.plain for turn in context.turns], OVERLAP_WORDS)) for context in contexts]
    pairs = (
        NearestPair(a.id, b.id, len(one & other) / max(1, min(len(one), len(other))))
        for (a, one), (b, other) in combinations(said, 2)
        if a.situation != b.situation or a.turns[:2] != b.turns[:2]
    )
    return max(pairs, key=lambda pair: pair.overlap, default=None)


def shared_openings(contexts: Sequence[Context]) -> dict[str, tuple[str, ...]]:
    """The four-word openings of more than one context, with the ids."""
    where: dict[str, list[str]] = defaultdict(list)
    for context in contexts:
        where[" ".join(words(context.turns[0].plain)[:OPENING_WORDS])].append(context.id)
    return {opening: tuple(ids) for opening, ids in where.items() if len(ids) > 1}
