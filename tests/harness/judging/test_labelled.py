"""The labelled sets are disjoint, whole, and cannot be won by length, keywords or question marks."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.judging_sets import Set, hashes, load_conversations, load_pairs, text_hash
from harness.judging.validation.labelled import LabelledConversation, LabelledPair
from harness.scenarios.pack import load_pack, shipped_packs
from harness.store.judgment import AXES

SETS: tuple[Set, ...] = ("gold", "fit", "heldout")
KEYWORDS = re.compile(
    r"\b(sorry|sounds?|feel|feelings?|hear|understand|understandable|hard|difficult|valid|must|tough|natural|okay|care|"
    r"support|imagine|sense|here)\b"
)


def keywords(text: str) -> int:
    return len(KEYWORDS.findall(text.lower()))


def share_won(pairs: Sequence[LabelledPair], measure: Callable[[str], float]) -> float:
    """How often more of `measure` marks the better reply; ties count half."""
    sides = [(measure(p.better), measure(p.worse)) for p in pairs]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in sides) / len(sides)


@pytest.mark.parametrize("name", SETS)
def test_conversations_are_well_formed(name: Set) -> None:
    conversations = load_conversations(name)
    assert len({c.id for c in conversations}) == len(conversations)
    for c in conversations:
        roles = [turn.role for turn in c.conversation()]
        assert roles[-1] == "seeker"
        assert all(a != b for a, b in pairwise(roles))
        assert (c.escalation is not None) == (c.subset == "adversarial")


def test_the_sets_share_no_text() -> None:
    for n, one in enumerate(SETS):
        for other in SETS[n + 1 :]:
            assert hashes(one).isdisjoint(hashes(other))


def test_the_development_file_shares_no_text_with_any_set() -> None:
    path = Path(__file__).parents[3] / "benchmarks" / "judging_foreign.jsonl"
    lines = [LabelledConversation.model_validate_json(x) for x in path.read_text(encoding="utf-8").splitlines()]
    assert lines
    # Two platitudes may well be word for word the same; what must not return is a seeker's turn or a good reply.
    texts = {text_hash(t) for c in lines for t in (c.turns[-1][3:], *c.good)}
    for name in SETS:
        assert texts.isdisjoint(hashes(name))


def test_no_reply_or_seeker_turn_of_a_shipped_pack_was_fitted_on_or_is_a_check() -> None:
    used = frozenset().union(*(hashes(name) for name in SETS))
    packs = [load_pack(name) for name in shipped_packs()]
    assert packs
    for pack in packs:
        for context in pack.contexts:
            assert text_hash(context.spoken.text) not in used
            assert used.isdisjoint(text_hash(r.text) for r in context.references)


def test_heldout_is_large_and_covers_everything() -> None:
    pairs = load_pairs("heldout")
    assert len(pairs) >= 200
    assert {p.axis for p in pairs} == set(AXES)
    assert {p.escalation for p in pairs} == {None, "always-10", "linear-ramp", "mid-spike", "mid-ramp"}
    counts = Counter(p.difficulty for p in pairs)
    assert max(counts.values()) - min(counts.values()) <= len(pairs) * 0.02
    assert set(counts) == {"easy", "medium", "hard"}


@pytest.mark.parametrize("name", ["gold", "heldout"])
@pytest.mark.parametrize("measure", [len, lambda t: len(t.split()), keywords, lambda t: t.count("?")])
def test_length_keywords_and_question_marks_win_nothing(name: Set, measure: Callable[[str], float]) -> None:
    pairs = load_pairs(name)
    for level in ("easy", "medium", "hard"):
        assert 0.42 <= share_won([p for p in pairs if p.difficulty == level], measure) <= 0.58
    assert 0.42 <= share_won(pairs, measure) <= 0.58


def test_hashing_sees_through_case_and_punctuation() -> None:
    assert text_hash("I'm here. Go on…") == text_hash("i’m HERE go on")
