"""The harness in the place of telephone carriers, with bots on pipecat's own serializers at the other end of a socket."""

import base64
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.connection import AudioChunk, Cleared, Closed, ConnectionFailed, Event, Mark
from harness.agents.connections import make
from harness.agents.connections.carrier import CarrierWire
from harness.agents.connections.exotel import ExotelWire
from harness.agents.connections.genesys import GenesysWire
from harness.agents.connections.plivo import PlivoWire
from harness.agents.connections.spec import ConnectionSpec
from harness.agents.connections.telnyx import TelnyxWire
from harness.agents.connections.twilio import TwilioWire
from harness.agents.connections.vonage import VonageWire
from harness.agents.connections.wire import Garbage, PlayoutClock
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, ProfileError, load_profile
from harness.audio.pcm import encode, resample
from tests.agents.conftest import logged

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]
ProfileOf = Callable[[str], AgentProfile]

WIRES: dict[str, Callable[[], CarrierWire]] = {
    "twilio": TwilioWire, "telnyx": TelnyxWire, "exotel": ExotelWire, "plivo": PlivoWire, "vonage": VonageWire,
    "genesys": GenesysWire,
}  # fmt: skip
RETURNS_MARKS = {"twilio", "telnyx"}
"""Carriers that send a waiting mark back when the sound before it is cleared; the others drop it."""
_OTHERS = [(kind, "") for kind in WIRES if kind not in ("plivo", "genesys")]
_VARIED = [("telnyx", 'encoding = "PCMA"\n'), ("vonage", "input_rate_hz = 8000\n")]
VARIANTS = [("plivo", ""), *(pytest.param(*each, marks=pytest.mark.long) for each in (*_OTHERS, *_VARIED))]
CALLER_HZ, LEVEL = 300, 6_000


