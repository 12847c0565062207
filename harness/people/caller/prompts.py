"""Prompts for a speaker: turns of a pack to retell in one's own words, and harmless topics of one's own choosing.

A turn that is read aloud has the pauses of reading. So a prompt is read, put away, and told as if it were one's own. Volunteers
must not be made to speak hatred or despair: only regular contexts serve, and only those in which the project's own
screens find no crisis, no traceable person and no illness.

Everybody gets a few prompts. They are dealt so that each prompt is retold about equally often: those that fewest people
have come first, and chance (by a seed) decides between equals.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.scenarios.context import Context
from harness.scenarios.pack import Pack
from harness.scenarios.screens import FOR_WRITTEN_PACKS, screen_context
from harness.study.texts import Texts

PER_PERSON: Final = 12
"""Turns a person is asked for unless their host says otherwise: a choice, by which ten people give 120 turns."""

LeftOut = Literal["adversarial", "screened", "no text"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: `retell` a pack's turn, or a `topic` to speak about."""

    id: str
    kind: Literal["retell", "topic"]
    text: str


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a pack, and the number of contexts left out by reason."""

    usable: tuple[Prompt, ...]
    left_out: Mapping[LeftOut, int]

    def in_words(self) -> str:
        """One line with the number of prompts, and of the contexts left out with their reasons."""
        names = {"adversarial": "hostile", "screened": "held back by the screens", "no text": "without text"}
        out = ", ".join(f"{n} {names[why]}" for why, n in self.left_out.items() if n)
        return f"{len(self.usable)} prompts to retell" + (f"; left out: {out}" if out else "")


def prompts_of(pack: Pack) -> Prompts:
    """The last seeker turns of a pack's harmless contexts, without pause marks."""
    usable: list[Prompt] = []
    left_out: dict[LeftOut, int] = {"adversarial": 0, "screened": 0, "no text": 0}
    for context in pack.contexts:
        why = _unfit(context)
        if why is None:
            usable.append(Prompt(context.id, "retell", context.spoken.plain))
        else:
            left_out[why] += 1
    return Prompts(tuple(usable), left_out)


def dealt(prompts: Sequence[Prompt], given: Mapping[str, int], seed: int, most: int = PER_PERSON) -> tuple[Prompt, ...]:
    """The next person's prompts, at most `most` and none twice. `given`: prompt → people who have it already."""

    so_far = sum(given.values())

    def drawn(prompt: Prompt) -> bytes:
        return hashlib.sha256(f"{seed}\n{so_far}\n{prompt.id}".encode()).digest()

    return tuple(sorted(prompts, key=lambda p: (given.get(p.id, 0), drawn(p)))[:most])


def _unfit(context: Context) -> LeftOut | None:
    if context.subset == "adversarial":
        return "adversarial"
    if not context.spoken.plain:
        return "no text"
    return "screened" if screen_context(context, FOR_WRITTEN_PACKS) else None


TOPIC_IDS: Final = tuple(f"topic-{name}" for name in (
    "breakfast", "way", "window", "weekend", "dish", "garden", "weather", "book", "game", "song", "repair", "trip", "animal",
    "room", "market", "learn", "morning", "season", "hobby", "tool", "train", "plan", "first-job", "tidy",
))  # fmt: skip
"""In the order of their words, `caller.topics`."""


def topics(t: Texts) -> tuple[Prompt, ...]:
    """Everyday topics, written for this list: no distress, no health, no names."""
    return tuple(Prompt(name, "topic", text) for name, text in zip(TOPIC_IDS, t.several("caller.topics"), strict=True))
