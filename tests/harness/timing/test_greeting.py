"""What sounds before the caller's first word: a figure of its own, and no cut-in."""

import pytest

from benchmarks.made_recordings import Said, make_recording, onset_ms, voice
from harness.timing import measure

CALLER_S = 2.0
LEAD_S = 0.5
ANSWER = Said(0.6, voice(1.0, seed=2))


def before(seconds: float, length_s: float) -> Said:
    """Agent speech that begins so long after the line was open."""
    return Said(seconds - LEAD_S - CALLER_S, voice(length_s))


def test_a_greeting_that_was_heard_out_is_timed_from_the_opened_line() -> None:
    timing = measure(make_recording(before(0.05, 0.4), ANSWER).recording)
    assert timing.greeting is not None
    assert timing.greeting.latency_ms == pytest.approx(50 + onset_ms(voice(0.4)), abs=3)
    assert 0 < timing.greeting.length_ms < 420
    assert not timing.greeting.talked_over
    assert timing.ttfa_ms == pytest.approx(600 + onset_ms(ANSWER.sound), abs=3)
    assert not timing.cut_in


@pytest.mark.parametrize("length_s", [1.5, 4.0])
def test_one_that_the_caller_talked_over_is_neither_cut_in_nor_reply(length_s: float) -> None:
    timing = measure(make_recording(before(0.1, length_s), Said(3.0, voice(1.0, seed=2)), total_s=9).recording)
    assert timing.greeting is not None
    assert timing.greeting.talked_over
    assert not timing.cut_in
    assert timing.signed_ms is None
    assert timing.ttfa_ms == pytest.approx(3_000 + onset_ms(voice(1.0, seed=2)), abs=5)


def test_what_begins_after_the_caller_has_begun_is_a_cut_in_as_ever() -> None:
    timing = measure(make_recording(before(0.1, 0.4), Said(-1.0, voice(0.8)), ANSWER).recording)
    assert timing.cut_in
    assert timing.greeting is not None
    assert measure(make_recording(Said(-1.0, voice(0.5)), ANSWER).recording).greeting is None
