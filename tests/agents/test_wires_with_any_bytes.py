"""Whatever an agent sends, a wire answers with events or by name, and a session ends in exactly one `Closed`."""

import asyncio
import base64
import json
import math
from collections.abc import Callable, Sequence

import pipecat.frames.protobufs.frames_pb2 as protobuf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve

from harness.agents.connection import NO_TIME_NS, AudioChunk, Closed, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import ConnectionSpec, make
from harness.agents.connections.deepgram_agent import DeepgramWire
from harness.agents.connections.described_table import WireTable
from harness.agents.connections.described_wire import DescribedWire
from harness.agents.connections.elevenlabs import ElevenLabsWire
from harness.agents.connections.gemini_live import GeminiLiveWire
from harness.agents.connections.openai_live import LiveWire
from harness.agents.connections.openai_realtime import RealtimeWire
from harness.agents.connections.pipecat_eval import PipecatEvalWire
from harness.agents.connections.pipecat_ws import PipecatWire
from harness.agents.connections.raw_pcm import RawPcmWire
from harness.agents.connections.ultravox import UltravoxWire
from harness.agents.connections.vapi import VapiWire
from harness.agents.connections.wire import Garbage, Wire
from harness.agents.message import Message
from tests.agents.printed import moves_no_cursor
from tests.agents.test_carriers import WIRES as CARRIERS

TEXT = st.text(st.characters(exclude_categories=()))
"""With halves of surrogate pairs, which JSON can spell and UTF-8 cannot."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "label": st.just("rtvi-ai") | JSON,
        "id": st.sampled_from(["history", "client-ready"]) | JSON,
        "type": st.sampled_from(
            ["start", "ready", "clear", "transcript", "mark", "bot-ready", "server-message", "server-response",
             "error-response", "user-transcription", "bot-tts-text", "metrics", "eval-bot-audio", "bot-stopped-speaking"]
        ) | JSON,
        "sample_rate": st.integers() | JSON,
        "role": st.sampled_from(["user", "assistant"]) | JSON,
        "text": TEXT | JSON,
        "final": JSON,
        "audio": st.binary(max_size=40).map(lambda pcm: base64.b64encode(pcm).decode()) | JSON,
        "sampleRate": st.sampled_from([16_000, 24_000]) | JSON,
        "name": TEXT | JSON,
        "at_ns": st.integers() | JSON,
        "detail": JSON,
    },
)  # fmt: skip
MESSAGES = (FIELDS | st.builds(lambda m, d: {**m, "data": d}, FIELDS, FIELDS) | JSON).map(json.dumps)
NEARLY_JSON = st.text() | MESSAGES | MESSAGES.map(lambda text: text[: len(text) // 2]) | st.just("[" * 100_000)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A pipecat frame with anything in it."""
    frame = protobuf.Frame()
    match draw(st.sampled_from(["text", "audio", "transcription", "message", "interruption"])):
        case "text":
            frame.text.text = draw(st.text().filter(_is_utf8))
        case "audio":
            frame.audio.audio = draw(st.binary(max_size=100))
            frame.audio.sample_rate = draw(st.integers(0, 2**32 - 1) | st.sampled_from([16_000, 24_000]))
            frame.audio.num_channels = draw(st.integers(0, 3))
        case "transcription":
            frame.transcription.text = draw(st.text().filter(_is_utf8))
        case "message":
            frame.message.data = draw(NEARLY_JSON.filter(_is_utf8))
        case "interruption":
            frame.interruption.id = 1
    return bytes(frame.SerializeToString())


def _is_utf8(text: str) -> bool:
    return not any(0xD800 <= ord(c) < 0xE000 for c in text)


ANYTHING = st.binary(max_size=200) | frames() | NEARLY_JSON


def fed(wire: Wire, messages: Sequence[str | bytes], frame: bytes = b"") -> list[Event]:
    """What a wire makes of messages until it gives up, with a frame of the caller's after each."""
    events: list[Event] = []
    why = ""
    try:
        for count, message in enumerate(messages):
            events += wire.receive(message, count).events
            if frame:
                wire.audio(frame, count)
        if frame:
            wire.goodbye()
    except (Garbage, ConnectionFailed) as error:
        why = str(error)
    assert moves_no_cursor(why)
    return events


