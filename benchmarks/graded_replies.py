"""Conversations with replies of many origins, each reply with a grade: what the embedded judge is fitted on.

A file of `benchmarks/judging_origins` is one origin: one kind of talk (forum posts, crowd workers' chat, counselling, model
output …), written apart from the others, in its own styles. A grade, 1 to 5 in halves, says how well the reply serves this
person: understanding, the feeling acknowledged, something useful, fit, no harm. Nobody's ratings but the author's stand
behind it, so these sets can *fit* a judge and never *validate* one.

Whole origins are held out, not rows: replies by one hand share more than their labels, and only an origin that took no part
says what the judge is worth elsewhere.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from benchmarks.judging_sets import load_conversations
from harness.judging.reply_features import reply_features
from harness.judging.sentence_encoder import SentenceEncoder
from harness.scenarios.context import Turn

FOLDER = Path(__file__).with_name("judging_origins")
FIRST_FIT = "first fit"
"""The origin of `judging_sets/fit.jsonl`: one author's pairs, written before the others."""
GOOD = 4.5
LEVELS = {"easy": 1.0, "medium": 2.0, "hard": 3.0}
LEAST_GAP = 1.0
"""Closer grades are a matter of taste, and are not fitted on."""
CLEAR_GAP = 4 / 3
"""A third of the scale, as in the check against people."""
STRANGER = 1.5
"""The grade of a good reply to somebody else: kind, and of no use to this person."""
_ROLES: dict[str, Literal["seeker", "supporter"]] = {"S: ": "seeker", "P: ": "supporter"}

Array = NDArray[np.float64]


class GradedReply(BaseModel):
    """One reply and what it is worth here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    grade: Annotated[float, Field(ge=1, le=5)]
    text: Annotated[str, Field(min_length=1)]
    kind: str = ""
    weak: Literal["", "H", "E", "A", "R", "T"] = ""
    """The axis on which it lacks most."""


class GradedConversation(BaseModel):
    """One conversation, its last turn the seeker's, and its replies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    emotion: str
    problem: str
    turns: Annotated[tuple[str, ...], Field(min_length=1)]
    replies: Annotated[tuple[GradedReply, ...], Field(min_length=2)]

    def conversation(self) -> tuple[Turn, ...]:
        return tuple(Turn(role=_ROLES[line[:3]], text=line[3:]) for line in self.turns)


@dataclass(frozen=True, slots=True)
class GradedPair:
    """Two replies to one conversation as a difference of their features, the better one first."""

    conversation: str
    difference: Array
    gap: float
    weight: float
    stranger: bool
    longer: float
    """1 where the better reply is the longer one in words, ½ where both are as long."""


def read_origin(path: Path) -> tuple[GradedConversation, ...]:
    """One file of graded conversations."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(GradedConversation.model_validate(json.loads(line)) for line in lines)


def first_fit() -> tuple[GradedConversation, ...]:
    """The fit pairs that ship, as graded replies."""
    return tuple(
        GradedConversation(
            id=c.id, emotion=c.emotion, problem=c.problem, turns=c.turns,
            replies=(
                *(GradedReply(grade=GOOD, text=text) for text in c.good),
                *(GradedReply(grade=LEVELS[fault.level], text=fault.text, weak=fault.axis) for fault in c.bad),
            ),
        )
        for c in load_conversations("fit")
    )  # fmt: skip


def graded_pairs(conversations: Sequence[GradedConversation], encoder: SentenceEncoder, seed: int = 0) -> Iterator[GradedPair]:
    """Every two replies whose grades differ by `LEAST_GAP` or more, and each good reply against one to somebody else."""
    rng = random.Random(seed)
    good = [(c.id, reply.text) for c in conversations for reply in c.replies if reply.grade >= 4]
    for c in conversations:
        whose, strange = rng.choice(good)
        replies = [*c.replies, *([GradedReply(grade=STRANGER, text=strange, weak="A")] if whose != c.id else [])]
        rows = reply_features(c.conversation(), [reply.text for reply in replies], encoder)
        pairs = [
            (a, b)
            for a, b in permutations(range(len(replies)), 2)
            if replies[a].grade - replies[b].grade >= LEAST_GAP
            and a < len(c.replies)
            and (b < len(c.replies) or replies[a].grade >= 4)
        ]
        for a, b in pairs:
            gap = replies[a].grade - replies[b].grade
            words = [len(replies[n].text.split()) for n in (a, b)]
            yield GradedPair(
                c.id,
                rows[a] - rows[b],
                gap,
                # Replies of one conversation make many pairs that share their mistakes; the root counts them for less than
                # so many.
                min(gap, 2.0) / 2 / len(pairs) ** 0.5,
                b >= len(c.replies),
                0.5 + 0.5 * float(np.sign(words[0] - words[1])),
            )
