"""The questions of one rater in their order: assigned once, when the rater begins, and never changed.

Least-judged conversations and pairs come first, so that votes spread evenly however many raters finish. What is equally little
judged is drawn at random, so every conversation comes as often as any other, and within it every pair of replies: a pair's rate
is known (`Item.draw_rate`), as the fit of people's votes needs. It is not 1 where replies are missing: a pair then shares
the turn of its conversation with fewer others. Pairs with a reference have one turn in eight, as on the page
(`harness.ranking.draw_pairs`).

Sides are balanced within a rater. A conversation has one role for a rater: practice, check or item. With delays as a factor the
same pair comes twice, once in each half, so that neither memory nor fatigue falls on one version alone.

A check is an item like any other, with a conversation of its own: only its reply, or one of two, was given to somebody else and
is about something else. Whoever reads and listens notices; nothing else tells the item from the others.
"""

import random
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from harness.ranking.draw_pairs import REFERENCE_EVERY
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Conversation, audible_gap_ms
from harness.store.judgment import has_reference

Role = Literal["level", "headphones", "practice", "main", "gold", "attention", "break"]
Coverage = Mapping[tuple[str, ...], int]
"""(conversation, system…) → number of votes already assigned."""
GOLDEN: Final = 0.6180339887498949
"""Steps of the golden ratio around a circle fall nearly evenly whatever their number, and from a start drawn at random each is
uniform: so a rater meets all systems about as often, and each pair of a conversation is as likely."""
_CANDIDATES: Final = 40
"""Misplaced replies to choose from: a run of twenty agents has thousands, and one in some dozens names its own subject."""
_LONG_WORD: Final = re.compile(r"\w{5,}")
"""Words of five letters or more: shorter ones are mostly grammar, in English as in Spanish."""


class Slot(BaseModel):
    """One reply of an item, as shown to the rater. `context` differs from the item's for a check with a misplaced reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: str
    system: str
    gap_ms: float = 0.0
    degraded: bool = False


class Item(BaseModel):
    """One step of a session. `expected` is the known answer of a check: a choice's sign, a low rating, or a tone.

    The role `attention` and `instruction` are of older versions, whose checks told their rater what to choose.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    context: str | None = None
    slots: tuple[Slot, ...] = ()
    with_delay: bool = False
    expected: int | None = None
    instruction: str = ""
    draw_rate: float | None = None
    """For a pair that was drawn from all pairs, as `harness.store.judgment.Judgment.draw_rate`; None in plans of older
    versions, which chose pairs."""

    @property
    def is_check(self) -> bool:
        return self.expected is not None and self.role != "practice"


