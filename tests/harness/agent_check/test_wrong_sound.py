"""Why a call brought no speech: nothing came, only silence, nothing though it heard, or sound at another rate than was said."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Set
from dataclasses import replace
from pathlib import Path

import numpy as np
import pipecat
import pytest
import soundfile
from numpy.typing import NDArray
from websockets.asyncio.server import ServerConnection, serve

from benchmarks.made_recordings import T0_NS, Said, make_recording, noise
from harness.agent_check.wrong_sound import paced_rate_hz, why_no_answer
from harness.agents.connection import Mark, Transcript
from harness.agents.connections import ConnectionSpec, make
from harness.agents.connections.raw_pcm import RawPcmProfile
from harness.agents.connections.telnyx import TelnyxProfile
from harness.agents.connections.twilio import TwilioProfile
from harness.audio.pcm import resample
from harness.audio.vocal import silero
from harness.caller import CallerTurn, Limits, SessionPlan
from harness.caller.pacer import Pacer
from harness.caller.session import play_session
from harness.recording.record import Arrival, Recording


def nothing() -> Recording:
    return make_recording().recording


RAW, TWILIO, TELNYX = (profile.model_fields.keys() for profile in (RawPcmProfile, TwilioProfile, TelnyxProfile))


def why(recording: Recording, settings: Set[str] = RAW) -> str:
    said = why_no_answer(recording, silero(), settings)
    assert "\n" not in said
    return said


def test_nothing_and_only_silence_are_told_apart() -> None:
    assert why(nothing()).startswith("it is silent: no sound came within 15 s, and no sign that it heard the caller: check")
    assert why_no_answer(nothing(), silero(), usual="see its settings").endswith("; see its settings")
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
    assert "check output_rate_hz, and if the agent sends the encoding of this wire and no other" in said


@pytest.mark.parametrize(("settings", "named"), [(TWILIO, "the rate that the agent states"), (TELNYX, "reply_encoding")])
def test_advice_names_no_setting_that_the_kind_lacks(settings: Set[str], named: str, sentence_16k: NDArray[np.int16]) -> None:
    wrong = replace(nothing(), agent_pcm=resample(sentence_16k, 16_000, 48_000), agent_rate_hz=8_000)
    for recording in (wrong, make_recording(Said(0.5, noise(1.0, -20.0))).recording):
        said = why(recording, settings)
        assert f"check {named}" in said
        assert "output_rate_hz" not in said


QUOTA = Mark(
    "realtime.response.done", T0_NS, T0_NS, {"status": "failed", "status_details": {"error": {"message": "No quota."}}}
)
CALL = Mark("realtime.function_call.begun", T0_NS, T0_NS, {"call": "a"})
HEARD = Mark("realtime.input_audio_buffer.speech_started", T0_NS, T0_NS)


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ((HEARD, QUOTA), 'no reply: the server says "No quota"'),
        ((HEARD, CALL), "no reply: a function call, and nothing after it"),
        ((HEARD, CALL, QUOTA), 'no reply: the server says "No quota"'),
    ],
)
def test_the_server_s_own_reason_goes_before_any_guess(marks: tuple[Mark, ...], words: str) -> None:
    assert why(replace(nothing(), marks=marks)) == words
    noisy = replace(make_recording(Said(0.5, noise(1.0, -20.0))).recording, marks=marks)
    assert why(noisy) == words


def test_a_turn_that_was_found_begun_and_never_over_names_the_turn_detection() -> None:
    begun = replace(nothing(), marks=(HEARD,))
    assert "its turn detection did not fire on the caller's silence" in why(begun, frozenset({"turn_detection"}))
    assert why(begun).startswith("one-way audio"), "a kind without that setting"
    over = replace(HEARD, name="realtime.input_audio_buffer.speech_stopped", arrival_ns=T0_NS + 1)
    assert why(replace(nothing(), marks=(HEARD, over)), frozenset({"turn_detection"})).startswith("one-way audio")


def test_speech_in_the_caller_s_turn_alone_is_no_wrong_rate(sentence_16k: NDArray[np.int16]) -> None:
    spoke = replace(nothing(), agent_pcm=sentence_16k, agent_rate_hz=16_000)
    assert why_no_answer(spoke, silero(), spoke=True).startswith("it spoke into the caller's turn")


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("says nothing", "it is silent: no sound came"),
        ("sends silence", "it is silent: only silence came"),
        ("hears", 'one-way audio: it heard the caller (it understood "what you said"), and no speech came back'),
        ("speaks at 48 kHz", "sound came, and no speech is in it at 8,000 Hz: played at "),
    ],
)
async def test_what_a_real_bot_does_is_named(behaviour: str, words: str, sentence_16k: NDArray[np.int16]) -> None:
    async def session(socket: ServerConnection) -> None:
        await socket.recv()
        if behaviour == "sends silence":
            await socket.send(bytes(16_000))
        async for count, _ in aenumerate(socket):
            if count == 60 and behaviour == "hears":
                words = {"type": "transcript", "role": "user", "text": "what you said", "final": True}
                await socket.send(json.dumps(words))
            if count == 60 and behaviour == "speaks at 48 kHz":
                await socket.send(resample(sentence_16k, 16_000, 48_000).tobytes())

    tone = (6_000 * np.sin(2 * np.pi * 300 * np.arange(8_000) / 16_000)).astype(np.int16)
    async with serve(session, "127.0.0.1", 0) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        spec = ConnectionSpec("raw-pcm", f"ws://127.0.0.1:{port}/", {"output_rate_hz": 8_000})
        limits = Limits(quiet_s=0.5, no_reply_s=2.0, total_s=5.0)
        recording, outcome = await play_session(
            SessionPlan(spec, (CallerTurn(tone),), 16_000, limits=limits), make(spec), Pacer()
        )
    assert outcome.failure_kind is None, outcome
    assert why(recording).startswith(words)


async def aenumerate(messages: AsyncIterable[object]) -> AsyncIterator[tuple[int, object]]:
    count = 0
    async for message in messages:
        yield count, message
        count += 1


@pytest.fixture(scope="module")
def sentence_16k() -> NDArray[np.int16]:
    """Somebody who says one word over and over (a file that comes with pipecat)."""
    word, rate_hz = soundfile.read(Path(pipecat.__file__).parent / "services/aws/nova_sonic/ready.wav", dtype="int16")
    assert rate_hz == 16_000
    return np.tile(word[1_500:8_200], 6)


def sent(
    stated_hz: int, paced_hz: float, seconds: float = 3.0, piece_ms: int = 40, ahead: int = 0, jitter_ms: float = 4.0
) -> Recording:
    """Pieces of `piece_ms` by the clock of `paced_hz`, the first `ahead` of them at once."""
    rng = np.random.default_rng(2)
    size = round(paced_hz * piece_ms / 1_000)
    arrivals = [
        Arrival(T0_NS + round((max(0, k - ahead) * piece_ms + abs(rng.normal(0, jitter_ms))) * 1e6), k * size, size)
        for k in range(round(seconds * 1_000 / piece_ms))
    ]
    return replace(make_recording().recording, arrivals=tuple(arrivals), agent_rate_hz=stated_hz)


@pytest.mark.parametrize(("stated_hz", "paced_hz"), [(16_000, 24_000), (24_000, 16_000), (16_000, 8_000), (24_000, 22_050)])
@pytest.mark.parametrize("ahead", [0, 8])
def test_an_agent_that_speaks_by_another_clock_is_found(stated_hz: int, paced_hz: int, ahead: int) -> None:
    assert paced_rate_hz(sent(stated_hz, paced_hz, ahead=ahead)) == paced_hz


@pytest.mark.parametrize(
    "fair",
    [
        sent(24_000, 24_000),
        sent(24_000, 23_500),  # it sleeps a little too long after each piece
        sent(24_000, 48_000),  # twice the speed of speech
        sent(16_000, 27_000),  # as fast as it is made
        sent(24_000, 16_000, seconds=1.0),
        sent(24_000, 16_000, jitter_ms=250.0),
        make_recording().recording,
    ],
)
def test_one_that_sends_ahead_or_on_time_is_not_accused(fair: Recording) -> None:
    assert paced_rate_hz(fair) is None