def can_be_kept(events: Sequence[Event]) -> None:
    """Every later writer can take these: whole samples, plausible rates, text that is text, times that fit a column."""
    for event in events:
        match event:
            case AudioChunk():
                assert len(event.pcm) % 2 == 0
                assert event.pcm
                assert 4_000 <= event.rate_hz <= 192_000
            case Transcript():
                event.text.encode()
            case Mark():
                event.name.encode()
                assert event.at_ns == NO_TIME_NS or 0 <= event.at_ns < 2**63
                written = json.dumps(dict(event.detail), allow_nan=False)
                assert not math.isnan(len(written))


@settings(max_examples=150, deadline=None)
@example(["\xa0"], False)
@given(st.lists(ANYTHING, max_size=8), st.booleans())
def test_raw_pcm_takes_anything(messages: list[str | bytes], accepts: bool) -> None:
    wire = RawPcmWire(accepts_history=accepts)
    wire.hello(())
    can_be_kept(fed(wire, messages))


@settings(max_examples=150, deadline=None)
@given(st.lists(ANYTHING, max_size=8), st.booleans(), st.booleans())
def test_pipecat_takes_anything(messages: list[str | bytes], accepts: bool, rtvi: bool) -> None:
    wire = PipecatWire(accepts_history=accepts and rtvi, rtvi=rtvi)
    wire.hello([Message("user", "hi")] if accepts and rtvi else ())
    can_be_kept(fed(wire, messages))


@settings(max_examples=150, deadline=None)
@given(st.lists(ANYTHING, max_size=8), st.booleans())
def test_pipecat_s_evaluation_wire_takes_anything(messages: list[str | bytes], history: bool) -> None:
    wire = PipecatEvalWire()
    wire.hello([Message("user", "hi")] if history else ())
    can_be_kept(fed(wire, messages))


NAMED = st.sampled_from(
    ["setupComplete", "serverContent", "modelTurn", "parts", "inlineData", "mimeType", "data", "inputTranscription", "text",
     "turnComplete", "toolCall", "functionCalls", "voiceActivity", "usageMetadata", "type", "audio_event", "audio_base_64",
     "event_id", "ping_event", "client_tool_call", "conversation_initiation_metadata_event", "agent_output_audio_format",
     "user_input_audio_format", "error_event", "user_transcription_event", "user_transcript", "interruption_event",
     "role", "content", "functions", "client_side", "id", "name", "state", "delta", "final", "transcript", "status", "message",
     "ttt_text_latency", "endedReason", "mcp_tool_call", "arrival_ns"]
)  # fmt: skip
VALUES = st.sampled_from(
    ["audio", "ping", "error", "interruption", "user_transcript", "client_tool_call", "conversation_initiation_metadata",
     "audio/pcm;rate=24000", "audio/pcm;rate=1", "pcm_16000", "ulaw_8000", "AAAA", "AAA=", "ACTIVITY_END", True, 3,
     "ConversationText", "FunctionCallRequest", "FunctionCallResponse", "LatencyReport", "Error", "Warning", "AgentAudioDone",
     "UserStartedSpeaking", "SettingsApplied", "state", "speaking", "thinking", "transcript", "agent", "user", "assistant",
     "client_tool_invocation", "playback_clear_buffer", "debug", "speech-update", "stopped", "status-update", "ended"]
)  # fmt: skip
OF_VENDORS = st.recursive(
    VALUES | JSON,
    lambda inner: st.dictionaries(NAMED, inner, max_size=5) | st.lists(inner, max_size=3),
    max_leaves=16,
).map(json.dumps)


