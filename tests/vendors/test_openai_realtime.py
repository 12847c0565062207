"""Calls over `openai-realtime` to a server that is made of OpenAI's own types."""

import json
from pathlib import Path

import pytest

from harness.agents.connection import ENDS_TURNS, ConnectionFailed
from harness.agents.connections import make
from harness.agents.connections.openai_realtime import RealtimeWire
from harness.agents.message import Message
from harness.agents.reported_errors import error_said
from harness.replies.agent_words import said, understood
from harness.store.selection import is_agents_fault
from harness.timing import measure
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.openai_realtime import BETA, NO_MODEL, QUOTA, REGION, THINKS_S, TYPES, WORDS

NAME = "openai_realtime"
PROFILE = 'kind = "openai-realtime"\ngreets = false\nmodel = "gpt-realtime-2"\n'
TOOLS = '[[tools]]\nname = "mood_of"\nanswer = "They are sad today."\ndescription = "The caller\'s mood."\n'
KEY = "sk-only-for-this-test-47"


async def refusal(behaviour: str, more: str = "", history: tuple[Message, ...] = ()) -> ConnectionFailed:
    """The failure of a call that is not taken."""
    async with server(NAME, behaviour) as running:
        line = make(spec_of(f"{PROFILE}open_timeout_s = 2\n{more}", running.url))
        with pytest.raises(ConnectionFailed) as caught:
            await line.open(history)
        await line.close()
    return caught.value


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("more", ["", 'turn_detection = "none"\n'])
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path, more: str) -> None:
    errors_ms = await ttfa_errors_ms(NAME, PROFILE + more, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.parametrize("more", ["", 'turn_detection = "none"\n'])
@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path, more: str) -> None:
    errors_ms = await ttfa_errors_ms(NAME, PROFILE + more, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_a_call_gives_ttft_words_and_the_end_of_its_reply(tmp_path: Path) -> None:
    rich = 'voice = "marin"\nspeed = 1.2\nreasoning_effort = "low"\ntranscription_model = "whisper-1"\n'
    rich += 'turn_detection = { type = "semantic_vad", eagerness = "high" }\n'
    async with server(NAME) as running:
        recording = (await played(spec_of(PROFILE + rich, running.url), tmp_path, 1))["0"]
    timing = measure(recording)
    assert timing.ttft_ms == pytest.approx(THINKS_S * 1000, abs=10)
    assert (understood(recording), said(recording)) == ("I lost my job.", WORDS)
    assert not [mark for mark in recording.marks if mark.name == ENDS_TURNS or error_said(mark)]


async def test_a_turn_that_the_harness_ends_is_marked_and_has_no_decision(tmp_path: Path) -> None:
    async with server(NAME) as running:
        recording = (await played(spec_of(f'{PROFILE}turn_detection = "none"\n', running.url), tmp_path, 1))["0"]
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


def test_a_goodbye_alone_names_the_beta() -> None:
    refused = RealtimeWire({}).refusal(4000, "invalid_request_error.beta_api_shape_disabled")
    assert refused is not None
    assert "take OpenAI-Beta out of headers" in str(refused)
    assert RealtimeWire({}).refusal(1011, "the server is overloaded") is None


async def test_a_function_is_answered_and_the_reply_goes_on(tmp_path: Path) -> None:
    async with server(NAME, "calls") as running:
        recording = (await played(spec_of(PROFILE + TOOLS, running.url), tmp_path, 1))["0"]
    assert said(recording) == "They are sad today."
    calls = [mark.name.rpartition(".")[2] for mark in recording.marks if "function_call" in mark.name]
    assert calls == ["begun", "ended"]


@pytest.mark.parametrize(
    ("behaviour", "more", "words", "mend"),
    [
        ("wrong-key", "", "Incorrect API key provided", "api_key_env"),
        ("quota", "", QUOTA[:-1], "no credit left"),
        ("region", "", REGION, "call from a place that it serves"),
        ("no-model", "", NO_MODEL[:-1], "check model"),
        ("answers", 'headers = { OpenAI-Beta = "realtime=v1" }\n', BETA[:-1], "take OpenAI-Beta out of headers"),
        ("waits", "", "session.created", '"openai-live"'),
        ("unknown-setting", 'reasoning_effort = "low"\n', "Unknown parameter: 'session.reasoning'", "take the setting"),
    ],
)
async def test_what_people_get_wrong_is_named_in_the_server_s_words(behaviour: str, more: str, words: str, mend: str) -> None:
    failed = await refusal(behaviour, more)
    assert words in str(failed)
    assert mend in str(failed)
    assert is_agents_fault(failed.kind) == (behaviour in ("waits", "unknown-setting"))


async def test_a_slow_start_is_waited_for_and_a_drop_is_named(tmp_path: Path) -> None:
    async with server(NAME, "slow") as running:
        assert await played(spec_of(f"{PROFILE}open_timeout_s = 5\n", running.url), tmp_path / "slow", 1)
    async with server(NAME, "drops") as running:
        with pytest.raises(AssertionError, match="the server is overloaded"):
            await played(spec_of(PROFILE, running.url), tmp_path / "drops", 1)


async def test_the_key_opens_the_door_and_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REALTIME_KEY", KEY)
    profile = f'{PROFILE}api_key_env = "REALTIME_KEY"\n'
    async with server(NAME, REALTIME_KEY=KEY) as running:
        await played(spec_of(profile, running.url), tmp_path, 1)
        monkeypatch.setenv("REALTIME_KEY", f"{KEY}-wrong")
        with pytest.raises(ConnectionFailed, match="Incorrect API key") as caught:
            await make(spec_of(profile, running.url)).open(())
    assert KEY not in str(caught.value)
    assert_nowhere(KEY, tmp_path)
