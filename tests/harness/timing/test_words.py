"""First word and first word of substance, from words with times."""

import pytest

from harness.replies.phrases import opening_length
from harness.timing.figures import TurnTiming
from harness.timing.words import Word, with_words


def timed(ttfa_ms: float | None, words: list[Word]) -> TurnTiming:
    return with_words(TurnTiming("m", spoken_end_ms=2000.0, ttfa_ms=ttfa_ms), words)


@pytest.mark.parametrize(
    ("reply", "length"),
    [("I'm so sorry to hear that. Was he alone?", 6), ("Um, well, was he alone?", 2), ("Was he alone?", 0)],
)
def test_stock_openings_and_fillers_are_no_substance(reply: str, length: int) -> None:
    assert opening_length(reply.split()) == length


def test_substance_begins_after_the_opening() -> None:
    got = timed(400.0, [("Um,", 2.41, 2.6), ("was", 2.9, 3.0), ("he", 3.0, 3.1)])
    assert got.first_word_ms == pytest.approx(410)
    assert got.first_substance_ms == pytest.approx(900)


def test_no_word_is_heard_before_the_sound_begins() -> None:
    got = timed(400.0, [("Was", 2.25, 2.6), ("he", 2.6, 2.8)])
    assert got.first_word_ms == got.first_substance_ms == 400.0


def test_what_ended_before_the_reply_belongs_to_something_else() -> None:
    assert timed(400.0, [("Hello", 1.0, 1.5)]).first_word_ms is None
    assert timed(None, [("Hello", 2.5, 2.9)]).first_word_ms is None


def test_each_turn_of_a_call_has_the_words_of_its_own_reply() -> None:
    first = TurnTiming("m", spoken_end_ms=2_000.0, ttfa_ms=400.0, reply_end_ms=900.0)
    silent = TurnTiming("m", spoken_end_ms=6_000.0, ttfa_ms=None, no_reply=True)
    last = TurnTiming("m", spoken_end_ms=9_000.0, ttfa_ms=500.0, reply_end_ms=1_500.0)
    words: list[Word] = [("Sure.", 2.45, 2.8), ("Nine", 9.6, 9.9), ("chairs.", 9.9, 10.4)]
    one, none, other = (with_words(turn, words) for turn in (first, silent, last))
    assert one.first_word_ms == pytest.approx(450)
    assert one.first_substance_ms is None
    assert none.first_word_ms is None
    assert other.first_word_ms == other.first_substance_ms == pytest.approx(600)
    assert all(t.transcribed for t in (one, none, other))
    assert not first.transcribed
