"""The reply of a turn, from recordings: murmurs, fillers and answers, with and without the words of the call."""

from dataclasses import replace

import pytest

from benchmarks.made_recordings import AGENT_HZ, Made, Said, make_recording, noise, onset_ms, voice
from harness.agents import marks
from harness.agents.connection import Mark
from harness.timing import measure, measure_turns
from harness.timing.figures import TurnTiming
from harness.timing.words import Word

ANSWER = voice(2.5, seed=1)


def _with_words(made: Made, *said: tuple[str, float, float]) -> TurnTiming:
    """The figures with texts that sound from and to seconds after the spoken end, their words spread evenly."""
    end_s = measure(made.recording).spoken_end_ms / 1000
    words: list[Word] = []
    for text, from_s, to_s in said:
        step = (to_s - from_s) / len(text.split())
        words += [(w, end_s + from_s + k * step, end_s + from_s + (k + 1) * step) for k, w in enumerate(text.split())]
    return measure_turns(made.recording, words=words)[-1]


def _alike(one: TurnTiming, other: TurnTiming) -> None:
    """All figures that a wait is judged by are the same; only the count of backchannels, and their sound, differ."""
    assert one.answer_ms == pytest.approx(other.answer_ms, abs=1)
    assert one.endpointing is not None
    assert other.endpointing is not None
    assert one.endpointing.dead_air_ms == pytest.approx(other.endpointing.dead_air_ms, abs=1)
    for name in ("ttfa_ms", "first_speech_ms", "reply_end_ms"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1), name
    for name in ("signed_ms", "cut_in", "no_reply", "pauses_cut", "withdrawn_ms", "discarded", "pause_was_cut"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("gap_s", [0.27, 0.347, 0.9])
@pytest.mark.parametrize(("length_s", "db", "pitch_hz"), [(0.2, -20, 120), (0.35, -20, 120), (0.35, -32, 220), (0.48, -12, 90)])
def test_the_murmur_twin_is_as_slow_as_its_twin(gap_s: float, length_s: float, db: float, pitch_hz: float) -> None:
    at_s = 0.3 + length_s + gap_s
    murmur = Said(0.3, voice(length_s, seed=4, db=db, pitch_hz=pitch_hz))
    plain, twin = (measure(make_recording(*said, Said(at_s, ANSWER)).recording) for said in ((), (murmur,)))
    assert plain.ttfa_ms == pytest.approx(at_s * 1000 + onset_ms(ANSWER), abs=2)
    assert (plain.backchannels, twin.backchannels) == (0, 1)
    assert [u.kind for u in twin.utterances] == ["backchannel", "answer"]
    _alike(plain, twin)


@pytest.mark.parametrize("db", [-58, -45, -36])
def test_nor_does_noise_under_all_of_it_join_murmur_and_answer(db: float) -> None:
    both = noise(5.0, db)
    alone = both.copy()
    murmur, at, answer_at = voice(0.35, seed=4), round(0.3 * AGENT_HZ), round(0.997 * AGENT_HZ)
    both[at : at + len(murmur)] += murmur
    for sound in (alone, both):
        sound[answer_at : answer_at + len(ANSWER)] += ANSWER
    plain, twin = (measure(make_recording(Said(0.0, sound)).recording) for sound in (alone, both))
    assert twin.backchannels == 1
    _alike(plain, twin)


def test_words_make_the_same_short_sound_an_opener_or_a_murmur() -> None:
    made = make_recording(Said(0.3, voice(0.3, seed=4)), Said(0.9, ANSWER))
    later = ("you could ask her about it", 0.9, 3.2)
    opener = _with_words(made, ("Oh.", 0.3, 0.6), later)
    murmur = _with_words(made, ("Mm-hmm.", 0.3, 0.6), later)
    assert opener.ttfa_ms == opener.answer_ms == pytest.approx(300 + onset_ms(voice(0.3, seed=4)), abs=2)
    assert opener.backchannels == 0
    assert murmur.ttfa_ms == murmur.answer_ms == pytest.approx(900 + onset_ms(ANSWER), abs=2)
    assert murmur.first_word_ms is not None
    assert murmur.ttfa_ms is not None
    assert murmur.first_word_ms >= murmur.ttfa_ms
    for timing in (opener, murmur):
        assert timing.waterfall is not None
        assert sum(s.duration_ms for s in timing.waterfall.stages) == pytest.approx(timing.ttfa_ms)


def test_a_filler_ends_the_wait_and_is_not_the_answer() -> None:
    """ "Okay." and, after a gap of 0.8 s, the answer; unknown words would make the same sound a backchannel."""
    made = make_recording(Said(0.7, voice(0.36)), Said(1.86, ANSWER))
    timing = _with_words(made, ("Okay.", 0.7, 1.06), ("you could ask her about it", 1.9, 4.0))
    assert timing.ttfa_ms == pytest.approx(700 + onset_ms(voice(0.36)), abs=2)
    assert timing.answer_ms == timing.first_speech_ms == pytest.approx(1_860 + onset_ms(ANSWER), abs=2)
    assert [u.kind for u in timing.utterances] == ["filler", "answer"]
    assert measure(made.recording).ttfa_ms == measure(made.recording).answer_ms == timing.answer_ms


def test_a_request_to_wait_is_a_filler_by_its_words_or_by_the_tool_behind_it() -> None:
    made = make_recording(Said(0.5, voice(1.5)), Said(4.5, ANSWER), total_s=9)
    by_words = _with_words(made, ("Let me think about that for a moment.", 0.5, 2.0), ("you could ask her", 4.5, 6.0))
    called = [Mark(name, made.ms(at), made.ms(at)) for name, at in ((marks.TOOL_CALLED, 1.0), (marks.TOOL_DONE, 4.2))]
    by_tool = measure(replace(made.recording, marks=tuple(called)))
    for timing in (by_words, by_tool):
        assert timing.ttfa_ms == pytest.approx(500 + onset_ms(voice(1.5)), abs=2)
        assert timing.answer_ms == pytest.approx(4_500 + onset_ms(ANSWER), abs=2)
    assert measure(made.recording).answer_ms == measure(made.recording).ttfa_ms
    assert _with_words(make_recording(Said(0.5, voice(1.5))), ("One moment please.", 0.5, 2.0)).answer_ms is None


@pytest.mark.parametrize("at_s", [-0.11, -0.05, -1.2])
def test_a_continuer_over_the_caller_is_no_cut_in_and_costs_the_answer_nothing(at_s: float) -> None:
    plain = measure(make_recording(Said(0.691, ANSWER)).recording)
    timing = measure(make_recording(Said(at_s, voice(0.4)), Said(0.691, ANSWER)).recording)
    assert timing.backchannels == 1
    assert timing.endpointing is not None
    assert not timing.endpointing.talking_at_end
    _alike(plain, timing)


def test_over_the_caller_words_of_substance_are_a_cut_in_however_short() -> None:
    made = make_recording(Said(-1.2, voice(0.5)), Said(0.691, ANSWER))
    assert not measure(made.recording).cut_in
    assert not _with_words(made, ("Uh-huh.", -1.2, -0.7)).cut_in
    assert _with_words(made, ("You should", -1.2, -0.7)).cut_in
    assert measure(make_recording(Said(-1.2, voice(0.75)), Said(0.691, ANSWER)).recording).cut_in
