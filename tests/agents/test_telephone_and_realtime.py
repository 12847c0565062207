"""Twilio's Media Streams and OpenAI's Realtime protocol, against a stock pipecat bot, and peers held to the published types."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.connection import AudioChunk, Cleared, Closed, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import make
from harness.agents.connections.openai_live import LiveWire
from harness.agents.connections.openai_realtime import RealtimeWire
from harness.agents.connections.twilio import TwilioWire
from harness.agents.connections.wire import Garbage, PlayoutClock
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, load_profile
from harness.audio.pcm import resample
from tests.agents.conftest import logged
from tests.agents.printed import moves_no_cursor

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]

KEY = "sk-only-for-this-test"
WRONG_KEY = "sk-that-opens-nothing"


def at(rate_hz: int, pcm_16k: bytes) -> bytes:
    return resample(np.frombuffer(pcm_16k, "<i2"), 16_000, rate_hz).astype("<i2").tobytes()


def loud_ms(events: Sequence[Event]) -> float:
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    samples = np.frombuffer(b"".join(chunk.pcm for chunk in chunks), "<i2").astype(int)
    return float(np.count_nonzero(np.abs(samples) > 1_000)) * 1e3 / chunks[0].rate_hz


async def test_a_stock_bot_answers_the_telephone(peers: Path, start: StartPeer, call: Call, word: Path) -> None:
    profile = load_profile(peers / "stock-twilio-bot.toml")
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    assert line.capabilities.input_rate_hz == 8_000
    await line.open(())
    said, _ = soundfile.read(word, dtype="int16")
    sentence = np.concatenate([np.tile(said[1_500:8_200], 4), np.zeros(32_000, np.int16)])
    events = await call(line, at(8_000, sentence.astype("<i2").tobytes()), frame_bytes=320)
    assert {event.rate_hz for event in events if isinstance(event, AudioChunk)} == {8_000}
    assert loud_ms(events) > 300
    assert events[-1] == Closed(events[-1].arrival_ns)


@pytest.mark.alone
async def test_marks_come_back_when_played_or_cleared(peers: Path, start: StartPeer, call: Call, spoken: bytes) -> None:
    profile = load_profile(peers / "twilio-marks.toml")
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    await line.open(())
    quiet_then_loud = bytes(16_000 * 2 * 3 // 2) + spoken[: 640 * 20]
    events = await call(line, at(8_000, quiet_then_loud), frame_bytes=320)
    log = await logged(agent, "stopped")
    came_back = {name: int(ms) for name, ms in re.findall(r"mark (.+) (\d+)", log)}
    assert list(came_back) == ["nothing before", "greeted", "never heard"]
    assert came_back["nothing before"] < 500 <= came_back["greeted"]
    assert came_back["greeted"] + 20 >= 1_000
    assert came_back["greeted"] < came_back["never heard"] < came_back["greeted"] + 1_000
    assert "stopped" in log
    assert [type(event) for event in events if isinstance(event, AudioChunk | Cleared)] == [
        AudioChunk,
        AudioChunk,
        Cleared,
    ]


async def test_a_telephone_bot_takes_no_history(peers: Path) -> None:
    profile = load_profile(peers / "twilio-marks.toml")
    assert not profile.accepts_a_history
    with pytest.raises(ConnectionFailed) as caught:
        await make(profile.connection("ws://127.0.0.1:9/")).open([Message("user", "hi")])
    assert caught.value.kind == "no_history"


async def test_a_realtime_server_hears_and_is_heard(
    peers: Path, start: StartPeer, call: Call, spoken: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REALTIME_TEST_KEY", KEY)
    profile = load_profile(peers / "realtime-echo.toml")
    assert profile.family == "gpt"
    agent = await start(profile)
    spec = profile.connection(agent.url)
    assert KEY not in str(spec.to_json())
    line = make(spec)
    assert line.capabilities.accepts_history
    await line.open([Message("user", "I lost my job."), Message("assistant", "I am so sorry.")])
    log = await logged(agent, "history: assistant")
    assert "history: user {'type': 'input_text', 'text': 'I lost my job.'}" in log
    assert "history: assistant {'type': 'output_text'" in log
    over = spoken[: 640 * 20] + bytes(640 * 20) + spoken[: 640 * 20] + bytes(640 * 30)
    events = await call(line, at(24_000, over), frame_bytes=960)
    assert loud_ms(events) > 600
    assert [(event.role, event.text) for event in events if isinstance(event, Transcript)][:2] == [
        ("user", "my words"),
        ("assistant", "your words"),
    ]
    marks = [event for event in events if isinstance(event, Mark)]
    assert [mark.name.removeprefix("realtime.") for mark in marks[:5]] == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "response.created",
        "response.output_audio.delta",
    ]
    assert marks[0].detail["audio_start_ms"] == 0
    # The second words fall into the reply, which lasts 700 ms from about 700 ms on: it is cut and the server told where.
    assert len([event for event in events if isinstance(event, Cleared)]) == 1
    (heard_ms,) = re.findall(r"truncated at item_\d+ (\d+)", await logged(agent, "truncated at item"))
    assert 0 < int(heard_ms) < 700
    assert events[-1] == Closed(events[-1].arrival_ns)


async def test_a_wrong_key_is_refused_and_never_shown(peers: Path, start: StartPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REALTIME_TEST_KEY", KEY)
    profile = load_profile(peers / "realtime-echo.toml")
    agent = await start(profile)
    monkeypatch.setenv("REALTIME_TEST_KEY", WRONG_KEY)
    with pytest.raises(ConnectionFailed, match="401") as caught:
        await make(profile.connection(agent.url)).open(())
    assert WRONG_KEY not in str(caught.value)
    monkeypatch.delenv("REALTIME_TEST_KEY")
    with pytest.raises(ConnectionFailed, match="environment variable REALTIME_TEST_KEY is not set"):
        await make(profile.connection(agent.url)).open(())


def test_a_server_that_objects_before_the_call_is_quoted() -> None:
    wire = RealtimeWire({})
    wire.hello(())
    with pytest.raises(ConnectionFailed, match="no such voice"):
        wire.receive('{"type": "error", "error": {"message": "no such voice"}}', 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 50_000)), min_size=1, max_size=20))
def test_the_playout_clock_agrees_with_playing_sample_by_sample(pieces: list[tuple[int, int]]) -> None:
    clock, now_ns, end_ns = PlayoutClock(), 0, 0
    for gap_ns, samples in pieces:
        now_ns += gap_ns
        start_ns = max(now_ns, end_ns)
        end_ns = start_ns + round(samples * 1e9 / 8_000)
        clock.add(now_ns, samples, 8_000)
        assert clock.until_ns == end_ns
    clock.clear(now_ns)
    assert clock.until_ns <= max(now_ns, 0)


WORDS = st.sampled_from(
    ["event", "event", "media", "mark", "clear", "payload", "name", "streamSid", "type", "delta", "item", "error", "transcript",
     "response.output_audio.delta", "session.created", "session.updated", "input_audio_buffer.speech_started",
     "conversation.item.input_audio_transcription.completed", "session.started", "session.output_audio.delta",
     "session.output_transcript.delta", "session.delegation.created", "delegation", "response.event", "response.done", "output",
     "session.closed", "UAAAQA==", "UAA", "é"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=15,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([TwilioWire, lambda: RealtimeWire({}), lambda: LiveWire({})]),
    st.lists(st.binary(max_size=50) | JSON, max_size=6),
)
def test_anything_becomes_events_or_a_named_failure(make_wire: Callable[[], TwilioWire], messages: list[object]) -> None:
    wire = make_wire()
    stream = [json.loads(hello).get("streamSid") for hello in wire.hello(())][-1:]
    why = ""
    try:
        for count, message in enumerate(messages):
            if isinstance(message, dict) and stream:
                message["streamSid"] = stream[0]
            received = wire.receive(message if isinstance(message, bytes) else json.dumps(message), count)
            for event in received.events:
                assert not isinstance(event, AudioChunk) or len(event.pcm) % 2 == 0
            wire.audio(bytes(320), count)
    except (Garbage, ConnectionFailed) as error:
        why = str(error)
    assert moves_no_cursor(why)