@settings(max_examples=150, deadline=None)
@example([json.dumps({"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "A"}}]}}})])
@example(
    [
        json.dumps({"usageMetadata": {"name": 1, "arrival_ns": 1}}),
        json.dumps({"type": "mcp_tool_call", "mcp_tool_call": {"state": []}}),
    ]
)
@given(st.lists(OF_VENDORS | NEARLY_JSON | st.binary(max_size=100), max_size=8))
def test_vendors_wires_take_anything(messages: list[str | bytes]) -> None:
    called = ({"name": "look_up", "answer": "It rains."},)
    for wire in (
        GeminiLiveWire({}, 16_000, True, ()),
        ElevenLabsWire({}, 16_000),
        DeepgramWire({}, called),
        UltravoxWire({}, called),
        VapiWire({}),
    ):
        wire.hello(())
        can_be_kept(fed(wire, messages))


WORDS = st.sampled_from(
    ["event", "event", "media", "mark", "clear", "payload", "name", "streamSid", "action", "notify", "playAudio", "checkpoint",
     "clearAudio", "sendDTMF", "contentType", "sampleRate", "audio/x-l16", "UAAAQA==", "UAA", "é", "type", "delta", "item",
     "error", "transcript", "response.output_audio.delta", "session.created", "session.updated",
     "input_audio_buffer.speech_started", "conversation.item.input_audio_transcription.completed", "session.started",
     "session.output_audio.delta", "session.output_transcript.delta", "session.delegation.created", "delegation",
     "response.event", "response.done", "output", "session.closed"]
)  # fmt: skip
OF_CARRIERS = st.recursive(
    st.none() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=15,
)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from([*CARRIERS.values(), lambda: RealtimeWire({}), lambda: LiveWire({})]),
    st.lists(st.binary(max_size=50) | OF_CARRIERS, max_size=6),
)
def test_telephones_and_realtime_take_anything(make_wire: Callable[[], Wire], messages: list[object]) -> None:
    wire = make_wire()
    stream = [json.loads(hello).get("streamSid") for hello in wire.hello(()) if isinstance(hello, str)][-1:]
    for message in messages:
        if isinstance(message, dict) and stream:
            message["streamSid"] = stream[0]
    frame = bytes(wire.capabilities.input_rate_hz // 50 * 2)
    can_be_kept(fed(wire, [message if isinstance(message, bytes) else json.dumps(message) for message in messages], frame))


TABLE = WireTable.model_validate(
    {
        "ready": {"type": "ready"},
        "speaks": {"match": {"type": "eval-bot-audio"}, "at": "data.audio", "rate_at": "data.sampleRate"},
        "clears": {"type": "clear"},
        "signs": {"words": {"type": "bot-tts-text"}, "done": {"type": "bot-stopped-speaking"}},
        "transcripts": [
            {"match": {"type": "bot-tts-text"}, "role": "assistant", "text": "data.text", "pieces": True},
            {"match": {"role": "user"}, "role": "user", "text": "text", "final": False},
        ],
        "errors": [{"match": {"type": "error-response"}, "words": ["text", "data.text"]}],
        "answers": [{"match": {"type": "mark"}, "message": '{"name": "{message.name}", "all": "{message.detail}"}'}],
    }
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ANYTHING, max_size=8), st.booleans())
def test_a_described_wire_takes_anything(messages: list[str | bytes], binary: bool) -> None:
    speaks = TABLE.speaks.model_copy(update={"at": None, "match": ()} if binary else {})
    wire = DescribedWire(TABLE.model_copy(update={"speaks": speaks}), 16_000, 24_000)
    wire.hello(())
    can_be_kept(fed(wire, messages))
    assert moves_no_cursor(wire.waits_for)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["raw-pcm", "pipecat"]), st.lists(ANYTHING, max_size=5))
def test_a_session_over_a_socket_ends_in_exactly_one_closed(kind: str, messages: list[str | bytes]) -> None:
    async def session() -> list[Event]:
        async def agent(socket: ServerConnection) -> None:
            for message in messages:
                if isinstance(message, bytes) or _is_utf8(message):
                    await socket.send(message)

        async with serve(agent, "127.0.0.1", 0) as server:
            url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            line = make(ConnectionSpec(kind, url, {"rtvi": False}))
            try:
                await line.open(())
            except ConnectionFailed:
                return [event async for event in line.events()]
            events = [event async for event in line.events()]
            await line.close()
            return events

    events = asyncio.run(session())
    assert [isinstance(event, Closed) for event in events] == [False] * (len(events) - 1) + [True]
    end = events[-1]
    assert isinstance(end, Closed)
    assert (end.error is None) == (end.kind is None)
    can_be_kept(events)
