"""A wire as a table: what a message means by it, what it refuses to be, and what it says of messages that fit no row."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.server import ServerConnection

from harness.agents.connection import AGENT_ERROR, IGNORED, AudioChunk, Cleared, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import make
from harness.agents.connections.described_table import WireTable
from harness.agents.connections.described_wire import DescribedWire
from harness.agents.message import Message
from harness.agents.profile import ProfileError, parse_profile
from harness.agents.reply_signs import MORE_COMES
from harness.audio.pcm import encode
from tests.agents.printed import moves_no_cursor
from tests.agents.test_what_a_wire_says import agent

HERE = Path("mine.toml")
HEAD = 'kind = "websocket"\nurl = "wss://bot.example.org/"\n\n[wire]\n'
SOUND = np.arange(-400, 400, 5, dtype="<i2").tobytes()
HISTORY = (Message("user", 'I said "no"'), Message("assistant", "I see. {rate}"))


def wire(**table: Any) -> DescribedWire:
    made = DescribedWire(WireTable.model_validate(table), 16_000, 24_000, "Be kind.")
    made.hello(())
    return made


def told(wire: DescribedWire, *messages: dict[str, Any]) -> list[Event]:
    return [event for at, one in enumerate(messages) for event in wire.receive(json.dumps(one), at).events]


def names(events: Sequence[Event]) -> list[str]:
    return [one.name for one in events if isinstance(one, Mark)]


def opened(told_before: Sequence[Message] = (), /, **table: Any) -> list[Any]:
    """The messages of a session's begin."""
    made = DescribedWire(WireTable.model_validate(table), 16_000, 24_000, "Be kind.")
    sent = [*made.hello(told_before)]
    while not made.ready:
        received = made.receive('{"type": "go"}', 1)
        assert received.replies or made.ready
        sent += received.replies
    return [json.loads(one) for one in sent]


def test_placeholders_have_their_types() -> None:
    opens = (
        '{"rate": "{rate}", "mime": "pcm;rate={rate}", "rules": "{instructions}", "old": "{history}", "any": "{has_history}"}'
    )
    turns = {"user": '{"u": "{text}"}', "assistant": '{"n": "{number}", "a": ["{text}"]}'}
    assert opened(HISTORY, opens=opens, history=turns) == [
        {"rate": 16_000, "mime": "pcm;rate=16000", "rules": "Be kind.", "any": True,
         "old": [{"u": 'I said "no"'}, {"n": 1, "a": ["I see. {rate}"]}]}
    ]  # fmt: skip
    assert opened(opens=opens, history=turns)[0]["old"] == []


def test_a_history_may_be_a_message_a_turn_or_come_after_the_session_is_ready() -> None:
    turns = {"user": '{"u": "{text}"}', "assistant": '{"a": "{text}"}'}
    go = {"type": "go"}
    assert opened(HISTORY, opens='{"hello": 1}', ready=go, history=turns)[1:] == [{"u": 'I said "no"'}, {"a": "I see. {rate}"}]
    then = '{"turns": "{history}"}'
    assert opened(HISTORY, ready=go, then=then, history=turns) == [{"turns": [{"u": 'I said "no"'}, {"a": "I see. {rate}"}]}]
    assert opened(opens_after=go, opens='{"hello": 1}', ready=go, then=then, history=turns) == [{"hello": 1}]


def test_each_turn_is_acknowledged_before_sound_where_the_table_says_how() -> None:
    turns = {"user": '{"u": "{text}"}', "assistant": '{"a": "{text}"}', "taken": {"type": "taken"}}
    made = DescribedWire(WireTable.model_validate({"opens": '{"hello": 1}', "history": turns}), 16_000, 16_000)
    made.hello(HISTORY)
    told(made, {"type": "taken"})
    assert not made.ready
    assert "history.taken" in made.waits_for
    told(made, {"type": "taken"})
    assert made.ready


def test_an_agent_without_a_place_for_a_history_refuses_it() -> None:
    with pytest.raises(ConnectionFailed, match="history"):
        wire(opens='{"hello": 1}').hello(HISTORY)


