"""Sound that the agent takes back before it could be understood: a figure of its own, and no answer."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import CALLER_HZ, Said, make_recording, onset_ms, pcm, silence, voice
from benchmarks.made_sounds import breath
from harness.recording.record import Recording, SpokenTurn
from harness.recording.withdrawn import SAID_MS, TAKEN_BACK_MS
from harness.timing import measure
from harness.timing.figures import TurnTiming

FALSE_START, ANSWER = voice(1.0), voice(1.0, seed=1)
ANSWER_MS = 4_290 + onset_ms(ANSWER)


def _taken_back_after(ms: float, *then: Said, at_s: float = 2.485) -> TurnTiming:
    """An agent that begins, and clears so long after its first sample was heard."""
    onset_s = at_s + onset_ms(FALSE_START) / 1000
    return measure(make_recording(Said(at_s, FALSE_START), *then, clears_s=[onset_s + ms / 1000]).recording)


def test_the_answer_is_what_came_after_sound_that_was_taken_back_in_150_ms() -> None:
    timing = _taken_back_after(150, Said(4.29, ANSWER))
    assert [u.kind for u in timing.utterances] == ["withdrawn", "answer"]
    assert timing.ttfa_ms == pytest.approx(ANSWER_MS, abs=2)
    assert timing.first_speech_ms == timing.ttfa_ms
    assert timing.endpointing is not None
    assert timing.endpointing.dead_air_ms == timing.ttfa_ms
    assert timing.withdrawn_ms == pytest.approx(150, abs=4)
    assert timing.discarded is None
    assert timing.waterfall is not None
    assert sum(s.duration_ms for s in timing.waterfall.stages) == pytest.approx(timing.ttfa_ms)


@pytest.mark.parametrize(("ms", "withdrawn"), [(SAID_MS - 12, True), (SAID_MS + 12, False)])
def test_what_is_longer_than_a_backchannel_was_said_though_it_was_taken_back(ms: float, withdrawn: bool) -> None:
    timing = _taken_back_after(ms, Said(4.29, ANSWER))
    assert (timing.withdrawn_ms is not None) == withdrawn
    assert timing.ttfa_ms == pytest.approx(ANSWER_MS if withdrawn else 2_485 + onset_ms(FALSE_START), abs=2)
    assert timing.answer_ms == pytest.approx(ANSWER_MS, abs=2)


@pytest.mark.parametrize("ms", [120, 190, 205, 300, 400, 500, 600, 690, 710, 800, 900])
def test_no_length_of_a_sound_that_is_taken_back_buys_an_answer(ms: int) -> None:
    """Under the bound of a backchannel it buys no TTFA either: 190 and 205 ms of a syllable are alike."""
    timing = _taken_back_after(ms, Said(4.29, ANSWER), at_s=0.3)
    assert timing.answer_ms == pytest.approx(ANSWER_MS, abs=2)
    assert timing.backchannels == 0
    assert [u.kind for u in timing.utterances] == ["withdrawn" if ms < SAID_MS else "filler", "answer"]


@pytest.mark.parametrize(("after_ms", "withdrawn"), [(TAKEN_BACK_MS - 12, True), (TAKEN_BACK_MS + 12, False)])
def test_a_clear_takes_back_only_what_still_sounds_or_is_under_way(after_ms: float, withdrawn: bool) -> None:
    """Spoken in full and over, "mm" stays said, whatever is cleared later."""
    short = voice(0.4)
    made = make_recording(Said(1.0, short), Said(4.29, ANSWER), clears_s=[1.4 + after_ms / 1000])
    assert (measure(made.recording).withdrawn_ms is not None) == withdrawn


def test_what_sounds_at_the_spoken_end_and_is_taken_back_is_no_early_reply_but_was_talk() -> None:
    timing = _taken_back_after(90, Said(0.8, ANSWER), at_s=-0.05)
    assert timing.signed_ms is None
    assert timing.ttfa_ms == pytest.approx(800 + onset_ms(ANSWER), abs=2)
    assert timing.cut_in
    assert timing.endpointing is not None
    assert timing.endpointing.talking_at_end


def test_a_breath_goes_with_the_word_that_is_taken_back() -> None:
    air = breath(0.35, -30, 24_000, np.random.default_rng(1))
    drawn = np.concatenate([air, silence(0.15), FALSE_START])
    word_s = 0.5 + onset_ms(FALSE_START) / 1000
    said = (Said(0.3, drawn), Said(4.29, ANSWER))
    timing = measure(make_recording(*said, clears_s=[0.3 + word_s + 0.15]).recording)
    assert [u.kind for u in timing.utterances] == ["withdrawn", "withdrawn", "answer"]
    assert timing.ttfa_ms == pytest.approx(ANSWER_MS, abs=2)
    whole = measure(make_recording(*said).recording)
    assert [u.kind for u in whole.utterances][:2] == ["breath", "answer"]


def test_what_is_taken_back_afterwards_makes_no_filler_of_a_short_answer() -> None:
    made = make_recording(Said(0.5, voice(0.5)), Said(2.0, FALSE_START), clears_s=[2.1])
    timing = measure(made.recording)
    assert [u.kind for u in timing.utterances] == ["answer", "withdrawn"]
    assert timing.first_speech_ms == timing.ttfa_ms
    assert timing.reply_end_ms is not None
    assert timing.reply_end_ms < 1_100


def _interrupted(recording: Recording, at_s: float, kind: str = "barge_in") -> Recording:
    caller = recording.caller
    start = caller.speech_end_sample + round(at_s * CALLER_HZ)
    speech = pcm(voice(0.4, seed=8) * 0.5)[: round(0.4 * CALLER_HZ)]
    dry = caller.dry.copy()
    dry[start : start + len(speech)] = speech
    turns = (*caller.turns, SpokenTurn(start, start + len(speech), (), kind, "cough"))  # type: ignore[arg-type]
    return replace(recording, caller=replace(caller, dry=dry, played=dry, turns=turns))


@pytest.mark.parametrize("kind", ["barge_in", "event"])
def test_what_is_taken_back_for_somebody_who_broke_in_was_an_answer(kind: str) -> None:
    made = make_recording(Said(1.0, FALSE_START), Said(4.29, ANSWER), clears_s=[1.15])
    timing = measure(_interrupted(made.recording, 1.08, kind))
    assert timing.withdrawn_ms is None
    assert timing.ttfa_ms == pytest.approx(1_000 + onset_ms(FALSE_START), abs=2)
    before = measure(_interrupted(made.recording, 0.6, kind))
    assert before.withdrawn_ms is not None
