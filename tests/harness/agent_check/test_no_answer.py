"""Why a call brought no speech: nothing came, only silence, nothing though it heard, or sound at another rate than was said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pipecat
import pytest
import soundfile
from numpy.typing import NDArray

from benchmarks.made_recordings import T0_NS, Said, make_recording, noise
from harness.agent_check.no_answer import why_no_answer
from harness.agents.connection import Mark, Transcript
from harness.audio.pcm import resample
from harness.audio.vocal import silero
from harness.recording.record import Recording


def nothing() -> Recording:
    return make_recording().recording


def why(recording: Recording) -> str:
    said = why_no_answer(recording, silero())
    assert "\n" not in said
    return said


def test_nothing_and_only_silence_are_told_apart() -> None:
    assert why(nothing()).startswith("it is silent: no sound came within 15 s, and no sign that it heard the caller: check")
    assert "only silence came" in why(make_recording(Said(0.5, noise(1.0, -90.0))).recording)


def test_a_bot_that_heard_has_lost_its_voice() -> None:
    heard = Transcript(T0_NS + 10**9, "user", "hello can you hear me", True)
    said = why(replace(nothing(), transcripts=(heard,)))
    assert said.startswith('one-way audio: it heard the caller (it understood "hello can you hear me"), and no speech')
    told = Mark("rtvi.user-started-speaking", T0_NS + 10**9, T0_NS + 10**9)
    assert "it reported rtvi.user-started-speaking" in why(replace(nothing(), marks=(told,)))


@pytest.mark.parametrize(("sent_hz", "taken_hz"), [(48_000, 8_000), (24_000, 8_000), (8_000, 48_000), (16_000, 48_000)])
def test_speech_at_another_rate_than_was_said_is_found(sent_hz: int, taken_hz: int, sentence_16k: NDArray[np.int16]) -> None:
    recording = replace(nothing(), agent_pcm=resample(sentence_16k, 16_000, sent_hz), agent_rate_hz=taken_hz)
    said = why(recording)
    assert said.startswith(f"sound came, and no speech is in it at {taken_hz:,} Hz: ")
    assert "Hz it is speech, so check output_rate_hz" in said


def test_noise_is_no_speech_at_any_rate() -> None:
    said = why(make_recording(Said(0.5, noise(1.0, -20.0))).recording)
    assert "check output_rate_hz, and if it sends PCM16LE and no other encoding" in said


@pytest.fixture(scope="module")
def sentence_16k() -> NDArray[np.int16]:
    """Somebody who says one word over and over (a file that comes with pipecat)."""
    word, rate_hz = soundfile.read(Path(pipecat.__file__).parent / "services/aws/nova_sonic/ready.wav", dtype="int16")
    assert rate_hz == 16_000
    return np.tile(word[1_500:8_200], 6)
