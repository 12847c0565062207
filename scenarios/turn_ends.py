"""The instants in a pack's texts at which an agent must decide: every inner pause, and the end of every turn.

The words up to then are all that an agent can know. If pauses and ends differ in them by something
that does not distinguish people's pauses and ends, an agent can be good at the pack and bad with people.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from harness.scenarios.context import Context
from harness.scenarios.pause_places import kind_of_gap
from harness.scenarios.pauses import PAUSE, pauses_ms

InstantKind = Literal["end", "mid_sentence", "after_sentence"]


@dataclass(frozen=True, slots=True)
class Instant:
    """One silence of a caller: a marked pause, or the end of the turn (`pause_ms` None)."""

    context: str
    turn: int
    """The position of the turn in the context, from 0."""
    kind: InstantKind
    said: tuple[str, ...]
    """The words of this turn so far, with their punctuation."""
    pause_ms: int | None


def instants(contexts: Iterable[Context], *, every_turn: bool) -> tuple[Instant, ...]:
    """All marked pauses and ends, in order; without turns with a recording, because their pauses are in the sound.

    `every_turn`: all seeker turns, as a replay speaks them; otherwise the last ones alone.
    """
    return tuple(
        found
        for context in contexts
        for k, turn in enumerate(context.turns)
        if turn.role == "seeker" and turn.audio is None and (every_turn or turn is context.spoken)
        for found in _of_turn(context.id, k, turn.text)
    )


def _of_turn(context: str, turn: int, text: str) -> Iterable[Instant]:
    pieces = [piece.split() for piece in PAUSE.split(text)[::2]]
    words = [word for piece in pieces for word in piece]
    said = 0
    for piece, ms in zip(pieces, pauses_ms(text), strict=False):
        said += len(piece)
        after = kind_of_gap(words, said) == "after_sentence"
        yield Instant(context, turn, "after_sentence" if after else "mid_sentence", tuple(words[:said]), ms)
    yield Instant(context, turn, "end", tuple(words), None)