def profile_text(kind: str, more: str = "") -> str:
    rate_hz = 8_000 if "8000" in more else 16_000
    return (
        f'kind = "{kind}"\ngreets = false\nurl = "ws://127.0.0.1:{{port}}/ws"\nparameters = {{ patient = "no" }}\n{more}'
        f'[process]\ncommand = ["{{python}}", "carrier_bot.py", "{{port}}", "{kind}", "{rate_hz}"]\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )


def caller(rate_hz: int) -> bytes:
    """Quiet while the bot greets, a tone, quiet while it replies and stops, a tone, quiet."""
    tone = LEVEL * np.sin(2 * np.pi * CALLER_HZ * np.arange(round(rate_hz * 0.4)) / rate_hz)
    parts = [np.zeros(round(rate_hz * 1.2)), tone, np.zeros(round(rate_hz * 2.4)), tone, np.zeros(rate_hz)]
    return np.concatenate(parts).astype("<i2").tobytes()


def tone_of(events: Sequence[Event]) -> tuple[float, float, float]:
    """The level, frequency in Hz and loud length in ms of what an agent said."""
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    samples = np.frombuffer(b"".join(chunk.pcm for chunk in chunks), "<i2").astype(float)
    rate_hz = chunks[0].rate_hz
    loud = np.flatnonzero(np.abs(samples) > 1_000)
    piece = samples[loud[0] : loud[0] + rate_hz // 2]
    frequency_hz = float(np.abs(np.fft.rfft(piece)).argmax()) * rate_hz / len(piece)
    return float(np.abs(piece[rate_hz // 20 :]).max()), frequency_hz, len(loud) * 1e3 / rate_hz


@pytest.mark.parametrize(("kind", "more"), VARIANTS)
async def test_a_bot_on_pipecats_serializer_is_called(
    kind: str, more: str, profile_of: ProfileOf, start: StartPeer, call: Call
) -> None:
    profile = profile_of(profile_text(kind, more))
    agent = await start(profile)
    connection = make(profile.connection(agent.url))
    rate_hz = connection.capabilities.input_rate_hz
    await connection.open(())
    events = await call(connection, caller(rate_hz), frame_bytes=rate_hz // 50 * 2)
    log = await logged(agent, "over|Traceback")

    level, frequency_hz, _ = tone_of(events)
    assert level == pytest.approx(8_000, rel=0.1)
    assert frequency_hz == pytest.approx(440, abs=10)
    heard, at_hz = re.findall(r"heard (\d+) at (\d+)", log)[0]
    assert int(heard) == pytest.approx(LEVEL, rel=0.1)
    assert int(at_hz) == pytest.approx(CALLER_HZ, abs=10)

    marks = [event for event in events if isinstance(event, Mark)]
    assert {mark.name.partition(".")[0] for mark in marks} == {kind}
    assert [event for event in events if isinstance(event, Cleared)]
    came = [(int(ms), words) for ms, words in re.findall(r"came (-?\d+) (\{.*\})", log)]
    (greeted_ms,) = [ms for ms, words in came if '"greeted"' in words]
    assert greeted_ms >= 600 - 20  # not before the greeting has been played
    assert any('"cut off"' in words for _, words in came) == (kind in RETURNS_MARKS)
    assert any("cleared" in words for _, words in came) == (kind in ("plivo", "vonage"))
    # It hung up: the caller still had a second to say.
    assert events[-1] == Closed(events[-1].arrival_ns)
    if kind == "plivo":
        assert [mark.detail["keys"] for mark in marks if mark.name == "plivo.sendDTMF"] == ["42#"]


async def test_a_stock_bot_answers_the_telephone(peers: Path, start: StartPeer, call: Call, word: Path) -> None:
    profile = load_profile(peers / "stock-twilio-bot.toml")
    assert not profile.accepts_a_history
    agent = await start(profile)
    line = make(profile.connection(agent.url))
    assert line.capabilities.input_rate_hz == 8_000
    await line.open(())
    said, rate_hz = soundfile.read(word, dtype="int16")
    sentence = resample(np.concatenate([np.tile(said[1_500:8_200], 4), np.zeros(32_000, np.int16)]), rate_hz, 8_000)
    events = await call(line, sentence.astype("<i2").tobytes(), frame_bytes=320)
    assert {event.rate_hz for event in events if isinstance(event, AudioChunk)} == {8_000}
    assert tone_of(events)[2] > 300
    assert events[-1] == Closed(events[-1].arrival_ns)


@pytest.mark.parametrize("kind", WIRES)
async def test_no_carrier_has_a_place_for_a_history(kind: str) -> None:
    connection = make(ConnectionSpec(kind, "ws://127.0.0.1:9/"))
    assert not connection.capabilities.accepts_history
    with pytest.raises(ConnectionFailed, match="accepts no history") as caught:
        await connection.open([Message("user", "hi")])
    assert caught.value.kind == "no_history"


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        ("telnyx", b"\x00\x01", "binary where telnyx has JSON"),
        ("plivo", "not JSON", "not JSON"),
        ("exotel", '{"stream_sid": "x"}', "without an event"),
        ("exotel", {"event": "media", "media": {"payload": "AA=="}}, "two bytes a sample"),
        ("telnyx", {"event": "media", "media": {"payload": "%%%"}}, "not base64"),
        (
            "telnyx",
            {"event": "media", "stream_id": "another", "media": {"payload": "AAAA"}},
            "'another', which is not this one",
        ),
        ("telnyx", {"event": "media"}, "media message without media"),
        ("twilio", {"event": "clear"}, "without a streamSid"),
        ("plivo", {"event": "playAudio", "media": {"payload": "AAAA"}}, "Plivo plays audio/x-mulaw at 8000"),
        ("plivo", {"event": "playAudio", "media": {"contentType": [], "sampleRate": {}, "payload": ""}}, "Plivo plays"),
        ("plivo", {"event": "checkpoint"}, "a checkpoint without a name"),
        ("vonage", b"\x00", "two bytes a sample"),
        ("vonage", '{"event": "clear"}', "text without an action"),
    ],
)
def test_garbage_is_named(kind: str, message: object, words: str) -> None:
    wire = WIRES[kind]()
    wire.hello(())
    with pytest.raises(Garbage, match=re.escape(words)):
        wire.receive(message if isinstance(message, str | bytes) else json.dumps(message), 1)


def test_parameters_reach_the_bot_where_its_carrier_has_them() -> None:
    given_ = {"user": "ada", "plan": "basic"}
    first = {kind: json.loads(wire(given_).hello(())[-1]) for kind, wire in _with_parameters().items()}
    assert first["twilio"]["start"]["customParameters"] == given_
    assert first["telnyx"]["start"]["custom_parameters"] == given_
    assert first["exotel"]["start"]["custom_parameters"] == given_
    assert first["plivo"]["extra_headers"] == "user=ada;plan=basic"
    assert first["vonage"] == {**given_, "event": "websocket:connected", "content-type": "audio/l16;rate=16000"}


def _with_parameters() -> dict[str, Callable[[dict[str, str]], CarrierWire]]:
    return {"twilio": TwilioWire, "telnyx": TelnyxWire, "exotel": ExotelWire, "plivo": PlivoWire, "vonage": VonageWire}


@pytest.mark.parametrize("kind", ["twilio", "exotel"])
def test_a_mark_comes_back_when_the_sound_before_it_is_played_and_in_its_order(kind: str) -> None:
    wire = WIRES[kind]()
    stream = json.loads(wire.hello(())[-1])[wire.stream_key]
    second_ns, frame = 1_000_000_000, bytes(320)

    def take(event: str, at_ns: int, **content: object) -> list[str]:
        replies = wire.receive(json.dumps({"event": event, wire.stream_key: stream, **content}), at_ns).replies
        return [json.loads(reply)["mark"]["name"] for reply in replies]

    def due(now_ns: int) -> list[str]:
        sent = [json.loads(message) for message in wire.audio(frame, now_ns)]
        return [message["mark"]["name"] for message in sent if message["event"] == "mark"]

    sound = {"payload": base64.b64encode(bytes(8_000)).decode()}
    assert take("mark", 0, mark={"name": "before"}) == ["before"]
    take("media", 0, media=sound)
    played_ns = second_ns if kind == "twilio" else second_ns // 2
    assert take("mark", 1, mark={"name": "after"}) == []
    assert due(played_ns - 1) == []
    # The second is behind the first, even where nothing is left to play.
    assert take("mark", played_ns + 1, mark={"name": "last"}) == []
    assert due(played_ns + 2) == ["after", "last"]

    # After a clear nothing is left to play: a new mark comes back at once, and the old one not a second time.
    take("media", 10 * second_ns, media=sound)
    assert take("mark", 10 * second_ns, mark={"name": "cut off"}) == []
    assert take("clear", 10 * second_ns + 1) == (["cut off"] if kind in RETURNS_MARKS else [])
    assert take("mark", 10 * second_ns + 2, mark={"name": "new"}) == ["new"]
    assert due(20 * second_ns) == []


def test_twilio_numbers_its_messages_and_sends_20_ms_in_each() -> None:
    wire = TwilioWire()
    connected, start = (json.loads(message) for message in wire.hello(()))
    assert connected == {"event": "connected", "protocol": "Call", "version": "1.0.0"}
    assert start["start"]["mediaFormat"] == {"encoding": "audio/x-mulaw", "sampleRate": 8_000, "channels": 1}
    asked = {"event": "mark", "streamSid": start["streamSid"], "mark": {"name": "before"}}
    later = (*wire.receive(json.dumps(asked), 0).replies, *wire.audio(bytes(320), 1), *wire.goodbye())
    mark, sound, stop = (json.loads(message) for message in later)
    assert [message["sequenceNumber"] for message in (start, mark, sound, stop)] == ["1", "2", "3", "4"]
    assert (stop["event"], sound["media"]["track"]) == ("stop", "inbound")
    assert base64.b64decode(sound["media"]["payload"], validate=True) == b"\xff" * 160


def test_exotel_sends_whole_messages_of_100_ms() -> None:
    wire = ExotelWire()
    wire.hello(())
    frames = [bytes([k]) * 320 for k in range(10)]
    sent = [[json.loads(message) for message in wire.audio(frame, 0)] for frame in frames]
    assert [len(messages) for messages in sent] == [0, 0, 0, 0, 1] * 2
    assert [sent[4][0]["media"]["timestamp"], sent[9][0]["media"]["timestamp"]] == ["0", "100"]
    assert [sent[4][0]["media"]["chunk"], sent[9][0]["media"]["chunk"]] == ["1", "2"]


def test_telnyx_takes_the_law_that_was_agreed_for_replies() -> None:
    samples = np.round(6_000 * np.sin(np.arange(160) / 5)).astype(np.int16)
    wire = TelnyxWire(encoding="PCMU", reply_encoding="PCMA")
    wire.hello(())
    received = wire.sound(encode(samples, "alaw"), 1)
    assert isinstance(received.events[0], AudioChunk)
    error = np.frombuffer(received.events[0].pcm, "<i2").astype(int) - samples
    assert np.abs(error).max() < 200


def test_plivo_states_and_takes_l16_at_16_khz(profile_of: ProfileOf) -> None:
    wire = PlivoWire(encoding="l16", input_rate_hz=16_000)
    start = json.loads(wire.hello(())[0])
    assert start["start"]["mediaFormat"] == {"encoding": "audio/x-l16", "sampleRate": 16_000}
    media = {"contentType": "audio/x-l16", "sampleRate": 16_000, "payload": "AQACAA=="}
    (chunk,) = wire.receive(json.dumps({"event": "playAudio", "media": media}), 5).events
    assert chunk == AudioChunk(5, b"\x01\x00\x02\x00", 16_000)
    with pytest.raises(ProfileError, match="input_rate_hz = 16000 needs encoding"):
        profile_of('kind = "plivo"\nurl = "ws://h/ws"\ninput_rate_hz = 16000\n')


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
