"""What of a token stream is spoken: answers, not reasoning, and whole sentences within the limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents.cascade.answer_text import AnswerFilter, ReplyLimiter

REPLY = "That sounds heavy. You kept going anyway, and that counts. What would help tonight? I could list ten more ideas."


def cut(text: str, sizes: list[int]) -> list[str]:
    """`text` in pieces of the given sizes, the last size repeated."""
    pieces, at, k = [], 0, 0
    while at < len(text):
        size = sizes[min(k, len(sizes) - 1)]
        pieces.append(text[at : at + size])
        at, k = at + size, k + 1
    return pieces


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_reasoning_is_dropped_wherever_the_tokens_fall(sizes: list[int]) -> None:
    answer = AnswerFilter()
    text = "<think>She is sad.\nSay so.</think>I hear you <3 truly."
    assert "".join(answer.push(p) for p in cut(text, sizes)) + answer.flush() == "I hear you <3 truly."


def test_an_answer_without_reasoning_is_never_held_back() -> None:
    answer = AnswerFilter()
    assert [answer.push(t) for t in ("I", "'m", " here")] == ["I", "'m", " here"]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(5, 40), st.integers(1, 4))
def test_limits_hold_at_whole_sentences(sizes: list[int], max_words: int, max_sentences: int) -> None:
    limiter = ReplyLimiter(max_words, max_sentences)
    said = "".join(limiter.push(p) for p in cut(REPLY, sizes)) + limiter.flush()
    assert REPLY.startswith(said)
    assert said.rstrip()[-1] in ".?"
    assert len(said.split()) <= max_words
    assert sum(said.count(mark) for mark in ".?") <= max_sentences


def test_the_first_sentence_streams_word_by_word() -> None:
    limiter = ReplyLimiter(40, 3)
    assert [limiter.push(t) for t in ("That", " sounds", " heavy", ".", " You")] == [
        "That",
        " sounds",
        " heavy",
        "",
        ". ",
    ]


@pytest.mark.parametrize("tail", ["", " You did what you"])
def test_a_sentence_that_never_ended_is_not_begun(tail: str) -> None:
    limiter = ReplyLimiter(40, 3)
    assert limiter.push("I hear you." + tail) + limiter.flush() == "I hear you." + (" " if tail else "")
