"""Pairs with known answers: the gold pairs, on which every judge's accuracy is measured. All were written for this project.

A line of the file is one conversation with replies that serve it and replies that fail it on one named axis at a named
difficulty. `easy` fails openly, `medium` fails plainly, `hard` is kind and fluent and still worse. The sets that the embedded
judge was fitted and held out on have the same layout and are stored with the benchmarks that read them; no two sets share a
context or a reply. No field limits the length of a reply: tests measure that length does not separate better from worse
replies.
"""

import json
from collections.abc import Iterable, Sequence
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


def read_conversations(lines: Iterable[str]) -> tuple[LabelledConversation, ...]:
    """The conversations of a file's lines; empty lines are left out."""
    return tuple(LabelledConversation.model_validate(json.loads(line)) for line in lines if line.strip())


def pairs_of(conversations: Sequence[LabelledConversation], *, every: bool = False) -> tuple[LabelledPair, ...]:
    """The pairs of these conversations: the k-th fault against the k-th good reply in turn, or against `every` good one."""
    pairs = []
    for c in conversations:
        turns = c.conversation()
        for k, fault in enumerate(c.bad):
            rivals = c.good if every else (c.good[k % len(c.good)],)
            for g, good in enumerate(rivals):
                pairs.append(
                    LabelledPair(f"{c.id}-{k}-{g}", c.id, c.escalation, turns, good, fault.text, fault.axis, fault.level)
                )
    return tuple(pairs)


def gold_conversations() -> tuple[LabelledConversation, ...]:
    """The conversations that every judge's accuracy is measured on."""
    text = (resources.files("harness.judging") / "data" / "gold.jsonl").read_text(encoding="utf-8")
    return read_conversations(text.split("\n"))


def gold_pairs() -> tuple[LabelledPair, ...]:
    """The pairs that every judge's accuracy is measured on."""
    return pairs_of(gold_conversations())
