"""What an agent says beside its sound, over real sockets: errors, words for somebody else, its goodbye, and no RTVI at all."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.server import ServerConnection, serve

from harness.agents.connection import (
    CLOSED_WITH,
    FELL_BACK,
    IGNORED,
    ODD_SOUND,
    AudioChunk,
    Closed,
    Connection,
    ConnectionFailed,
    Event,
    Mark,
)
from harness.agents.connections import ConnectionSpec, make
from harness.agents.connections.access import Access
from harness.agents.connections.inbox import Limits
from harness.agents.connections.raw_pcm import RawPcmWire
from harness.agents.connections.websocket import WebSocketConnection
from harness.agents.connections.wire import Outgoing
from harness.agents.message import Message
from harness.agents.reported_errors import error_said
from harness.calibrate.voice import synthetic_voice
from harness.store.selection import is_agents_fault
from tests.agents.test_reply_signs import BEGINS, READY, SESSION, event, in_frame, in_json

Session = Callable[[ServerConnection], Awaitable[None]]


@asynccontextmanager
async def agent(session: Session) -> AsyncIterator[int]:
    async with serve(session, "127.0.0.1", 0) as listening:
        yield next(iter(listening.sockets)).getsockname()[1]


def says(*messages: str | bytes, code: int = 1000, reason: str = "", stays: bool = False) -> Session:
    async def session(socket: ServerConnection) -> None:
        for message in messages:
            await socket.send(message)
        if stays:
            await socket.wait_closed()
        await socket.close(code, reason)

    return session


async def events_of(line: Connection, history: Sequence[Message] = ()) -> list[Event]:
    await line.open(history)
    async with asyncio.timeout(20):
        found = [one async for one in line.events()]
    await line.close()
    return found


async def call(kind: str, session: Session, **options: Any) -> list[Event]:
    async with agent(session) as port:
        return await events_of(make(ConnectionSpec(kind, f"ws://127.0.0.1:{port}/", options)))


def named(events: Sequence[Event], name: str) -> list[Mark]:
    return [one for one in events if isinstance(one, Mark) and one.name == name]


def ended(events: Sequence[Event]) -> Closed:
    assert isinstance(events[-1], Closed)
    return events[-1]


def failed_response(status: str, **details: Any) -> str:
    response = {"id": "r", "object": "realtime.response", "status": status, "status_details": {"type": status, **details}}
    return event("response.done", response={**response, "output": []})


def rtvi_error(words: str, kind: str = "error") -> dict[str, Any]:
    return {"label": "rtvi-ai", "type": kind, "id": "7", "data": {"error": words, "fatal": True}}


QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("kind", "said", "words"),
    [
        ("openai-realtime", [BEGINS, failed_response("failed", error={"message": QUOTA, "code": "no_quota"})], QUOTA[:-1]),
        ("openai-realtime", [failed_response("failed", error={"code": "insufficient_quota"})], "insufficient_quota"),
        ("openai-realtime", [failed_response("incomplete", reason="content_filter")], "its content filter cut"),
        ("openai-realtime", [event("error", error={"type": "server_error", "message": "It is gone"})], "It is gone"),
        ("openai-realtime", [event("conversation.item.input_audio_transcription.failed", item_id="i", content_index=0,
                                   error={"message": "no such transcriber"})], "no such transcriber"),
        ("pipecat", [in_frame(READY), in_frame(rtvi_error("LLM: 429 quota"))], "LLM: 429 quota"),
        ("pipecat", [in_frame(READY), in_frame(rtvi_error("unsupported", "error-response"))], "unsupported"),
        ("pipecat-eval", [in_json(READY), in_json(rtvi_error("TTS: no credits"))], "TTS: no credits"),
        ("raw-pcm", [json.dumps({"type": "error", "message": "no model is loaded"})], "no model is loaded"),
        ("twilio", [], "the agent is out of minutes"),
    ],
)  # fmt: skip
async def test_an_error_of_the_server_is_a_mark_with_its_words(kind: str, said: list[str | bytes], words: str) -> None:
    first = SESSION if kind == "openai-realtime" else []
    # The one that says nothing gives the reason in its goodbye.
    events = await call(kind, says(*first, *said, reason="" if said else words))
    found = [text for one in events if isinstance(one, Mark) and (text := error_said(one))]
    assert len(found) == 1
    assert found[0].startswith(words)


async def test_no_error_is_read_out_of_what_is_none() -> None:
    done = event("response.done", response={"id": "r", "object": "realtime.response", "status": "completed", "output": []})
    cancelled = failed_response("cancelled", reason="turn_detected")
    events = await call("openai-realtime", says(*SESSION, BEGINS, done, cancelled))
    assert not [one for one in events if isinstance(one, Mark) and error_said(one)]


def voice(seconds: float, rate_hz: int, pitch_hz: float = 140.0) -> NDArray[np.int16]:
    sound = synthetic_voice(seconds, rate_hz, np.random.default_rng(5), pitch_hz) * 0.1 * 32_767
    return sound.astype(np.int16)


SOUND = voice(0.3, 16_000).tobytes()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raw-pcm", ["pong"]),
        ("raw-pcm", ["[1, 2]", "3", '"hello"', "null", "", "{not json"]),
        ("raw-pcm", ['{"no": "type"}', '{"type": 4}']),
        ("raw-pcm", [b""]),
        ("twilio", ["pong", '{"type": "ping"}']),
        ("vonage", ["pong", '{"event": "x"}']),
        ("pipecat", ["pong"]),
    ],
)
async def test_words_for_somebody_else_end_no_call(kind: str, words: list[str | bytes]) -> None:
    ready = [in_frame(READY)] if kind == "pipecat" else []
    events = await call(kind, says(*ready, *words, reason="bye"))
    assert ended(events).kind in (None, "closed_early")
    noted = named(events, IGNORED)
    assert len(noted) == sum(word != b"" for word in words)
    assert all(str(mark.detail["message"]) for mark in noted)


@pytest.mark.parametrize("kind", ["raw-pcm", "plivo"])
async def test_an_agent_that_says_nothing_else_speaks_another_format(kind: str) -> None:
    events = await call(kind, says(*(f"word {count}" for count in range(300)), stays=True))
    assert ended(events).kind == "garbage"
    assert 3 <= len(named(events, IGNORED)) < 100, "what an agent repeats without end must not fill the recording"


@pytest.mark.parametrize("message", [b"\x01", b"\x00\x00\x00", '{"type": "start", "sample_rate": 12}'])
async def test_broken_sound_stays_garbage(message: str | bytes) -> None:
    assert ended(await call("raw-pcm", says(message, stays=True))).kind == "garbage"


@pytest.mark.parametrize("code", [1001, 1012, 1013])
async def test_a_server_that_ends_its_calls_has_hung_up_with_its_reason(code: int) -> None:
    end = ended(await call("raw-pcm", says(SOUND, code=code, reason="deploying v2")))
    assert end.kind == "hung_up"
    assert "deploying v2" in str(end.error)
    assert str(code) in str(end.error)


async def test_the_reason_of_an_orderly_goodbye_is_recorded() -> None:
    events = await call("raw-pcm", says(SOUND, reason="that was all"))
    (mark,) = named(events, CLOSED_WITH)
    assert error_said(mark) == "that was all"
    assert ended(events).error is None


def frame_of(pcm: bytes, rate_hz: int = 16_000) -> bytes:
    audio = frames_pb2.AudioRawFrame(audio=pcm, sample_rate=rate_hz, num_channels=1)
    return bytes(frames_pb2.Frame(audio=audio).SerializeToString())


async def speaks_without_rtvi(socket: ServerConnection) -> None:
    for _ in range(80):
        await socket.send(frame_of(SOUND[:1_280]))
        await asyncio.sleep(0.04)


async def is_silent_without_rtvi(socket: ServerConnection) -> None:
    async for _ in socket:
        pass


@pytest.mark.parametrize("session", [speaks_without_rtvi, is_silent_without_rtvi])
async def test_a_bot_without_rtvi_is_called_without_it(session: Session) -> None:
    timeout_s = 20.0 if session is speaks_without_rtvi else 1.0
    async with agent(session) as port:
        spec = ConnectionSpec("pipecat", f"ws://127.0.0.1:{port}/ws-client", {"open_timeout_s": timeout_s})
        began = time.monotonic()
        first = make(spec)
        await first.open(())
        first_s = time.monotonic() - began
        await first.close()
        (why,) = named([one async for one in first.events()], FELL_BACK)
        began = time.monotonic()
        second = make(spec)
        await second.open(())
        second_s = time.monotonic() - began
        await second.close()
        again = named([one async for one in second.events()], FELL_BACK)
    assert "rtvi = false" in str(why.detail["why"])
    assert first_s > 4 * second_s, "one call has found out, and the others need not wait"
    assert again, "each call says so"


async def test_a_bot_that_is_to_get_a_history_over_rtvi_must_answer() -> None:
    async with agent(is_silent_without_rtvi) as port:
        spec = ConnectionSpec("pipecat", f"ws://127.0.0.1:{port}/", {"open_timeout_s": 0.5, "accepts_history": True})
        with pytest.raises(ConnectionFailed, match="rtvi = false") as caught:
            await make(spec).open([Message("user", "hello")])
    assert caught.value.kind == "open_timeout"


class _Faulty(RawPcmWire):
    """A wire format of another package with a defect in one of its methods."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def hello(self, history: Sequence[Message]) -> Sequence[Outgoing]:
        if self._where == "hello":
            raise AttributeError("no such thing")
        return super().hello(history)

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        if self._where == "audio":
            raise ZeroDivisionError
        return super().audio(frame, now_ns) if self._where != "writing" else (object(),)  # type: ignore[return-value]

    def goodbye(self) -> Sequence[Outgoing]:
        if self._where == "goodbye":
            raise LookupError("no word for it")
        return ()


