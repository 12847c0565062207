"""Calls over WebRTC: to a peer of known behaviour, to an unmodified pipecat bot, and to what is no such thing."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr

from harness.agents.connection import (
    FELL_BACK,
    AudioChunk,
    Closed,
    Connection,
    ConnectionFailed,
    Event,
    LineReport,
    Mark,
    Transcript,
)
from harness.agents.connections import ConnectionSpec, make, webrtc
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, load_profile
from tests.agents.conftest import logged

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]
ProfileOf = Callable[[str], AgentProfile]
FRAME = 1_920
"""20 ms at 48 kHz in bytes."""


@pytest.fixture
def caller(word: Path) -> bytes:
    """A caller at 48 kHz: a word said over and over, then silence for three seconds."""
    said, _ = soundfile.read(word, dtype="int16")
    speech = soxr.resample(np.tile(said[1_500:8_200], 4), 16_000, 48_000).astype("<i2")
    return b"".join((bytes(48_000), speech.tobytes(), bytes(2 * 48_000 * 4)))


@pytest.fixture
def peer(profile_of: ProfileOf) -> AgentProfile:
    """The known agent, which answers after 300 ms, and has faults at other addresses than its own."""
    return profile_of(
        'kind = "webrtc"\nrtvi = false\nopen_timeout_s = 5\n[process]\ncommand = ["{python}", "webrtc_agent.py"]\n'
    )


def heard(events: Sequence[Event]) -> list[AudioChunk]:
    return [event for event in events if isinstance(event, AudioChunk)]


def loudest(chunks: Sequence[AudioChunk]) -> int:
    return int(np.abs(np.frombuffer(b"".join(c.pcm for c in chunks), "<i2").astype(int)).max())


async def test_packets_come_with_their_place_on_the_agent_s_clock_and_the_far_end_s_word(
    start: StartPeer, call: Call, peer: AgentProfile, caller: bytes
) -> None:
    agent = await start(peer)
    line = make(peer.connection(agent.url))
    assert line.capabilities.input_rate_hz == 48_000
    await line.open(())
    spoke = lambda events: loudest(heard(events)[-25:]) > 300 and any(isinstance(e, LineReport) for e in events)  # noqa: E731
    events = await call(line, caller, spoke, FRAME)
    chunks = heard(events)
    assert loudest(chunks) > 300
    stamps = [chunk.media for chunk in chunks]
    steps = {b.at_ns - a.at_ns for a, b in pairwise(s for s in stamps if s is not None)}
    assert steps == {20_000_000}
    assert sum(s.lost_before for s in stamps if s is not None) == 0
    (report, *_) = [event for event in events if isinstance(event, LineReport)]
    assert report.round_trip_ms is not None
    assert 0 <= report.round_trip_ms < 1_000
    assert report.sent_lost == 0
    end = events[-1]
    assert isinstance(end, Closed)
    assert end.error is None


@pytest.mark.long
async def test_what_the_line_loses_is_counted(start: StartPeer, call: Call, peer: AgentProfile) -> None:
    agent = await start(peer)
    lossy = make(ConnectionSpec("webrtc", agent.url.replace("/api/", "/loses/api/"), {"rtvi": False}))
    await lossy.open(())
    chunks = heard(await call(lossy, bytes(FRAME * 100), None, FRAME))
    lost = sum(c.media.lost_before for c in chunks if c.media is not None)
    assert 0.06 < lost / (len(chunks) + lost) < 0.14


@pytest.mark.long
async def test_an_unmodified_bot_is_called_as_a_browser_calls_it(
    peers: Path, start: StartPeer, call: Call, caller: bytes
) -> None:
    profile = load_profile(peers / "runner-bot-webrtc.toml")
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    await line.open(())

    def answered(events: Sequence[Event]) -> bool:
        return [e.name for e in events if isinstance(e, Mark)][-1:] == ["rtvi.bot-stopped-speaking"]

    events = await call(line, caller, answered, FRAME)
    said = " ".join(e.text for e in events if isinstance(e, Transcript) and e.role == "assistant")
    assert "I know 1 messages" in said
    assert loudest(heard(events)) > 3_000
    told = {event.name for event in events if isinstance(event, Mark)}
    assert {"rtvi.user-stopped-speaking", "rtvi.bot-llm-started", "rtvi.metrics"} <= told
    # It takes no history, and that is said before the call.
    with pytest.raises(ConnectionFailed, match="--mode replay"):
        await make(profile.connection(agent.url)).open([Message("user", "hi")])
    wrong = make(ConnectionSpec("webrtc", agent.url.replace("/api/offer", "/offer"), {"open_timeout_s": 5}))
    with pytest.raises(ConnectionFailed, match=r"served at this address \(HTTP 40[45]\b.*/api/offer"):
        await wrong.open(())
    # It noticed that its caller had gone, and logged no error about it.
    log = await logged(agent, "hung up")
    assert not [line for line in log.splitlines() if "ERROR" in line and "Prebuilt frontend" not in line]


@pytest.mark.long
async def test_a_call_that_cannot_be_is_one_line(
    start: StartPeer, call: Call, peer: AgentProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await start(peer)

    def line_to(behaviour: str, open_timeout_s: float = 5) -> Connection:
        url = agent.url.replace("/api/offer", f"/{behaviour}/api/offer")
        return make(ConnectionSpec("webrtc", url, {"rtvi": False, "open_timeout_s": open_timeout_s}))

    for behaviour, kind, words in (
        ("sleeps", "open_timeout", "is it still starting"),
        ("other-codec", "codec", "Opus was offered, and it answers with PCMU"),
        ("garbled", "garbage", "no session description"),
    ):
        with pytest.raises(ConnectionFailed, match=words) as caught:
            await line_to(behaviour, 1.5 if behaviour == "sleeps" else 5).open(())
        assert caught.value.kind == kind
        assert "\n" not in str(caught.value)

    monkeypatch.setattr(webrtc, "SILENT_LINE_S", 1.0)
    ended = lambda events: isinstance(events[-1], Closed)  # noqa: E731
    for behaviour, ending, words in (("mute", "no_media", "one-way audio"), ("closes", None, "")):
        line = line_to(behaviour)
        await line.open(())
        # Ten seconds of sound: it ends long before.
        end = (await call(line, bytes(FRAME * 500), ended, FRAME))[-1]
        assert isinstance(end, Closed)
        assert end.kind == ending
        assert words in str(end.error or "")


@pytest.mark.long
async def test_a_bot_without_rtvi_is_called_without_it(start: StartPeer, call: Call, peer: AgentProfile) -> None:
    url = (await start(peer)).url.replace("/api/", "/no-rtvi/api/")
    for _ in range(2):
        line = make(ConnectionSpec("webrtc", url, {"open_timeout_s": 4}))
        await line.open(())
        events = await call(line, bytes(FRAME * 50), None, FRAME)
        assert heard(events)
        (why,) = [event for event in events if isinstance(event, Mark) and event.name == FELL_BACK]
        assert "rtvi = false" in str(why.detail["why"])
    takes_a_history = make(ConnectionSpec("webrtc", url, {"open_timeout_s": 2, "accepts_history": True}))
    with pytest.raises(ConnectionFailed, match="did not come within 2 s"):
        await takes_a_history.open([Message("user", "hi")])


async def test_nobody_there_and_somebody_else_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionFailed, match="nothing listens there"):
        await make(ConnectionSpec("webrtc", f"http://127.0.0.1:{port}/api/offer", {})).open(())

    async def greet(_: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionFailed, match="check the port, and http or https"):
            await make(ConnectionSpec("webrtc", f"http://127.0.0.1:{port}/api/offer", {"open_timeout_s": 5})).open(())
        with pytest.raises(ConnectionFailed, match=r"does not speak TLS|check the port"):
            await make(ConnectionSpec("webrtc", f"https://127.0.0.1:{port}/api/offer", {"open_timeout_s": 5})).open(())


async def test_a_key_that_is_named_and_not_set_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ConnectionFailed, match="NO_SUCH_KEY"):
        await make(ConnectionSpec("webrtc", "http://127.0.0.1:1/api/offer", {"api_key_env": "NO_SUCH_KEY"})).open(())
