"""Pause marks with people's number, places and lengths, drawn from a seed.

A set gets exactly 1.8 per turn, spread at random in proportion to words (Poisson counts whose sum is known), so a pause says
nothing about the distance to the end. Places are drawn by people's odds (`pause_places`), lengths by a law, stratified
(`pause_law`). Existing marks are removed first: marking twice with one seed gives the same bytes as marking once.
"""

from collections.abc import Sequence

import numpy as np

from harness.scenarios.context import Context
from harness.scenarios.pause_law import PER_TURN, TO_AGENTS, PauseLaw, stratified
from harness.scenarios.pause_places import PAUSES_A_GAP, kind_of_gap
from harness.scenarios.pauses import without_pauses


def marked(text: str, seed: int, *, per_word: float, law: PauseLaw = TO_AGENTS) -> str:
    """One turn with pause marks, `per_word` pauses per word on average. The same text and seed give the same bytes."""
    rng = np.random.default_rng(seed)
    words = without_pauses(text).split()
    count = _count(float(rng.random()), per_word * len(words), len(_gaps(words)))
    return _with_marks(words, [law.length_ms(u) for u in rng.random(count)], rng)


def marked_set(texts: Sequence[str], seed: int, *, per_turn: float = PER_TURN, law: PauseLaw = TO_AGENTS) -> tuple[str, ...]:
    """The turns of one pack, marked together: `per_turn` pauses per turn over the set, with lengths stratified over it.

    The same texts in the same order and the same seed give the same bytes. Blanks and line breaks become single blanks.
    """
    rng = np.random.default_rng(seed)
    turns = [without_pauses(text).split() for text in texts]
    counts = _dealt(round(per_turn * len(turns)), turns, rng)
    lengths = iter([law.length_ms(u) for u in stratified(sum(counts), rng)])
    return tuple(
        _with_marks(words, [next(lengths) for _ in range(count)], rng) for words, count in zip(turns, counts, strict=True)
    )


def paused_contexts(
    contexts: Sequence[Context], seed: int, *, per_turn: float = PER_TURN, law: PauseLaw = TO_AGENTS
) -> tuple[Context, ...]:
    """Contexts with the pauses of all their seeker turns drawn together; turns with a recording stay as they are."""
    places = [
        (c, t)
        for c, context in enumerate(contexts)
        for t, turn in enumerate(context.turns)
        if turn.role == "seeker" and turn.audio is None
    ]
    bare = [contexts[c].turns[t].text for c, t in places]
    texts = dict(zip(places, marked_set(bare, seed, per_turn=per_turn, law=law), strict=True))
    return tuple(
        context.model_copy(
            update={
                "turns": tuple(
                    turn.model_copy(update={"text": texts[c, t]}) if (c, t) in texts else turn
                    for t, turn in enumerate(context.turns)
                )
            }
        )
        for c, context in enumerate(contexts)
    )


def _count(u: float, mean: float, most: int) -> int:
    from scipy.stats import poisson

    return min(int(poisson.ppf(u, mean)), most) if mean > 0 else 0


def _dealt(pauses: int, turns: Sequence[Sequence[str]], rng: np.random.Generator) -> list[int]:
    """The number of pauses of each turn: in proportion to its words, at most its number of gaps."""
    words, gaps = np.array([len(turn) for turn in turns], dtype=float), np.array([len(_gaps(turn)) for turn in turns])
    counts = np.zeros(len(turns), dtype=int)
    while (left := min(pauses, int(gaps.sum())) - int(counts.sum())) > 0:
        weights = np.where(counts < gaps, words, 0.0)
        counts = np.minimum(counts + rng.multinomial(left, weights / weights.sum()), gaps)
    return [int(count) for count in counts]


def _gaps(words: Sequence[str]) -> list[int]:
    """The gaps between two words, without the edges; a separate dash belongs to the word before it."""
    spoken = [k for k, word in enumerate(words) if any(character.isalnum() for character in word)]
    return spoken[1:]


def _with_marks(words: Sequence[str], lengths_ms: Sequence[int], rng: np.random.Generator) -> str:
    gaps = _gaps(words)
    odds = np.array([PAUSES_A_GAP[kind_of_gap(words, gap)] for gap in gaps])
    chosen = rng.choice(gaps, len(lengths_ms), replace=False, p=odds / odds.sum()) if lengths_ms else ()
    marks = dict(zip(map(int, chosen), lengths_ms, strict=True))
    return " ".join(f"<pause {marks[k]}> {word}" if k in marks else word for k, word in enumerate(words))