@pytest.mark.parametrize(("encoding", "coded"), [("pcm16", SOUND), ("mulaw", None), ("alaw", None)])
def test_sound_goes_both_ways_in_each_encoding(encoding: str, coded: bytes | None) -> None:
    samples = np.frombuffer(SOUND, "<i2")
    sent = coded or encode(samples, "ulaw" if encoding == "mulaw" else "alaw")
    message = '{"media": {"payload": "{audio}", "chunk": "{number}", "at": "{at_ms}"}}'
    made = wire(hears={"encoding": encoding, "message": message}, speaks={"encoding": encoding, "at": "a.*.b"})
    made.audio(SOUND, 1)
    (one,) = made.audio(SOUND, 1)
    media = json.loads(one)["media"]
    assert (base64.b64decode(media["payload"]), media["chunk"], media["at"]) == (sent, 2, 20)
    (chunk,) = [e for e in told(made, {"a": [{"b": media["payload"]}, {"c": 1}]}) if isinstance(e, AudioChunk)]
    assert np.abs(np.frombuffer(chunk.pcm, "<i2").astype(int) - samples).max() <= (0 if coded else 24)
    plain = wire(hears={"encoding": encoding}, speaks={"encoding": encoding})
    assert plain.audio(SOUND, 1) == (sent,)
    assert [type(event) for event in plain.receive(sent, 1).events] == [Mark, AudioChunk]


@pytest.mark.parametrize("stated", [8_000, "pcm_8000", "audio/pcm;rate=8000"])
def test_a_rate_that_a_message_states_holds_from_there_on(stated: object) -> None:
    made = wire(speaks={"at": "audio", "rate_at": "format", "rate_match": {"type": "meta"}})
    audio = base64.b64encode(SOUND).decode()
    found = told(made, {"audio": audio}, {"type": "meta", "format": stated}, {"audio": audio, "format": 48_000})
    assert [one.rate_hz for one in found if isinstance(one, AudioChunk)] == [24_000, 8_000]


def test_signs_words_and_clears_are_as_the_table_says() -> None:
    signs = {"asked": {"type": "heard"}, "words": {"type": "text"}, "tool_called": {"type": "tool"}, "done": {"type": "over"}}
    rows = [
        {"match": {"type": "text"}, "role": "assistant", "text": "delta", "pieces": True},
        {"match": {"type": "heard"}, "role": "user", "text": "words.0"},
    ]
    made = wire(signs=signs, transcripts=rows, clears=[{"type": "stop"}, {"content.cut": True}], speaks={"at": "audio"})
    audio = {"audio": base64.b64encode(SOUND * 9).decode()}
    found = told(made, {"type": "heard", "words": ["hi"]}, {"type": "text", "delta": "I "}, {"type": "text", "delta": "see."},
                 audio, audio, {"content": {"cut": True}}, {"type": "stop"}, {"type": "tool"}, {"type": "over"})  # fmt: skip
    said = [(one.role, one.text) for one in found if isinstance(one, Transcript)]
    assert said == [("user", "hi"), ("assistant", "I see.")]
    assert names(found) == ["wire.asked", "wire.words", "wire.voice", "wire.tool_called", "wire.done"]
    assert [one.detail.get(MORE_COMES) for one in found if isinstance(one, Mark) and one.name == "wire.done"] == [True]
    assert sum(isinstance(one, Cleared) for one in found) == 1, "after the first, nothing is left to clear"
    assert IGNORED not in names(found)


def test_an_error_is_a_failure_before_the_session_and_a_mark_in_it() -> None:
    rows = [{"match": {"type": "error"}, "words": ["error.message", "error.code"]}]
    error = {"type": "error", "error": {"message": "no credit", "code": "quota_exceeded"}}
    with pytest.raises(ConnectionFailed, match=r"no credit \(quota_exceeded\)") as caught:
        told(wire(errors=rows, ready={"type": "ready"}, refusals={"QUOTA": "busy"}), error)
    assert caught.value.kind == "busy"
    (mark,) = told(wire(errors=rows), error)
    assert isinstance(mark, Mark)
    assert (mark.name, mark.detail["message"]) == (AGENT_ERROR, "no credit (quota_exceeded)")


