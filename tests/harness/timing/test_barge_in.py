"""Yielding to an interruption, from what is heard and not from what the agent says."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import CALLER_HZ, Said, make_recording, pcm, voice
from harness.calibrate.voice import synthetic_voice
from harness.recording.record import Recording, SpokenTurn
from harness.timing import measure
from harness.timing.interruptions import ANSWERED, NOT_ANSWERED, NOT_SOUNDING


def interrupted(recording: Recording, at_s: float) -> Recording:
    """The same call with 0.4 s of caller speech that begins `at_s` after the spoken end."""
    caller = recording.caller
    start = caller.speech_end_sample + round(at_s * CALLER_HZ)
    speech = pcm(synthetic_voice(0.4, CALLER_HZ, np.random.default_rng(8)) * 0.08)
    dry = caller.dry.copy()
    dry[start : start + len(speech)] = speech
    turns = (*caller.turns, SpokenTurn(start, start + len(speech), (), "barge_in"))
    return replace(recording, caller=replace(caller, dry=dry, played=dry, turns=turns))


def test_an_agent_that_clears_its_buffer_yields_when_the_buffer_falls_silent() -> None:
    made = make_recording(Said(0.3, voice(4.0), 4_000), Said(2.6, voice(1.0, seed=2)), clears_s=[1.45])
    timing = measure(interrupted(made.recording, 1.2))
    assert timing.yield_ms == pytest.approx(250, abs=6)
    assert timing.labels == (ANSWERED,)
    assert timing.ttfa_ms == pytest.approx(300, abs=3)


def test_an_agent_that_talks_on_yields_only_when_it_has_finished() -> None:
    timing = measure(interrupted(make_recording(Said(0.3, voice(3.0))).recording, 1.2))
    assert timing.yield_ms == pytest.approx(2_100, abs=6)
    assert timing.labels == (NOT_ANSWERED,)


def test_a_short_quiet_is_a_yield_where_the_agent_took_its_speech_back() -> None:
    made = make_recording(Said(0.3, voice(4.0), 4_000), Said(1.8, voice(1.0, seed=2)), clears_s=[1.5])
    timing = measure(interrupted(made.recording, 1.2))
    assert timing.yield_ms == pytest.approx(300, abs=6)
    assert timing.labels == (ANSWERED,)


def test_an_interruption_of_silence_is_no_interruption() -> None:
    timing = measure(interrupted(make_recording(Said(0.3, voice(0.8))).recording, 2.0))
    assert timing.yield_ms is None
    assert timing.labels == (NOT_SOUNDING,)
