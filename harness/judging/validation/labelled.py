"""Pairs with known answers: the gold pairs, on which every judge's accuracy is measured. All were written for this project.

A line of the file is one conversation with replies that serve it and replies that fail it on one named axis at a named
difficulty. `easy` fails openly, `medium` fails plainly, `hard` is kind and fluent and still worse. No field limits the length
of a reply: tests measure that length does not separate better from worse replies.
"""

from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field

from harness.judging.schema import Strict
from harness.scenarios.context import EscalationProfile, Turn

Difficulty = Literal["easy", "medium", "hard"]
AxisLetter = Literal["H", "E", "A", "R", "T"]
_ROLES: dict[str, Literal["seeker", "supporter"]] = {"S: ": "seeker", "P: ": "supporter"}


class Fault(Strict):
    """A reply that is worse than the good ones, mainly on one axis."""

    axis: AxisLetter
    level: Difficulty
    text: str


class LabelledConversation(Strict):
    """One line of the file. Turns begin with `S: ` (seeker) or `P: ` (supporter)."""

    id: str
    subset: Literal["regular", "adversarial"]
    escalation: EscalationProfile | None = None
    emotion: str
    problem: str
    turns: Annotated[tuple[str, ...], Field(min_length=1)]
    good: Annotated[tuple[str, ...], Field(min_length=1)]
    bad: Annotated[tuple[Fault, ...], Field(min_length=1)]

    def conversation(self) -> tuple[Turn, ...]:
        """The turns with their roles."""
        return tuple(Turn(role=_ROLES[t[:3]], text=t[3:]) for t in self.turns)


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One pair: `better` beats `worse` in this conversation, above all on `axis`."""

    id: str
    conversation_id: str
    escalation: str | None
    turns: tuple[Turn, ...]
    better: str
    worse: str
    axis: AxisLetter
    difficulty: Difficulty


def gold_conversations() -> tuple[LabelledConversation, ...]:
    """The conversations that every judge's accuracy is measured on."""
    text = (resources.files("harness.judging") / "data" / "gold.jsonl").read_text(encoding="utf-8")
    return tuple(LabelledConversation.model_validate_json(line) for line in text.splitlines())


def gold_pairs() -> tuple[LabelledPair, ...]:
    """The pairs that every judge's accuracy is measured on: the k-th fault against the k-th good reply in turn."""
    return tuple(
        LabelledPair(
            f"{c.id}-{k}-0", c.id, c.escalation, c.conversation(), c.good[k % len(c.good)], fault.text, fault.axis, fault.level
        )
        for c in gold_conversations()
        for k, fault in enumerate(c.bad)
    )
