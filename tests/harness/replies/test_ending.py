"""When a reply is over: by the word of its wire, and by silence where the wire says nothing."""

import pytest

from harness.agents.reply_signs import ReplySign
from harness.caller.speech_gate import Speech
from harness.replies.ending import AFTER_LITTLE_MS, AFTER_MORE_MS, LITTLE_MS, TOOL_MS, UNFINISHED_MS, Asked, Sign, reply_over_ns

NO_REPLY_MS = 15_000
MS = 1_000_000
ASKED = Asked(-2_000 * MS, 0)
"""The caller spoke for two seconds; all times count from their last word."""
FILLER, ANSWER, LONG = (700.0, 2_200.0), (4_700.0, 7_700.0), (800.0, 800.0 + LITTLE_MS)
MM_HM = (300.0, 600.0)


def sign(name: ReplySign, at_ms: float, played_ms: float | None = None) -> Sign:
    return Sign(name, round(at_ms * MS), round((at_ms if played_ms is None else played_ms) * MS))


def over_ms(*said: tuple[float, float], signs: tuple[Sign, ...] = (), ends_after_ms: float | None = None) -> float | None:
    speech = [Speech(round(a * MS), round(b * MS)) for a, b in said]
    over_ns = reply_over_ns(ASKED, speech, signs, NO_REPLY_MS, ends_after_ms)
    return None if over_ns is None else over_ns / MS


def test_nothing_that_was_heard_is_no_reply() -> None:
    assert over_ms() is None
    assert over_ms((-1_800, -200)) is None


@pytest.mark.parametrize("gap_ms", [1_000, 2_500, 3_500])
def test_a_tool_behind_a_filler_is_waited_for_on_a_silent_wire(gap_ms: float) -> None:
    over = over_ms(FILLER)
    assert over is not None
    assert over >= FILLER[1] + gap_ms
    assert over == FILLER[1] + AFTER_LITTLE_MS


def test_after_a_longer_reply_the_patience_is_shorter_and_over_the_pauses_inside_replies() -> None:
    assert over_ms(LONG) == LONG[1] + AFTER_MORE_MS
    assert over_ms(FILLER, ANSWER) == ANSWER[1] + AFTER_MORE_MS


def test_a_profile_may_name_the_silence() -> None:
    assert over_ms(FILLER, ends_after_ms=700) == FILLER[1] + 700
    assert over_ms(LONG, ends_after_ms=5_000) == LONG[1] + 5_000


def test_a_murmur_alone_ends_no_reply() -> None:
    assert over_ms(MM_HM) == NO_REPLY_MS
    assert over_ms(MM_HM, ends_after_ms=700) == NO_REPLY_MS
    over_the_end = (-110.0, 95.0)
    assert over_ms(over_the_end) is None
    assert over_ms(over_the_end, FILLER) == over_ms(FILLER)


def test_a_wire_that_says_done_is_believed() -> None:
    signs = (sign("begun", 100), sign("done", 900, played_ms=FILLER[1]))
    assert over_ms(FILLER, signs=signs) == FILLER[1]
    with_silence_behind = (sign("begun", 100), sign("done", 900, played_ms=FILLER[1] + 400))
    assert over_ms(FILLER, signs=with_silence_behind) == FILLER[1] + 400


def test_a_short_answer_is_over_when_the_wire_that_began_it_says_so() -> None:
    assert over_ms(MM_HM, signs=(sign("begun", 100), sign("done", 650))) == 650
    assert over_ms(MM_HM, signs=(sign("done", 650),)) == NO_REPLY_MS


def test_done_of_an_earlier_reply_ends_nothing() -> None:
    late = sign("done", 200)
    assert over_ms(signs=(late,)) is None
    assert over_ms(FILLER, signs=(late,)) == over_ms(FILLER)
    assert over_ms(FILLER, signs=(late, sign("begun", 400))) == FILLER[1] + UNFINISHED_MS


def test_done_between_two_sentences_is_overtaken_by_the_second() -> None:
    between = (sign("begun", 100), sign("done", FILLER[1] + 350))
    assert over_ms(FILLER, ANSWER, signs=between) == ANSWER[1] + AFTER_MORE_MS
    assert over_ms(FILLER, ANSWER, signs=(*between, sign("done", ANSWER[1] + 350))) == ANSWER[1] + 350


def test_a_reply_is_not_over_while_a_tool_is_in_flight() -> None:
    called = (sign("begun", 100), sign("tool_called", 900), sign("done", FILLER[1] + 350))
    assert over_ms(FILLER, signs=called) == 900 + TOOL_MS
    assert over_ms(FILLER, signs=(*called, sign("tool_done", 12_000), sign("begun", 12_010))) == 12_010 + UNFINISHED_MS
    answer = (12_500.0, 16_000.0)
    done = (*called, sign("tool_done", 12_000), sign("begun", 12_010), sign("done", 16_350))
    assert over_ms(FILLER, answer, signs=done) == 16_350


@pytest.mark.parametrize("shown_by", ["a new reply", "a long answer"])
def test_a_tool_whose_return_is_never_said_is_not_waited_for_after_the_answer(shown_by: str) -> None:
    again = (sign("begun", 4_000),) if shown_by == "a new reply" else ()
    signs = (sign("begun", 100), sign("tool_called", 900), *again, sign("done", ANSWER[1] + 350))
    assert over_ms(FILLER, ANSWER, signs=signs) == ANSWER[1] + 350


def test_a_wire_that_began_and_never_says_done_is_waited_for_once() -> None:
    assert over_ms(LONG, signs=(sign("begun", 100),)) == LONG[1] + UNFINISHED_MS
    before = sign("begun", -9_000)
    assert over_ms(LONG, signs=(before, sign("begun", 100))) == LONG[1] + AFTER_MORE_MS
    assert over_ms(LONG, signs=(before, sign("done", -6_000), sign("begun", 100))) == LONG[1] + UNFINISHED_MS


def test_sound_on_a_line_of_its_own_may_follow_its_sign_a_little() -> None:
    signs = (sign("begun", 100), sign("done", FILLER[1] - 150))
    assert over_ms(FILLER, signs=signs) == FILLER[1]
    long_before_its_end = (sign("begun", 100), sign("done", 900))
    assert over_ms(LONG, signs=long_before_its_end) == LONG[1] + AFTER_MORE_MS


def test_murmurs_after_the_reply_do_not_prolong_it() -> None:
    long, after = LONG, [(LONG[1] + 1_000.0 * k, LONG[1] + 1_000.0 * k + 400) for k in range(1, 4)]
    assert over_ms(long, *after) == over_ms(long)
    assert over_ms(MM_HM, *after) == NO_REPLY_MS