def test_a_ping_is_answered_with_what_it_carries_and_nothing_big() -> None:
    made = wire(answers=[{"match": {"type": "ping"}, "message": '{"type": "pong", "id": "{message.event.id}"}'}])
    for sent, back in ((7, 7), ("a", "a"), ("a" * 5_000, None), ({"b": 1}, None)):
        (answer,) = made.receive(json.dumps({"type": "ping", "event": {"id": sent}}), 1).replies
        assert json.loads(answer) == {"type": "pong", "id": back}


@pytest.mark.parametrize(
    ("told_of", "shown"),
    [
        ({"type": "session.hello", "token": "3f9c1e7ab25d48c0a6e4"}, '"session.hello"'),
        ({"hello": "3f9c1e7ab25d48c0a6e4", "b": 1}, "keys hello, b"),
        ({"type": "\x1b[2J", "\x1b[31m": 1}, "keys type"),
        ({"\u202e": 1}, "without a name"),
    ],
)
def test_a_message_that_no_row_matches_is_named_once_and_never_quoted(told_of: dict[str, Any], shown: str) -> None:
    made = wire(ready={"type": "ready"})
    found = told(made, told_of, told_of)
    assert names(found) == [IGNORED]
    assert isinstance(found[0], Mark)
    for said in (str(found[0].detail["message"]), made.waits_for):
        assert shown in said
        assert "3f9c1e7a" not in said
        assert moves_no_cursor(said)


def test_a_server_that_makes_up_names_fills_nothing() -> None:
    made = wire(ready={"type": "ready"})
    assert len(told(made, *({"type": f"name-{count}"} for count in range(500)))) == 20
    assert len(made.waits_for) < 2_000


async def test_a_table_that_fits_nothing_says_what_came() -> None:
    async def session(socket: ServerConnection) -> None:
        for kind in ("session.hello", "session.limits"):
            await socket.send(json.dumps({"type": kind}))
        await socket.wait_closed()

    async with agent(session) as port:
        profile = parse_profile(f'open_timeout_s = 0.5\n{HEAD}ready = {{ type = "ready" }}\n', HERE)
        with pytest.raises(ConnectionFailed, match=r"session\.hello.*session\.limits") as caught:
            await make(profile.connection(f"ws://127.0.0.1:{port}/")).open(())
    assert caught.value.kind == "open_timeout"
    assert 'type = "ready"' in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("opnes = '{}'", 5, "opens"),
        ("opens = '{\"a\": '", 5, "not JSON"),
        ("opens = '[1]'", 5, "object"),
        ('\nopens = \'{"a": "{rat}"}\'', 4, "{rat} stands for nothing"),
        ('opens = \'{"a": "{history}"}\'', 4, "wire.history"),
        ('opens = \'{"key": "${MY_KEY}"}\'', 5, "api_key_env"),
        ('opens = \'{"key": "sk-abc1234567890XYZabc1234567890"}\'', 5, "holds no key"),
        ("ready = {}", 5, 'type = "ready"'),
        ("ready = { a = 1.5 }", 5, "whole number"),
        ('speaks.at = "a b"', 5, "path"),
        ('speaks = { match = { type = "audio" } }', 5, "at is missing"),
        ("hears.message = '{\"a\": 1}'", 4, "{audio}"),
        ('signs.beginning = { type = "a" }', 5, "beginning"),
        ('places = { request = "{}", address_at = "joinUrl" }', 4, "http(s)"),
        ('refusals = { "no credit" = "sad" }', 5, "refusals"),
    ],
)
def test_an_error_in_a_table_is_one_sentence_with_its_line(lines: str, line: int, words: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(HEAD + lines + "\n", HERE)
    said = str(caught.value)
    assert said.startswith(f"mine.toml, line {line}: ")
    assert words in said
    assert "\n" not in said
    assert "sk-abc" not in said


def test_raw_pcm_is_asked_for_by_a_request_and_its_old_profiles_keep_their_hash() -> None:
    old = parse_profile('kind = "raw-pcm"\nname = "old"\nurl = "ws://127.0.0.1:8765/"\n', HERE)
    assert old.hash == "1c3ca2f47414a2bfa401abcd704b8f0882e6585df903daf77e19375b5cc7e407"
    asked = parse_profile('kind = "raw-pcm"\nurl = "wss://bot.example.org/call"\nstart_url = "/start"\n', HERE)
    assert asked.connection("wss://bot.example.org/call").options["start_url"] == "https://bot.example.org/start"
