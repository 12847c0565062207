"""A reply ends at its first repetition, and an honest reply passes whole."""

import pytest

from harness.agents.cascade.answer_text import ReplyLimiter
from harness.agents.cascade.reply_loops import LoopStop, before_repetition, repeated_words


def said(text: str) -> tuple[str, bool]:
    """What passes of a reply that arrives in tokens of up to four letters."""
    stop = LoopStop()
    passed = "".join(stop.push(text[k : k + 4]) for k in range(0, len(text), 4))
    return passed + stop.flush(), stop.looped


@pytest.mark.parametrize(
    "reply",
    [
        "No, no, I hear you. That sounds very, very hard, and it is not your fault.",
        "I'm so sorry. What happened after that? I'm here.",
        "You said you can, and you can. Take the time that you need.",
        "It's hard. It's hard.",
        "I'm so sorry to hear that. I'm so sorry that he left.",
        "That is very, very",
        "You did all you could. Nobody could have done more, and you did it for him.",
    ],
)
def test_honest_replies_pass_whole(reply: str) -> None:
    assert said(reply) == (reply, False)


@pytest.mark.parametrize(
    ("reply", "longest"),
    [
        ("No, no, no, no, no, no, no, no, no, no.", "No, no, "),
        ("You, I, you, I, you, I, you, I, you, I.", "You, I, you, I, "),
        (
            "I'm happy for you and I'm happy for you and I'm happy for you and",
            "I'm happy for you and ",
        ),
        (
            "You are strong now. It will pass. You are strong now. It will pass.",
            "You are strong now. It will pass. You are strong now",
        ),
        (
            "You're going to miss it, you know. That is fine. You're going to miss it. So",
            "You're going to miss it, you know. That is fine. You're going to miss it",
        ),
        ("You're my best friend, and you're my best friend. So", "You're my best friend, and you're my best friend"),
        ("You can talk to him, or wait. You can talk to him, and then", "You can talk to him, or wait. You can talk to him"),
    ],
)
def test_loops_are_ended_at_the_first_repetition(reply: str, longest: str) -> None:
    passed, looped = said(reply)
    assert looped
    assert reply.startswith(passed)
    assert len(passed) <= len(longest)


def test_a_word_that_came_before_waits_for_the_next_one() -> None:
    stop = LoopStop()
    assert stop.push("You hear me now, you ") == "You hear me now, "
    assert stop.push("can. ") == "you can. "
    assert stop.push("He will ") == "He will "


def test_of_what_comes_at_once_only_the_repetition_is_withheld() -> None:
    stop = LoopStop()
    assert stop.push("You are strong now. It will pass. You are strong now.") == "You are strong now. It will pass."
    assert stop.looped
    assert stop.push(" So") == ""


@pytest.mark.parametrize(
    ("reply", "spoken"),
    [
        ("Talk to him, or to me. I'll be there. I'll be there. So", "Talk to him, or to me. I'll be there. "),
        ("You'll miss it, you know. He will too. You'll miss it, you know, ", "You'll miss it, you know. He will too. "),
    ],
)
def test_a_later_sentence_that_is_a_repetition_is_not_begun(reply: str, spoken: str) -> None:
    """After the first sentence the limiter holds each until it is whole, so its repetition can be kept from being heard."""
    stop, limiter = LoopStop(), ReplyLimiter(max_words=40, max_sentences=4)
    passed = "".join(limiter.push(stop.push(reply[k : k + 4])) for k in range(0, len(reply), 4))
    assert passed + limiter.flush() == spoken


def test_what_a_recogniser_made_up_ends_before_it_repeats_itself() -> None:
    assert before_repetition("I told him " + "and I just left " * 20) == "I told him and I just left"
    assert before_repetition("I told him that I would leave.") == "I told him that I would leave."


def test_phrases_of_up_to_twelve_words_count_as_repetitions() -> None:
    words = [str(k) for k in range(12)]
    assert repeated_words(words * 2) == 12
    assert repeated_words([*words, "12", *words, "12"]) is None
    assert repeated_words(["no", "no"]) is None
    assert repeated_words(["no", "no", "no"]) == 1
