"""Both wires against real agents in processes of their own: what comes through, and every failure by its name."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from websockets.sync.server import ServerConnection, serve

from harness.agents.connection import AudioChunk, Cleared, Closed, Connection, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import ConnectionSpec, UnknownConnection, kinds, make
from harness.agents.connections.inbox import Limits
from harness.agents.connections.raw_pcm import RawPcmWire
from harness.agents.connections.rtvi import RtviSession
from harness.agents.connections.websocket import WebSocketConnection
from harness.agents.connections.wire import Outgoing, Received
from harness.agents.message import Message
from harness.agents.profile import AgentProfile
from harness.store.selection import is_agents_fault
from tests.agents.certificates import Authority
from tests.agents.conftest import Hosted, StartPeer

Host = Callable[[AgentProfile], Awaitable[Hosted]]
MakeProfile = Callable[[str, str], AgentProfile]
Call = Callable[..., Awaitable[list[Event]]]

HISTORY = (Message("user", "I lost my job — today."), Message("assistant", "I am so sorry. How are you?"))
WIRES = ("raw-pcm", "pipecat")


async def open_line(host: Host, profile: AgentProfile, history: Sequence[Message] = HISTORY) -> Connection:
    agent = await host(profile)
    connection = make(profile.connection(agent.url))
    await connection.open(history)
    return connection


def the_end(events: Sequence[Event]) -> Closed:
    ends = [event for event in events if isinstance(event, Closed)]
    assert len(ends) == 1
    assert events[-1] is ends[0]
    return ends[0]


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_hears_and_is_heard(wire: str, host: Host, peer: MakeProfile, call: Call, spoken: bytes) -> None:
    line = await open_line(host, peer(wire, "echo"))
    assert line.capabilities.accepts_history
    assert line.capabilities.input_rate_hz == 16_000
    began_ns = time.monotonic_ns()

    def replied(events: Sequence[Event]) -> bool:
        return isinstance(events[-1], Mark) and events[-1].name == "reply_done"

    events = await call(line, spoken, replied)
    assert the_end(events).error is None
    marks = {event.name: event for event in events if isinstance(event, Mark)}
    assert marks["history_taken"].detail == {"turns": 2}
    assert began_ns < marks["turn_decided"].at_ns < marks["turn_decided"].arrival_ns
    assert [(t.role, t.text) for t in events if isinstance(t, Transcript)] == [
        ("user", "what the caller said"),
        ("assistant", "what the caller said, again"),
    ]
    audio = [event for event in events if isinstance(event, AudioChunk)]
    assert {chunk.rate_hz for chunk in audio} == {16_000}
    assert all(a.arrival_ns <= b.arrival_ns for a, b in pairwise(audio))
    echoed = np.frombuffer(b"".join(chunk.pcm for chunk in audio), "<i2")
    said = np.frombuffer(spoken, "<i2")
    assert np.array_equal(echoed[: np.count_nonzero(said)], said[: np.count_nonzero(said)])


@pytest.mark.parametrize("wire", WIRES)
async def test_clear_keeps_its_place_between_audio(wire: str, host: Host, peer: MakeProfile, call: Call, spoken: bytes) -> None:
    events = await call(await open_line(host, peer(wire, "clears")), spoken)
    kinds_seen = [type(event) for event in events if isinstance(event, AudioChunk | Cleared)]
    assert kinds_seen == [AudioChunk, Cleared, AudioChunk]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("garbage", "garbage", "the agent sent"),
        ("floods", "flood", "more than 64 MiB"),
        ("floods-marks", "flood", "of text"),
        ("floods-at-once", "flood", "one message of more than 4 MiB"),
        ("closes-early", "closed_early", "before it said anything"),
    ],
)
async def test_misbehaviour_ends_the_session_by_name(
    wire: str, behaviour: str, kind: str, words: str, host: Host, peer: MakeProfile, call: Call, spoken: bytes
) -> None:
    events = await call(await open_line(host, peer(wire, behaviour)), spoken, lambda e: isinstance(e[-1], Closed))
    end = the_end(events)
    assert end.kind == kind
    assert end.error is not None
    assert words in end.error
    assert "\n" not in end.error


async def test_an_agent_that_dies_has_said_no_goodbye(start: StartPeer, peer: MakeProfile, call: Call, spoken: bytes) -> None:
    profile = peer("raw-pcm", "dies")
    line = make(profile.connection((await start(profile)).url))
    await line.open(HISTORY)
    end = the_end(await call(line, spoken, lambda e: isinstance(e[-1], Closed)))
    assert end.kind == "closed_early"
    assert "broke without a goodbye" in str(end.error)


async def test_hanging_up_after_the_reply_is_no_failure(host: Host, peer: MakeProfile, call: Call, spoken: bytes) -> None:
    end = the_end(await call(await open_line(host, peer("raw-pcm", "closes-after-reply")), spoken))
    assert (end.error, end.kind) == (None, None)


async def test_an_agent_that_does_not_read_never_blocks_the_caller(host: Host, peer: MakeProfile) -> None:
    agent = await host(peer("raw-pcm", "hangs"))
    line = WebSocketConnection(agent.url, RawPcmWire(accepts_history=True), Limits(unsent_frames=50))
    await line.open(())
    taken_s: list[float] = []
    async with asyncio.timeout(30):
        # As fast as the loop allows: the socket's own buffers (some megabytes) must be full before the queue fills.
        ended: list[Event] = []
        listening = asyncio.create_task(_collect(line, ended))
        while not ended and len(taken_s) < 100_000:
            began = time.perf_counter()
            line.send(bytes(640))
            taken_s.append(time.perf_counter() - began)
            await asyncio.sleep(0)
        await listening
    began = time.perf_counter()
    await line.close()
    assert time.perf_counter() - began < 5
    assert the_end(ended).kind == "overflow"
    # The queue alone holds fifty: were sending to wait, as many would have; a busy machine holds up a few of thousands.
    assert sorted(taken_s)[-20] < 0.02


@pytest.mark.parametrize("tls", [False, True])
async def test_a_frame_is_in_the_socket_before_the_loop_runs_again(
    tls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    heard, came = list[bytes](), threading.Event()

    def answer(socket: ServerConnection) -> None:
        for message in socket:
            if isinstance(message, bytes):
                heard.append(message)
                came.set()

    with serve(answer, "127.0.0.1", 0, compression=None, ssl=authority.context() if tls else None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = WebSocketConnection(f"{'wss' if tls else 'ws'}://localhost:{server.socket.getsockname()[1]}/", RawPcmWire())
        await line.open(())
        await asyncio.sleep(0.05)  # the start message comes before, through the queue
        line.send(b"ab" * 320)
        assert came.wait(5), "it left while the loop stood still"
        line.send(b"cd" * 320)
        await line.close()
    assert heard == [b"ab" * 320, b"cd" * 320]


class _InPieces(RawPcmWire):
    """A wire whose frames are two messages each: a long one, and one with the frame's number."""

    PIECE = 40_000

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        del now_ns
        return (frame * self.PIECE, frame)