@pytest.mark.parametrize("where", ["hello", "audio", "writing", "goodbye"])
async def test_an_error_of_our_own_is_a_defect_and_no_agent_s_fault(where: str) -> None:
    async with agent(is_silent_without_rtvi) as port:
        url = f"ws://127.0.0.1:{port}/"
        line = WebSocketConnection(url, _Faulty(where), Limits(), Access(url))
        kind: str | None
        try:
            await line.open(())
            if where != "goodbye":
                line.send(bytes(640))
            else:
                await line.close()
            async with asyncio.timeout(5):
                kind = ended([one async for one in line.events()]).kind
        except ConnectionFailed as failed:
            kind = failed.kind
        await line.close()
    assert kind == "defect"
    assert not is_agents_fault(kind)


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("pitch_hz", [95.0, 210.0])
async def test_two_channels_in_one_are_noticed_and_one_is_not(rate_hz: int, pitch_hz: float) -> None:
    mono = voice(1.6, rate_hz, pitch_hz)
    other = np.zeros_like(mono)
    quieter = (mono * 0.4 + np.random.default_rng(1).normal(0, 4, len(mono))).astype(np.int16)
    for second, odd in ((None, False), (mono, True), (quieter, True), (other, True)):
        sent = mono if second is None else np.stack([mono, second], axis=1).reshape(-1)
        pieces = [sent[at : at + 1_236].tobytes() for at in range(0, len(sent), 1_236)]
        events = await call("raw-pcm", says(*pieces), output_rate_hz=rate_hz)
        assert bool(named(events, ODD_SOUND)) == odd
        assert len(named(events, ODD_SOUND)) <= 1


