"""Twilio's Media Streams and OpenAI's Realtime protocol, against a stock pipecat bot, and peers held to the published types."""

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.connection import AudioChunk, Closed, ConnectionFailed, Event
from harness.agents.connections import make
from harness.agents.connections.openai_realtime import RealtimeWire
from harness.agents.connections.twilio import TwilioWire
from harness.agents.connections.wire import PlayoutClock
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, load_profile
from harness.audio.pcm import resample
from harness.timeline import NS_PER_MS
from tests.vendors.openai_realtime import TYPES

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]


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


def test_twilio_describes_its_sound_and_counts_its_messages() -> None:
    wire = TwilioWire()
    sent = (*wire.hello(()), *wire.audio(bytes(320), 0), *wire.goodbye())
    connected, start, *later = (json.loads(str(said)) for said in sent)
    assert connected == {"event": "connected", "protocol": "Call", "version": "1.0.0"}
    assert start["start"]["mediaFormat"] == {"encoding": "audio/x-mulaw", "sampleRate": 8_000, "channels": 1}
    media, stop = later
    assert [said["sequenceNumber"] for said in (start, media, stop)] == ["1", "2", "3"]
    assert (media["media"]["track"], stop["event"]) == ("inbound", "stop")
    assert base64.b64decode(media["media"]["payload"], validate=True) == bytes([0xFF]) * 160


def test_a_realtime_server_is_given_the_history_and_told_what_was_heard() -> None:
    wire = RealtimeWire({"type": "realtime"})
    wire.hello([Message("user", "I lost my job."), Message("assistant", "I am so sorry.")])

    def replies(kind: str, at_ms: int, **more: Any) -> list[dict[str, Any]]:
        received = wire.receive(json.dumps({"type": kind, "event_id": "e", **more}), at_ms * NS_PER_MS)
        return [TYPES.read(str(reply)) for reply in received.replies]

    assert [one["type"] for one in replies("session.created", 0)] == ["session.update"]
    past = [one["item"] for one in replies("session.updated", 0)]
    assert [part for item in past for part in item["content"]] == [
        {"type": "input_text", "text": "I lost my job."},
        {"type": "output_text", "text": "I am so sorry."},
    ]
    for item in past:
        assert not wire.ready
        assert replies("conversation.item.added", 0, item=item) == []
    assert wire.ready
    second = base64.b64encode(bytes(48_000)).decode()
    replies("response.output_audio.delta", 100, item_id="item_1", content_index=0, delta=second)
    (cut,) = replies("input_audio_buffer.speech_started", 500, audio_start_ms=0, item_id="item_2")
    assert (cut["type"], cut["item_id"], cut["audio_end_ms"]) == ("conversation.item.truncate", "item_1", 400)
    assert replies("input_audio_buffer.speech_started", 600, audio_start_ms=0, item_id="item_3") == []


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
