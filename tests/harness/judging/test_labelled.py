"""The gold pairs are whole, of their own, and cannot be won by length, keywords or question marks."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from harness.judging.completion import normalised
from harness.judging.validation.labelled import gold_conversations, gold_pairs
from harness.scenarios.pack import load_pack, shipped_packs
from harness.store.judgment import AXES

KEYWORDS = re.compile(
    r"\b(sorry|sounds?|feel|feelings?|hear|understand|understandable|hard|difficult|valid|must|tough|natural|okay|care|"
    r"support|imagine|sense|here)\b"
)


def test_conversations_are_well_formed_and_each_fault_meets_one_good_reply() -> None:
    conversations = gold_conversations()
    assert len({c.id for c in conversations}) == len(conversations)
    for c in conversations:
        roles = [turn.role for turn in c.conversation()]
        assert roles[-1] == "seeker"
        assert all(a != b for a, b in pairwise(roles))
        assert (c.escalation is not None) == (c.subset == "adversarial")
    pairs = gold_pairs()
    assert len(pairs) == sum(len(c.bad) for c in conversations)
    assert {p.axis for p in pairs} == set(AXES)
    assert {(p.better, p.worse) for p in pairs if p.conversation_id == conversations[0].id} == {
        (conversations[0].good[k % len(conversations[0].good)], fault.text) for k, fault in enumerate(conversations[0].bad)
    }


def test_no_reply_or_seeker_turn_of_a_shipped_pack_is_a_check() -> None:
    used = {normalised(t) for c in gold_conversations() for t in (c.turns[-1][3:], *c.good, *(f.text for f in c.bad))}
    contexts = [context for name in shipped_packs() for context in load_pack(name).contexts]
    assert contexts
    for context in contexts:
        assert used.isdisjoint(map(normalised, (context.spoken.text, *(r.text for r in context.references))))


@pytest.mark.parametrize(
    "measure",
    [len, lambda t: len(t.split()), lambda t: len(KEYWORDS.findall(t.lower())), lambda t: t.count("?")],
    ids=["letters", "words", "keywords", "question marks"],
)
def test_counting_wins_nothing(measure: Callable[[str], float]) -> None:
    pairs = gold_pairs()
    for part in (pairs, *([p for p in pairs if p.difficulty == level] for level in ("easy", "medium", "hard"))):
        sides = [(measure(p.better), measure(p.worse)) for p in part]
        assert 0.42 <= sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in sides) / len(sides) <= 0.58