async def test_messages_of_a_frame_stay_together_when_a_full_socket_has_just_emptied() -> None:
    heard, reads = list[bytes](), threading.Event()

    def answer(socket: ServerConnection) -> None:
        reads.wait(20)
        heard.extend(message for message in socket if isinstance(message, bytes))

    with serve(answer, "127.0.0.1", 0, compression=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = WebSocketConnection(f"ws://127.0.0.1:{server.socket.getsockname()[1]}/", _InPieces())
        await line.open(())
        await asyncio.sleep(0.05)
        assert line._socket is not None
        transport, sent = line._socket.transport, 0
        while sent < 250 and not transport.get_write_buffer_size():
            line.send(bytes([sent := sent + 1]))
        line.send(bytes([sent := sent + 1]))
        await asyncio.sleep(0.05)  # the writer has the first of two messages in the full socket, and the second in hand
        reads.set()
        async with asyncio.timeout(20):
            while transport.get_write_buffer_size():  # noqa: ASYNC110
                await asyncio.sleep(0)
        line.send(bytes([sent := sent + 1]))
        await asyncio.sleep(0.2)
        await line.close()
    assert [(message[0], len(message)) for message in heard] == [
        (number, size) for number in range(1, sent + 1) for size in (_InPieces.PIECE, 1)
    ]


async def _collect(line: Connection, into: list[Event]) -> None:
    into.extend([event async for event in line.events()])


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_that_never_answers_stays_open(
    wire: str, host: Host, peer: MakeProfile, call: Call, spoken: bytes
) -> None:
    events = await call(await open_line(host, peer(wire, "never-answers")), spoken[:16_000])
    assert [type(event) for event in events] == [Closed]
    assert the_end(events).error is None


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_that_turns_callers_away_is_refused(wire: str, host: Host, peer: MakeProfile) -> None:
    with pytest.raises(ConnectionFailed, match="403") as caught:
        await open_line(host, peer(wire, "turns-away"))
    # A missing key or a wrong route of the profile's gets the same answer, so it is not counted against the agent.
    assert caught.value.kind == "unauthorised"


async def test_nothing_that_listens_is_refused_at_once() -> None:
    for kind in WIRES:
        with pytest.raises(ConnectionFailed, match="nothing listens there") as caught:
            await make(ConnectionSpec(kind, "ws://127.0.0.1:9/ws")).open(())
        assert caught.value.kind == "refused"


@pytest.mark.parametrize(
    ("wire", "behaviour", "words"),
    [
        ("raw-pcm", "does-not-acknowledge", "acknowledgement of the history"),
        ("pipecat", "does-not-acknowledge", "acknowledgement of the history"),
        ("pipecat", "never-greets", "client-ready"),
    ],
)
async def test_a_history_that_is_not_acknowledged_is_not_played(
    wire: str, behaviour: str, words: str, host: Host, peer: MakeProfile
) -> None:
    profile = peer(wire, behaviour).model_copy(update={"open_timeout_s": 0.5})
    with pytest.raises(ConnectionFailed, match=words) as caught:
        await open_line(host, profile)
    assert caught.value.kind == "open_timeout"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_history_for_an_agent_that_takes_none_is_refused(wire: str) -> None:
    line = make(ConnectionSpec(wire, "ws://127.0.0.1:9/ws", {"accepts_history": False}))
    assert not line.capabilities.accepts_history
    with pytest.raises(ConnectionFailed, match="--mode replay") as caught:
        await line.open(HISTORY)
    assert caught.value.kind == "no_history"
    assert [type(event) async for event in line.events()] == [Closed]


@pytest.mark.parametrize("wire", WIRES)
async def test_closing_twice_and_sending_after_the_end_are_harmless(wire: str, host: Host, peer: MakeProfile) -> None:
    line = await open_line(host, peer(wire, "never-answers"))
    await line.close()
    await line.close()
    line.send(bytes(640))
    assert [type(event) async for event in line.events()] == [Closed]
    assert [event async for event in line.events()] == []


async def test_arrival_is_stamped_when_read_not_when_looked_at(host: Host, peer: MakeProfile) -> None:
    line = await open_line(host, peer("raw-pcm", "closes-after-reply"))
    await asyncio.sleep(0.1)
    asked_ns = time.monotonic_ns()
    await asyncio.sleep(0.1)
    events = [event async for event in line.events()]
    await line.close()
    assert isinstance(events[0], AudioChunk)
    assert events[0].arrival_ns < asked_ns


def test_a_spec_is_plain_data() -> None:
    spec = ConnectionSpec("raw-pcm", "ws://a/b", {"input_rate_hz": 8_000})
    assert ConnectionSpec.from_json(spec.to_json()) == spec
    assert make(spec).capabilities.input_rate_hz == 8_000
    with pytest.raises(UnknownConnection, match="raw-pcm"):
        make(ConnectionSpec("smoke-signals"))
    assert {"pipecat", "raw-pcm", "scripted"} <= set(kinds())


class _FaultyWire(RawPcmWire):
    """A wire format of another package with a defect."""

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        del arrival_ns
        raise KeyError(message[:3])


async def test_a_defect_of_a_wire_ends_the_session_and_is_not_the_agents(host: Host, peer: MakeProfile) -> None:
    agent = await host(peer("raw-pcm", "closes-after-reply"))
    line = WebSocketConnection(agent.url, _FaultyWire())
    await line.open(())
    events = [event async for event in line.events()]
    await line.close()
    assert the_end(events).kind == "defect"


async def test_what_follows_a_question_mark_is_never_shown() -> None:
    line = make(ConnectionSpec("raw-pcm", "ws://me:s3cret@127.0.0.1:9/ws?token=s3cret"))
    with pytest.raises(ConnectionFailed) as caught:
        await line.open(())
    assert "s3cret" not in str(caught.value)
    assert "127.0.0.1:9/ws" in str(caught.value)


def test_a_bot_that_takes_histories_and_refuses_one_turns_the_caller_away() -> None:
    session = RtviSession(accepts_history=True)
    session.hello(HISTORY)
    refusal = {"label": "rtvi-ai", "type": "error-response", "id": "history", "data": {"error": "too sad"}}
    with pytest.raises(ConnectionFailed, match="too sad") as caught:
        session.receive(refusal, 0)
    assert is_agents_fault(caught.value.kind), "otherwise refusing hard conversations would cost it nothing"
