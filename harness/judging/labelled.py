"""Pairs with known answers: gold (for every judge), fit and held-out (for the embedded one). All written for this project.

A line of the file is one conversation with replies that serve it and replies that fail it on one named axis at a named
difficulty. `easy` fails openly, `medium` fails plainly, `hard` is kind and fluent and still worse. The three files share
no context and no reply; `hashes` is what the test of that compares. No field says how long a reply may be: that length
does not tell the better from the worse is measured by the tests.
"""

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.judging.completion import normalised
from scenarios.context import EscalationProfile, Turn

Set = Literal["gold", "fit", "heldout"]
Difficulty = Literal["easy", "medium", "hard"]
AxisLetter = Literal["H", "E", "A", "R", "T"]
_ROLES: dict[str, Literal["seeker", "supporter"]] = {"S: ": "seeker", "P: ": "supporter"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fault(_Strict):
    """A reply that is worse than the good ones, mainly on one axis."""

    axis: AxisLetter
    level: Difficulty
    text: str


class LabelledConversation(_Strict):
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


def load_conversations(name: Set) -> tuple[LabelledConversation, ...]:
    """All lines of one shipped set (a set may be written in several batches, one file each)."""
    folder = resources.files("harness.judging") / "data"
    files = sorted(f.name for f in folder.iterdir() if f.name.startswith(name) and f.name.endswith(".jsonl"))
    lines = (line for f in files for line in (folder / f).read_text(encoding="utf-8").splitlines() if line.strip())
    return tuple(LabelledConversation.model_validate(json.loads(line)) for line in lines)


def load_pairs(name: Set) -> tuple[LabelledPair, ...]:
    """The pairs of one set: the k-th fault against the k-th good reply in turn, and in `fit` against every good one."""
    pairs = []
    for c in load_conversations(name):
        turns = c.conversation()
        for k, fault in enumerate(c.bad):
            rivals = c.good if name == "fit" else (c.good[k % len(c.good)],)
            for g, good in enumerate(rivals):
                pairs.append(
                    LabelledPair(f"{c.id}-{k}-{g}", c.id, c.escalation, turns, good, fault.text, fault.axis, fault.level)
                )
    return tuple(pairs)


def hashes(name: Set) -> frozenset[str]:
    """Hashes of every conversation's last turn and of every reply of a set, normalised."""
    texts = (t for c in load_conversations(name) for t in (c.turns[-1][3:], *c.good, *(f.text for f in c.bad)))
    return frozenset(text_hash(t) for t in texts)


def text_hash(text: str) -> str:
    """The hash by which sets are shown to be disjoint."""
    return hashlib.sha256(normalised(text).encode()).hexdigest()[:24]


def set_hash(name: Set) -> str:
    """One hash for the whole of a set: which gold a check was made with."""
    joined = "\n".join(c.model_dump_json() for c in load_conversations(name))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]
