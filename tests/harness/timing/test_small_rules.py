"""Edges of small rules of timing: exactly on a bound, exactly at a beginning, and with nothing known."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import make_recording
from harness.calibrate.voice import synthetic_voice
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack, resample
from harness.timing.echo import without_echo
from harness.timing.endpointing import Overlaps, decision_for_the_end, judge_overlap
from harness.timing.figures import NO_REPLY_MS, Contention, EventTaken, TurnTiming
from harness.timing.interruptions import silent_from
from harness.timing.words import with_event_words, with_words


def track(*sounding_s: tuple[float, float], length_s: float = 4.0) -> HeardTrack:
    """Full scale between such times, and nothing elsewhere."""
    samples = np.zeros(round(length_s * HEARD_RATE_HZ), np.float32)
    for start, end in sounding_s:
        samples[round(start * HEARD_RATE_HZ) : round(end * HEARD_RATE_HZ)] = 1.0
    return HeardTrack(samples=samples, pieces=(), underruns=(), t0_ns=0)


def test_speech_ends_behind_its_last_audible_sample() -> None:
    at = HEARD_RATE_HZ
    assert silent_from(track((1.0, 1.5), (2.5, 3.0)), at, ()) == round(1.5 * HEARD_RATE_HZ)
    assert silent_from(track((1.0, 1.5), (1.8, 3.0)), at, ()) == 3 * HEARD_RATE_HZ, "300 ms are a pause inside it"
    assert silent_from(track((1.0, 1.5), (1.8, 3.0)), at, (round(1.6 * HEARD_RATE_HZ),)) == round(1.5 * HEARD_RATE_HZ)
    assert silent_from(track((0.0, 0.5)), at, ()) == at


def test_a_decision_counts_from_the_instant_on_up_to_the_reply() -> None:
    assert decision_for_the_end([0.0], 0.0, None) == 0.0
    assert decision_for_the_end([-1.0], 0.0, None) is None
    assert decision_for_the_end([300.0], 0.0, 300.0) is None
    assert decision_for_the_end([NO_REPLY_MS], 0.0, None) is None


def test_a_turn_of_which_nothing_is_known_was_waited_for_by_its_first_sound_for_no_time() -> None:
    assert TurnTiming("m", 0.0, None).first_figure == ("ttfa", 0.0)
    assert TurnTiming("m", 0.0, None, no_reply=True).first_figure == ("ttfa", NO_REPLY_MS)
    assert TurnTiming("m", 0.0, None, ttft_ms=70.0).first_figure == ("ttft", 70.0)
    assert TurnTiming("m", 0.0, None).pauses_marked == 0


def test_an_echo_is_found_beside_a_reply_that_is_far_louder() -> None:
    caller = make_recording().recording.caller
    said = np.concatenate([caller.played] * 2)
    echo = resample(said, caller.rate_hz) * np.float32(0.03)
    reply = np.zeros_like(echo)
    begin = HEARD_RATE_HZ * caller.speech_end_sample // caller.rate_hz + HEARD_RATE_HZ // 2
    reply[begin : begin + 3 * HEARD_RATE_HZ] = np.random.default_rng(2).normal(0, 0.1, 3 * HEARD_RATE_HZ)
    left = without_echo(replace(track(length_s=1.0), samples=echo + reply), replace(caller, dry=said, played=said)) - reply
    assert np.std(left) < 0.1 * np.std(echo)


def test_the_echo_of_a_voice_that_ends_at_its_loudest_leaves_nothing_behind() -> None:
    caller = make_recording().recording.caller
    for seed in range(8):
        rising = np.linspace(0.2, 1.0, 2 * caller.rate_hz) ** 2
        voice = synthetic_voice(2.0, caller.rate_hz, np.random.default_rng(seed))[: len(rising)] * rising
        said = np.round(voice * 2_000).astype(np.int16)
        echo = np.pad(resample(said, caller.rate_hz) * np.float32(0.03), (round(0.12 * HEARD_RATE_HZ), HEARD_RATE_HZ))
        left = without_echo(replace(track(length_s=1.0), samples=echo), replace(caller, dry=said, played=said))
        last = slice(-HEARD_RATE_HZ - round(0.05 * HEARD_RATE_HZ), None)
        assert np.std(left[last]) < 0.01 * np.std(echo[last]), seed


def test_where_the_agent_is_silent_there_is_no_echo_to_take_away() -> None:
    caller = make_recording().recording.caller
    quiet = track(length_s=8.0)
    assert np.array_equal(without_echo(quiet, caller), quiet.samples)


@pytest.mark.parametrize("words", [[], [("oh", 1.0, 1.2)]])
def test_a_reply_without_substance_has_none(words: list[tuple[str, float, float]]) -> None:
    timing = TurnTiming("m", 500.0, 300.0, first_substance_ms=1.0)
    assert with_words(timing, words).first_substance_ms is None


def test_twenty_milliseconds_over_the_caller_are_a_cut_in_and_less_is_none() -> None:
    speech, pause = (0.0, 2_000.0), (800.0, 1_000.0)
    assert judge_overlap([(1_980.0, 2_500.0)], speech, [pause]) == Overlaps((False,), True)
    assert judge_overlap([(1_980.1, 2_500.0)], speech, [pause]) == Overlaps((False,), False)
    assert judge_overlap([(1_299.0, 1_310.0)], speech, [pause]) == Overlaps((True,), False), "300 ms of grace, then 10 ms"


def test_an_older_run_owes_by_the_smaller_of_what_others_ran_and_the_agent_waited() -> None:
    kept = TurnTiming("m", 0.0, 300.0)
    waited, unknown = (Contention(0.2, waited, 0.1, None, None) for waited in (0.05, None))
    assert replace(kept, contention=waited).owed_ms("ttfa") == pytest.approx(0.15 * 1_500)
    assert replace(kept, contention=unknown).owed_ms("ttfa") == pytest.approx(0.3 * 1_500)
    assert kept.owed_ms("ttfa") is None


def test_a_reply_that_had_come_to_its_end_lost_no_word() -> None:
    stopped = EventTaken("m", "cough", 1_000.0, "stopped", stop_ms=200.0)
    heard = [(word, 0.2 * k, 0.2 * k + 0.1) for k, word in enumerate(["that", "sounds", "hard", "tell", "me", "more"])]
    timing = TurnTiming("m", 0.0, 300.0, event=stopped)
    ended = with_event_words(timing, heard, "That sounds hard. Tell me more.").event
    assert ended == EventTaken("m", "cough", 1_000.0, "ended", lost_words=0)
    two_missing = with_event_words(timing, heard[:-2], "That sounds hard. Tell me more.").event
    assert two_missing == EventTaken("m", "cough", 1_000.0, "ended", lost_words=0), "a transcriber misses two words by itself"
    cut = with_event_words(timing, heard[:-3], "That sounds hard. Tell me more.").event
    assert cut == EventTaken("m", "cough", 1_000.0, "stopped", stop_ms=200.0, lost_words=3)
