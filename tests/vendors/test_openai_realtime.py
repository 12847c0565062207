"""Calls over `openai-realtime` to a server that is made of OpenAI's own types."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from harness.agents.connection import ENDS_TURNS, ConnectionFailed
from harness.agents.connections.openai_realtime import RealtimeWire
from harness.agents.reported_errors import error_said
from harness.replies.agent_words import said, understood
from harness.timeline import NS_PER_MS
from harness.timing import measure
from tests.vendors.calls import PAST, one_call
from tests.vendors.openai_realtime import THINKS_S, TYPES, WORDS

NAME = "openai_realtime"
TOOLS = '[[tools]]\nname = "mood_of"\nanswer = "They are sad today."\ndescription = "The caller\'s mood."\n'


async def test_a_call_gives_ttft_words_and_the_end_of_its_reply(tmp_path: Path) -> None:
    rich = 'voice = "marin"\nspeed = 1.2\nreasoning_effort = "low"\ntranscription_model = "whisper-1"\n'
    rich += 'turn_detection = { type = "semantic_vad", eagerness = "high" }\n'
    recording = await one_call(NAME, tmp_path, more=rich)
    timing = measure(recording)
    assert timing.ttft_ms == pytest.approx(THINKS_S * 1000, abs=10)
    assert (understood(recording), said(recording)) == ("I lost my job.", WORDS)
    assert not [mark for mark in recording.marks if mark.name == ENDS_TURNS or error_said(mark)]


async def test_a_turn_that_the_harness_ends_is_marked_and_has_no_decision(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, more='turn_detection = "none"\n')
    assert [mark.detail["why"] for mark in recording.marks if mark.name == ENDS_TURNS]
    timing = measure(recording)
    assert timing.endpointing is not None
    assert timing.endpointing.decision_ms is None
    assert timing.ttfa_ms is not None


def test_a_response_that_is_being_made_is_cancelled_before_the_next_is_asked_for() -> None:
    wire = RealtimeWire({}, commits=True)
    commit = ["input_audio_buffer.commit", "response.create"]
    assert [json.loads(message)["type"] for message in wire.end_turn()] == commit
    wire.receive(TYPES.write("response.created", event_id="e", response={"status": "in_progress"}), 1)
    assert [json.loads(message)["type"] for message in wire.end_turn()] == ["response.cancel", *commit]
    assert not RealtimeWire({}).end_turn()


def test_a_realtime_server_is_given_the_history_and_told_what_was_heard() -> None:
    wire = RealtimeWire({"type": "realtime"})
    wire.hello(PAST)

    def replies(kind: str, at_ms: int, **more: Any) -> list[dict[str, Any]]:
        received = wire.receive(json.dumps({"type": kind, "event_id": "e", **more}), at_ms * NS_PER_MS)
        return [TYPES.read(str(reply)) for reply in received.replies]

    assert [one["type"] for one in replies("session.created", 0)] == ["session.update"]
    past = [one["item"] for one in replies("session.updated", 0)]
    assert [part for item in past for part in item["content"]] == [
        {"type": "input_text", "text": PAST[0].text},
        {"type": "output_text", "text": PAST[1].text},
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


def test_a_goodbye_alone_names_the_beta() -> None:
    refused = RealtimeWire({}).refusal(4000, "invalid_request_error.beta_api_shape_disabled")
    assert refused is not None
    assert "take OpenAI-Beta out of headers" in str(refused)
    assert RealtimeWire({}).refusal(1011, "the server is overloaded") is None


async def test_a_function_is_answered_and_the_reply_goes_on(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, "calls", TOOLS)
    assert said(recording) == "They are sad today."
    calls = [mark.name.rpartition(".")[2] for mark in recording.marks if "function_call" in mark.name]
    assert calls == ["begun", "ended"]
