"""The figures of a turn against recordings with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import Said, make_recording, noise, onset_ms, silence, voice
from harness.timing import measure, measure_turns


def test_ttfa_is_arrival_plus_what_is_silent_in_front() -> None:
    sound = np.concatenate([silence(0.12), voice(1.5)])
    timing = measure(make_recording(Said(0.4, sound)).recording)
    assert timing.ttfa_ms == pytest.approx(400 + onset_ms(sound), abs=2)
    assert timing.first_byte_ms == pytest.approx(400, abs=0.01)
    assert timing.first_sound_ms == pytest.approx(timing.ttfa_ms, abs=5)
    assert timing.reply_end_ms == pytest.approx(400 + 120 + 1500, abs=10)
    assert not timing.no_reply
    assert not timing.cut_in
    assert timing.signed_ms is None


@pytest.mark.parametrize("message_ms", [20, 40, 1500])
def test_how_the_agent_cuts_its_audio_changes_nothing(message_ms: int) -> None:
    timing = measure(make_recording(Said(0.7, voice(1.5, seed=3), message_ms)).recording)
    assert timing.ttfa_ms == pytest.approx(700 + onset_ms(voice(1.5, seed=3)), abs=1)


def test_a_click_is_heard_and_is_no_answer() -> None:
    click = np.concatenate([noise(0.006, -15), silence(0.6)])
    sound = np.concatenate([click, voice(1.5)])
    timing = measure(make_recording(Said(0.3, sound)).recording)
    assert timing.ttfa_ms == pytest.approx(300 + 606 + onset_ms(voice(1.5)), abs=2)
    assert [u.kind for u in timing.utterances] == ["nonvocal", "answer"]


def test_steady_noise_alone_is_no_reply() -> None:
    timing = measure(make_recording(Said(0.3, noise(4.0, -45))).recording)
    assert timing.no_reply
    assert timing.ttfa_ms is None
    assert timing.first_sound_ms == pytest.approx(300, abs=5)


def test_an_agent_that_says_nothing() -> None:
    timing = measure(make_recording().recording)
    assert timing.no_reply
    assert timing.ttfa_ms is None
    assert timing.first_byte_ms is None
    assert timing.waterfall is None


def test_an_answer_that_begins_before_the_spoken_end_stays_negative() -> None:
    timing = measure(make_recording(Said(-0.35, voice(2.0))).recording)
    assert timing.ttfa_ms is None
    assert timing.signed_ms == pytest.approx(-350 + onset_ms(voice(2.0)), abs=2)
    assert timing.cut_in
    assert not timing.no_reply


def test_a_false_start_in_a_pause_is_counted_and_is_not_the_answer() -> None:
    made = make_recording(Said(-1.3, voice(1.0)), Said(0.5, voice(1.5, seed=1)), pauses_s=[(0.5, 0.6)], clears_s=[-0.85])
    timing = measure(made.recording)
    assert timing.ttfa_ms == pytest.approx(500 + onset_ms(voice(1.5, seed=1)), abs=2)
    assert timing.pause_was_cut == (True,)
    assert timing.pauses_cut == timing.pauses_marked == 1
    assert timing.pause_durations_ms == pytest.approx((600,))


def test_talking_over_the_caller_outside_pauses_is_a_cut_in() -> None:
    made = make_recording(Said(-1.7, voice(0.8)), Said(0.6, voice(1.5, seed=1)), pauses_s=[(1.2, 0.4)])
    timing = measure(made.recording)
    assert timing.cut_in
    assert timing.pauses_cut == 0
    assert timing.ttfa_ms == pytest.approx(600 + onset_ms(voice(1.5, seed=1)), abs=2)


@pytest.mark.parametrize(("at_s", "answered"), [(14.9, True), (15.1, False)])
def test_what_begins_after_15_s_is_no_answer(at_s: float, answered: bool) -> None:
    timing = measure(make_recording(Said(at_s, voice(1.0)), total_s=20).recording)
    assert timing.no_reply != answered
    assert (timing.ttfa_ms is not None) == answered
    assert timing.endpointing is not None
    assert (timing.endpointing.dead_air_ms is not None) == answered


@pytest.mark.parametrize("silence_s", [0.2, 1.0])
def test_silence_behind_the_caller_s_words_is_no_speech(silence_s: float) -> None:
    """The turn's end is where it was rendered to; the wait begins where its speech ends."""
    plain = make_recording(Said(1.5, voice(1.0))).recording
    turn = plain.caller.turns[0]
    longer = replace(turn, end_sample=turn.end_sample + round(silence_s * plain.caller.rate_hz))
    with_tail = replace(plain, caller=replace(plain.caller, turns=(longer,)))
    assert measure(with_tail).spoken_end_ms == measure(plain).spoken_end_ms
    assert measure(with_tail).ttfa_ms == measure(plain).ttfa_ms


@pytest.mark.parametrize("ends_with_the_call", [True, False])
def test_a_floor_that_never_rises_is_no_sound_however_long_the_silence_behind_it(ends_with_the_call: bool) -> None:
    seconds = 8.5 if ends_with_the_call else 5.0
    recording = make_recording(Said(-2.4, noise(seconds, -50.0)), total_s=8.0).recording
    assert measure(recording).first_sound_ms is None


@pytest.mark.parametrize("end", [99, 100])
def test_a_caller_who_said_nothing_has_no_turn(end: int) -> None:
    made = make_recording().recording
    mute = replace(made, caller=replace(made.caller, turns=(), speech_start_sample=100, speech_end_sample=end))
    assert measure_turns(mute) == ()
    with pytest.raises(ValueError, match="no caller turn"):
        measure(mute)


def test_the_figures_of_a_recording_are_those_of_its_last_turn() -> None:
    made = make_recording(Said(0.4, voice(0.8))).recording
    turn = made.caller.turns[-1]
    middle = (turn.start_sample + turn.end_sample) // 2
    two = replace(made, caller=replace(made.caller, turns=(replace(turn, end_sample=middle), turn)))
    first, last = measure_turns(two)
    assert first.spoken_end_ms < last.spoken_end_ms == measure(two).spoken_end_ms
