"""The origins that the embedded judge is fitted on: readable, spread over the grades, and apart from what it is scored on."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.graded_replies import FOLDER, LEAST_GAP, GradedConversation, GradedReply, graded_pairs, read_origin
from benchmarks.judging_sets import hashes, text_hash
from harness import models
from harness.judging.prompt_injection import addresses_judge
from harness.judging.sentence_encoder import SentenceEncoder

ORIGINS = tuple(sorted(FOLDER.glob("*.jsonl")))


def test_there_are_several_origins() -> None:
    assert len(ORIGINS) >= 5


@pytest.mark.parametrize("path", ORIGINS, ids=[path.stem for path in ORIGINS])
def test_an_origin_is_spread_over_the_grades_and_shares_nothing_with_gold_or_held_out(path: Path) -> None:
    conversations = read_origin(path)
    assert len({c.id for c in conversations}) == len(conversations)
    grades = np.array([reply.grade for c in conversations for reply in c.replies])
    for low, high in ((1.0, 2.0), (2.5, 3.5), (4.0, 5.0)):
        assert 0.15 < np.mean((grades >= low) & (grades <= high)) < 0.65
    texts = {text_hash(t) for c in conversations for t in (c.turns[-1][3:], *(reply.text for reply in c.replies))}
    assert not texts & (hashes("gold") | hashes("heldout"))
    for c in conversations:
        assert c.conversation()[-1].role == "seeker"
        assert not any(addresses_judge(reply.text) for reply in c.replies if reply.grade >= 4)


@pytest.mark.models
def test_pairs_keep_the_better_first_and_a_good_reply_to_somebody_else_is_worse() -> None:
    def conversation(name: str, said: str, good: str, poor: str) -> GradedConversation:
        replies = (GradedReply(grade=4.5, text=good), GradedReply(grade=1, text=poor, weak="E"))
        return GradedConversation(id=name, emotion="fear", problem="work", turns=(f"S: {said}",), replies=replies)

    encoder = SentenceEncoder.load(models.resolve("minilm-l6"))
    pairs = list(
        graded_pairs(
            (
                conversation("a", "My shift was cut again.", "Again, and with no warning? What did they say?", "Get over it."),
                conversation("b", "Our cat did not come home.", "Oh no. How long has she been out?", "It is only a cat."),
            ),
            encoder,
            seed=3,
        )
    )
    assert all(pair.gap >= LEAST_GAP and pair.weight > 0 for pair in pairs)
    assert {pair.conversation for pair in pairs} == {"a", "b"}
    assert len([pair for pair in pairs if not pair.stranger]) == 2