def deal(
    conversations: Sequence[Conversation],
    design: ListeningDesign,
    coverage: Coverage,
    seed: int,
    taken: Set[str] = frozenset(),
) -> tuple[Item, ...]:
    """The items of one rater. `taken`: conversations this person knows from another role and must not meet."""
    rng = random.Random(seed)
    free = [c for c in conversations if c.id not in taken]
    rng.shuffle(free)
    free.sort(key=lambda c: sum(count for key, count in coverage.items() if key[0] == c.id))
    checks = _reserved(len(free), design)
    kept = free[len(free) - checks :] if checks else []
    main = free[: len(free) - checks][: design.items]
    practice, gold = kept[: min(design.practice, checks // 2)], kept[min(design.practice, checks // 2) :]
    turns = {conversation.id: _turn(conversation) for conversation in conversations} if design.kind == "ab" else {}
    asked = _main(main, design, coverage, turns, rng)
    for item in _gold(gold, conversations, design, rng):
        asked.insert(rng.randint(min(1, len(asked)), len(asked)), item)
    return (*_before(design, rng), *_practice(practice, design, rng), *_with_breaks(asked, design))


def _reserved(available: int, design: ListeningDesign) -> int:
    """The number of conversations for checks: at most a third, none if there are fewer than four."""
    return min(design.practice + design.gold + design.attention, available // 3) if available >= 4 else 0


def _before(design: ListeningDesign, rng: random.Random) -> list[Item]:
    if design.medium == "text":
        return []
    trials = [Item(role="headphones", expected=rng.randint(1, 3)) for _ in range(design.headphone_trials)]
    return [Item(role="level"), *trials]


@dataclass(frozen=True, slots=True)
class _Turn:
    """The pairs of one conversation of two agents and with a reference, and the chance of its turn to take from either."""

    pairs: tuple[list[tuple[str, ...]], list[tuple[str, ...]]]
    chance: tuple[float, float]


def _turn(conversation: Conversation) -> _Turn:
    pairs: list[tuple[str, ...]] = [*combinations(sorted(conversation.replies), 2)]
    with_reference = [pair for pair in pairs if has_reference(*pair)]
    share = len(with_reference) / max(1, len(pairs))
    # Where references would have less than their part, or nobody else replied, every pair is as likely.
    share = share if share == 1 else min(share, 1 / REFERENCE_EVERY)
    return _Turn(([pair for pair in pairs if pair not in with_reference], with_reference), (1 - share, share))


def _rates(turns: Collection[_Turn]) -> tuple[float, float]:
    """For pairs of two agents and with a reference: what makes chances rates, relative to the average pair of the kind."""
    chances = [sum(turn.chance[kind] for turn in turns) for kind in range(2)]
    sizes = [sum(len(turn.pairs[kind]) for turn in turns) for kind in range(2)]
    agents, references = (size / chance if chance else 0.0 for size, chance in zip(sizes, chances, strict=True))
    return agents, references


def _main(
    chosen: Sequence[Conversation],
    design: ListeningDesign,
    coverage: Coverage,
    turns: Mapping[str, _Turn],
    rng: random.Random,
) -> list[Item]:
    versions = design.audible_delay
    first: list[Item] = []
    second: list[Item] = []
    start, place, of_kind = rng.random(), rng.random(), _rates(turns.values())
    for number, conversation in enumerate(chosen):
        rate: float | None = None
        choices: list[tuple[str, ...]] = [(name,) for name in sorted(conversation.replies)]
        if turn := turns.get(conversation.id):
            kind = int((place + number / REFERENCE_EVERY) % 1.0 < turn.chance[1])
            choices, rate = turn.pairs[kind], of_kind[kind] * turn.chance[kind] / len(turn.pairs[kind])
        systems = _least_judged(conversation, choices, coverage, (start + number * GOLDEN) % 1.0)
        # Alternating sides over a shuffled list balances them exactly, up to one.
        order = systems if number % 2 == 0 else systems[::-1]
        made = [
            _item("main", conversation, order, design, with_delay).model_copy(update={"draw_rate": rate})
            for with_delay in versions
        ]
        if len(made) == 1:
            first += made
            continue
        rng.shuffle(made)
        first.append(made[0])
        second.append(made[1])
    rng.shuffle(first)
    rng.shuffle(second)
    return first + second


def _least_judged(
    conversation: Conversation, choices: Sequence[tuple[str, ...]], coverage: Coverage, at: float
) -> tuple[str, ...]:
    """The least-judged of some choices of systems; of several, those at `at`, uniform from 0 to 1."""
    votes = [coverage.get((conversation.id, *names), 0) for names in choices]
    least = [names for names, count in zip(choices, votes, strict=True) if count == min(votes)]
    return least[int(at * len(least))]


def _item(role: Role, conversation: Conversation, systems: Sequence[str], design: ListeningDesign, with_delay: bool) -> Item:
    slots = tuple(
        Slot(context=conversation.id, system=system, gap_ms=_gap_ms(conversation, system, design, with_delay))
        for system in systems
    )
    return Item(role=role, context=conversation.id, slots=slots, with_delay=with_delay)


def _gap_ms(conversation: Conversation, system: str, design: ListeningDesign, with_delay: bool) -> float:
    if design.medium == "text":
        return 0.0
    if not with_delay:
        return design.even_gap_ms
    return audible_gap_ms(conversation.replies[system], design)


def _practice(chosen: Sequence[Conversation], design: ListeningDesign, rng: random.Random) -> list[Item]:
    size = 2 if design.kind == "ab" else 1
    return [_item("practice", c, rng.sample(sorted(c.replies), size), design, False) for c in chosen]


def _gold(
    chosen: Sequence[Conversation], conversations: Sequence[Conversation], design: ListeningDesign, rng: random.Random
) -> list[Item]:
    """Checks with known answers: a reply against the same system's reply to another conversation; or speech under noise."""
    found = []
    first_is_right = rng.random() < 0.5
    unused = list(conversations)
    for conversation in chosen:
        with_delay = rng.choice(design.audible_delay)

        def slot(of: Conversation, system: str, with_delay: bool = with_delay) -> Slot:
            return Slot(context=of.id, system=system, gap_ms=_gap_ms(of, system, design, with_delay))

        slots: tuple[Slot, ...]
        if design.kind == "acr" and design.medium == "sound":
            speech = slot(conversation, rng.choice(sorted(conversation.replies)))
            slots, expected = (speech.model_copy(update={"degraded": True}),), 1
        elif (misplaced := _misplaced(conversation, unused, rng)) is None:
            continue
        else:
            other, system = misplaced
            unused.remove(other)  # A reply that is out of place twice would be known again.
            right, wrong = slot(conversation, system), slot(other, system)
            if design.kind == "acr":
                slots, expected = (wrong,), 1
            else:
                slots, expected = ((right, wrong), -1) if first_is_right else ((wrong, right), 1)
                first_is_right = not first_is_right
        found.append(Item(role="gold", context=conversation.id, slots=slots, with_delay=with_delay, expected=expected))
    return found


def _misplaced(
    conversation: Conversation, conversations: Sequence[Conversation], rng: random.Random
) -> tuple[Conversation, str] | None:
    """Another conversation, and a system whose reply there fits least here; None if nobody's reply would be out of place.

    What would be as kind a thing to say here gives no check, and would leave out attentive raters. So of some replies drawn at
    random the one is chosen that says most words of its own conversation beyond those of this one, and one at least.
    """
    here = _long_words(conversation)
    every = [
        (c, s) for c in conversations if c.id != conversation.id for s in sorted(set(c.replies) & set(conversation.replies))
    ]

    def out_of_place(candidate: tuple[Conversation, str]) -> int:
        other, system = candidate
        said = _LONG_WORD.findall(other.replies[system].text.lower())
        if said == _LONG_WORD.findall(conversation.replies[system].text.lower()):
            return 0
        return len(set(said) & (_long_words(other) - here))

    drawn = rng.sample(every, min(len(every), _CANDIDATES))
    best = max(drawn, key=out_of_place, default=None)
    return best if best is not None and out_of_place(best) > 0 else None


def _long_words(conversation: Conversation) -> frozenset[str]:
    """Words that say what a conversation is about."""
    return frozenset(word for _, text in conversation.history for word in _LONG_WORD.findall(text.lower()))


def _with_breaks(asked: Sequence[Item], design: ListeningDesign) -> list[Item]:
    out: list[Item] = []
    for number, item in enumerate(asked):
        if number and number % design.break_every == 0:
            out.append(Item(role="break"))
        out.append(item)
    return out


def passed(item: Item, answer: Mapping[str, object], design: ListeningDesign) -> bool | None:
    """True if a check was answered correctly; None for an item that is not a check."""
    if not item.is_check or item.expected is None:
        return None
    if item.role == "headphones":
        return answer.get("tone") == item.expected
    if design.kind == "ab":
        choice = answer.get("choice")
        return isinstance(choice, int) and choice * item.expected > 0
    scale = "naturalness" if any(slot.degraded for slot in item.slots) else "empathy"
    value = answer.get(scale)
    # P.808 allows a scale point of leeway around the expected end.
    return isinstance(value, int) and value <= item.expected + 1
