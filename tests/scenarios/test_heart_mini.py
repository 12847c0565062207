"""What the first pack promises: twelve items, their shape, and the law of its pauses."""

from collections import Counter

from harness.scenarios import load_pack
from harness.scenarios.pause_law import PER_TURN, TO_AGENTS
from harness.scenarios.pauses import pauses_ms

PACK = load_pack("heart-mini")


def test_nine_regular_and_three_adversarial_of_different_profiles() -> None:
    assert Counter(c.subset for c in PACK.contexts) == {"regular": 9, "adversarial": 3}
    assert len({c.escalation for c in PACK.contexts if c.escalation}) == 3


def test_lengths_endings_and_openings() -> None:
    for context in PACK.contexts:
        assert 5 <= len(context.turns) <= 9
        sentences = sum(context.spoken.plain.count(mark) for mark in ".?!")
        assert 2 <= sentences <= 9
        if context.subset == "adversarial":
            assert context.turns[0].role == "supporter"


def test_two_authored_references_of_differing_quality() -> None:
    for context in PACK.contexts:
        good, plain = context.references
        assert good.author == plain.author == "authored"
        assert (good.quality or 0) >= (plain.quality or 0) + 2
        assert plain.weak_on
        assert plain.note


def test_pauses_follow_peoples_law_in_length_and_number() -> None:
    turns = [turn for c in PACK.contexts for turn in c.turns if turn.role == "seeker"]
    pauses = [ms for turn in turns for ms in pauses_ms(turn.text)]
    distance = TO_AGENTS.distance(pauses)
    assert distance is not None
    assert distance <= 0.08
    assert abs(len(pauses) / len(turns) - PER_TURN) < 0.02
    assert 0 < sum(not pauses_ms(turn.text) for turn in turns) < len(turns)
