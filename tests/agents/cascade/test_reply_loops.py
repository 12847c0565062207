"""A reply ends at its first repetition, and an honest reply passes whole."""

import pytest

from harness.agents.cascade.reply_loops import LoopStop, before_repetition, repeats


def said(text: str) -> tuple[str, bool]:
    """What passes of a reply that arrives in tokens of up to four letters."""
    stop = LoopStop()
    passed = "".join(stop.push(text[k : k + 4]) for k in range(0, len(text), 4))
    return passed, stop.looped


@pytest.mark.parametrize(
    "reply",
    [
        "No, no, I hear you. That sounds very, very hard, and it is not your fault.",
        "I'm so sorry. What happened after that? I'm here.",
        "You said you can, and you can. Take the time that you need.",
        "It's hard. It's hard.",
    ],
)
def test_honest_replies_pass_whole(reply: str) -> None:
    assert said(reply) == (reply, False)


@pytest.mark.parametrize(
    ("reply", "longest"),
    [
        ("No, no, no, no, no, no, no, no, no, no.", "No, no, no, no,"),
        ("You, I, you, I, you, I, you, I, you, I.", "You, I, you, I, you, I, you"),
        (
            "I'm happy for you and I'm happy for you and I'm happy for you and",
            "I'm happy for you and I'm happy for you and I'm",
        ),
        (
            "You are strong now. It will pass. You are strong now. It will pass.",
            "You are strong now. It will pass. You are strong now. ",
        ),
    ],
)
def test_loops_are_ended_at_the_first_repetition(reply: str, longest: str) -> None:
    passed, looped = said(reply)
    assert looped
    assert reply.startswith(passed)
    assert len(passed) <= len(longest)


def test_what_a_recogniser_made_up_ends_before_it_repeats_itself_for_long() -> None:
    assert before_repetition("I told him " + "and I just left " * 20) == "I told him and I just left and I just left"
    assert before_repetition("I told him that I would leave.") == "I told him that I would leave."


def test_phrases_of_up_to_twelve_words_count_as_repetitions() -> None:
    words = [str(k) for k in range(12)]
    assert repeats(words * 2)
    assert not repeats([*words, "12", *words, "12"])
    assert not repeats(["no", "no"])
    assert repeats(["no", "no", "no"])