@pytest.mark.parametrize("rate_hz", [16_000, 48_000])
async def test_exchanged_bytes_are_noticed_and_noise_is_none(rate_hz: int) -> None:
    noise = np.random.default_rng(1).normal(0, 900, 2 * rate_hz).astype(np.int16)
    for sent, odd in ((voice(1.6, rate_hz, 120.0).byteswap(), True), (noise, False), (noise.byteswap(), False)):
        events = await call("raw-pcm", says(*(sent[at : at + 480].tobytes() for at in range(0, len(sent), 480))))
        assert bool(named(events, ODD_SOUND)) == odd


async def test_an_offset_and_a_fill_are_no_second_channel() -> None:
    filled = np.concatenate([np.full(24_000, 4_000), voice(1.6, 24_000, 120.0) // 4 + 4_000]).astype(np.int16)
    events = await call("raw-pcm", says(*(filled[at : at + 480].tobytes() for at in range(0, len(filled), 480))))
    assert not named(events, ODD_SOUND)


async def test_sound_that_changes_its_rate_comes_with_each_rate() -> None:
    start = json.dumps({"type": "start", "sample_rate": 8_000})
    events = await call("raw-pcm", says(SOUND, start, SOUND), output_rate_hz=24_000)
    assert [one.rate_hz for one in events if isinstance(one, AudioChunk)] == [24_000, 8_000]
