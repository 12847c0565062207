"""Couplets from messages: messages of one speaker become turns, and every answered seeker turn is a candidate.

Crowd workers send one thought in several messages; a history with two seeker messages in a row is not a conversation that
can be spoken, so they are joined, with a full stop where the writer left none. Nothing else of the wording is touched.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from harness.scenarios.esconv.read import Dialogue, Role, Utterance


@dataclass(frozen=True, slots=True)
class MergedTurn:
    """One turn: the joined messages of one speaker, and the strategy labels they carried, in order, each once."""

    role: Role
    text: str
    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Couplet:
    """A seeker turn with its history, and the supporter turn that answered it. `turn` is its position (from 1)."""

    dialogue: Dialogue
    turn: int
    history: tuple[MergedTurn, ...]
    seeker: MergedTurn
    answer: MergedTurn
    turns_after: int
    """Number of turns of the dialogue after the answer; 0 if it ended there."""

    @property
    def id(self) -> str:
        """The dialogue's key and the turn, stable across runs."""
        return f"{self.dialogue.key}-t{self.turn}"


def merged(utterances: tuple[Utterance, ...]) -> tuple[MergedTurn, ...]:
    """Turns that alternate strictly. Empty messages, and a message sent twice, are dropped."""
    turns: list[MergedTurn] = []
    for said in utterances:
        if not said.text or (turns and turns[-1].role == said.role and turns[-1].text.endswith(said.text)):
            continue
        labels = (said.strategy,) if said.strategy else ()
        if turns and turns[-1].role == said.role:
            last = turns[-1]
            joint = last.text if last.text[-1] in ".?!,;:…" else last.text + "."
            strategies = last.strategies + tuple(label for label in labels if label not in last.strategies)
            turns[-1] = MergedTurn(said.role, f"{joint} {said.text}", strategies)
        else:
            turns.append(MergedTurn(said.role, said.text, labels))
    return tuple(turns)


def couplets(dialogue: Dialogue) -> Iterator[Couplet]:
    """All answered seeker turns of a dialogue, in order."""
    turns = merged(dialogue.utterances)
    for k, (turn, after) in enumerate(pairwise(turns)):
        if turn.role == "seeker":
            yield Couplet(dialogue, k + 1, turns[:k], turn, after, len(turns) - k - 2)
