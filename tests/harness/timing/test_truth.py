"""The analyser's promises, over everything that makes an onset hard to see (the benchmark runs the same suite longer)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import soxr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.made_recordings import (
    AGENT_HZ,
    CALLER_HZ,
    LEAD_S,
    Said,
    make_recording,
    onset_ms,
    silence,
    voice,
)
from benchmarks.made_sounds import music
from benchmarks.truth_suite import Trial, figures, run_suite
from harness.calibrate.voice import coloured_noise
from harness.recording.playout import heard
from harness.timeline import samples_to_ns
from harness.timing import measure
from harness.timing.echo import without_echo


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    return list(run_suite(6, seed=2))


@pytest.mark.long  # `test_same_method` has the error of each condition's first replies
@pytest.mark.parametrize(("group", "p95_ms"), [("clean", 2), ("degraded", 5), ("hard", 20)])
def test_the_error_is_as_small_as_promised(trials: list[Trial], group: str, p95_ms: float) -> None:
    found = figures([t for t in trials if t.condition.group == group])
    assert found.p95_ms <= p95_ms
    assert found.missed == 0
    if group == "clean":
        assert abs(found.bias_ms) <= 1


@pytest.mark.long
def test_little_is_discarded(trials: list[Trial]) -> None:
    assert figures(trials).discarded <= 0.02


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: coloured_noise(30 * AGENT_HZ, -50, rng, "pink"),
        lambda rng: coloured_noise(30 * AGENT_HZ, -45, rng),
        lambda rng: music(30, -40, AGENT_HZ, rng),
        lambda rng: music(30, -45, AGENT_HZ, rng, note_s=0.2),
    ],
    ids=["pink comfort noise", "white comfort noise", "music on hold", "lively music"],
)
def test_what_is_no_voice_is_no_answer(make: Callable[[np.random.Generator], NDArray[np.float64]]) -> None:
    sound = make(np.random.default_rng(4))
    timing = measure(make_recording(Said(0.2, sound), total_s=34).recording)
    assert timing.no_reply
    assert timing.discarded is None
    assert timing.first_sound_ms is not None


@pytest.mark.parametrize("through", [np.array([1.0]), np.array([0.6, 0.3, 0.1])], ids=["plain", "filtered"])
def test_the_caller_s_echo_is_no_answer_and_hides_none(through: NDArray[np.float64]) -> None:
    made = make_recording(speech_s=3.0, pauses_s=[(1.0, 0.5)])
    begin = round(LEAD_S * CALLER_HZ)
    said = made.recording.caller.dry[begin : begin + 3 * CALLER_HZ].astype(np.float64) / 32768
    echo = np.convolve(soxr.resample(said, CALLER_HZ, AGENT_HZ), through) * 10 ** (-30 / 20)
    sound = np.concatenate([echo, silence(0.8)])
    answered = np.concatenate([sound, voice(1.5)])
    alone = measure(make_recording(Said(-2.85, sound), speech_s=3.0, pauses_s=[(1.0, 0.5)]).recording)
    assert alone.no_reply
    assert not alone.cut_in
    assert alone.pauses_cut == 0
    both = measure(make_recording(Said(-2.85, answered), speech_s=3.0, pauses_s=[(1.0, 0.5)]).recording)
    assert both.ttfa_ms == pytest.approx(-2850 + len(sound) / AGENT_HZ * 1000 + onset_ms(voice(1.5)), abs=2)


def test_an_echo_in_messages_that_come_late_is_no_answer() -> None:
    begin = round(LEAD_S * CALLER_HZ)
    said = make_recording(speech_s=3.0).recording.caller.dry[begin : begin + 3 * CALLER_HZ].astype(np.float64) / 32768
    sound = np.concatenate([soxr.resample(said, CALLER_HZ, AGENT_HZ) * 10 ** (-30 / 20), silence(0.8), voice(1.5)])
    sent = make_recording(Said(-2.85, sound, 20), speech_s=3.0).recording
    late_ns = np.random.default_rng(1).integers(0, 15_000_000, len(sent.arrivals))
    first_ns = sent.arrivals[0].arrival_ns
    arrivals = tuple(
        replace(a, arrival_ns=first_ns + samples_to_ns(a.offset_samples, AGENT_HZ) + int(late))
        for a, late in zip(sent.arrivals, late_ns, strict=True)
    )
    timing = measure(replace(sent, arrivals=arrivals))
    assert not timing.cut_in
    assert timing.ttfa_ms == pytest.approx(-2850 + len(sound) / AGENT_HZ * 1000 - 1500 + onset_ms(voice(1.5)), abs=20)


def test_a_track_without_echo_is_left_exactly_as_it_is() -> None:
    recording = make_recording(Said(-0.5, voice(2.0))).recording
    track = heard(recording)
    assert without_echo(track, recording.caller) is track.samples


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(delay_ms=st.integers(20, 3_000), message_ms=st.sampled_from([10, 20, 40, 100, 400]), lead_ms=st.integers(0, 300))
def test_a_later_answer_is_later_by_exactly_as_much(delay_ms: int, message_ms: int, lead_ms: int) -> None:
    sound = np.concatenate([silence(lead_ms / 1000), voice(0.8, seed=5)])
    timing = measure(make_recording(Said(delay_ms / 1000, sound, message_ms)).recording)
    assert timing.ttfa_ms == pytest.approx(delay_ms + onset_ms(sound), abs=1.0)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(db=st.floats(-45, -12))
def test_how_loud_the_answer_is_moves_nothing(db: float) -> None:
    timing = measure(make_recording(Said(0.5, voice(0.8, seed=5, db=db))).recording)
    assert timing.ttfa_ms == pytest.approx(500 + onset_ms(voice(0.8, seed=5)), abs=1.5)
