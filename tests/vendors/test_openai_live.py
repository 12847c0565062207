"""Calls over `openai-live` to a full-duplex server that is made of OpenAI's own types."""

from pathlib import Path

import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.message import Message
from harness.agents.profile import ProfileError
from harness.replies.agent_words import said, understood
from harness.store.selection import is_agents_fault
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.openai_realtime import NO_MODEL, QUOTA, REGION

NAME = "openai_live"
PROFILE = 'kind = "openai-live"\ngreets = false\n'
TOOLS = '[[tools]]\nname = "mood_of"\nanswer = "They are sad today."\n'
KEY = "sk-only-for-this-test-48"


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms(NAME, PROFILE, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms(NAME, PROFILE, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_fragments_become_words_and_the_wire_says_that_it_is_full_duplex(tmp_path: Path) -> None:
    async with server(NAME) as running:
        spec = spec_of(f'{PROFILE}voice = "cedar"\n', running.url)
        assert make(spec).capabilities.full_duplex
        recording = (await played(spec, tmp_path, 1))["0"]
    assert (understood(recording), said(recording)) == ("I lost my job.", "That sounds really hard.")


async def test_the_history_is_in_the_first_message() -> None:
    async with server(NAME) as running:
        line = make(spec_of(PROFILE, running.url))
        await line.open([Message("user", "I lost my job."), Message("assistant", "I am so sorry.")])
        await line.close()


@pytest.mark.parametrize(
    ("behaviour", "more", "words"),
    [
        ("asks-caller", "", "Nobody is available"),
        ("calls", f'delegation_model = "gpt-5.4-mini"\nreasoning_effort = "low"\n{TOOLS}', "They are sad today."),
    ],
)
async def test_what_it_delegates_is_answered(tmp_path: Path, behaviour: str, more: str, words: str) -> None:
    async with server(NAME, behaviour) as running:
        recording = (await played(spec_of(PROFILE + more, running.url), tmp_path, 1))["0"]
    assert (said(recording) or "").startswith(words)
    assert [mark.name.rpartition(".")[2] for mark in recording.marks if "delegation" in mark.name] == ["begun", "ended"]


def test_a_function_needs_a_model_to_call_it() -> None:
    with pytest.raises(ProfileError, match="delegation_model is needed"):
        spec_of(PROFILE + TOOLS, "ws://127.0.0.1:9/v1/live/sessions")


@pytest.mark.parametrize(
    ("behaviour", "words", "mend"),
    [
        ("wrong-key", "Incorrect API key provided", "api_key_env"),
        ("quota", QUOTA[:-1], "no credit left"),
        ("no-credit", QUOTA[:-1], "no credit left"),
        ("region", REGION, "call from a place that it serves"),
        ("no-model", NO_MODEL[:-1], "check model"),
        ("realtime", "it is a Realtime server", '"openai-realtime"'),
        ("waits", "session.started did not come", ""),
    ],
)
async def test_what_people_get_wrong_is_named_in_the_server_s_words(behaviour: str, words: str, mend: str) -> None:
    async with server(NAME, behaviour) as running:
        line = make(spec_of(f"{PROFILE}open_timeout_s = 2\n", running.url))
        with pytest.raises(ConnectionFailed) as caught:
            await line.open(())
        await line.close()
    assert words in str(caught.value)
    assert mend in str(caught.value)
    assert is_agents_fault(caught.value.kind) == (behaviour == "waits")


async def test_a_wrong_route_is_named() -> None:
    async with server(NAME) as running:
        line = make(spec_of(PROFILE, running.url.replace("/v1/live/sessions", "/v1/realtime")))
        with pytest.raises(ConnectionFailed, match="live sessions are at /v1/live/sessions"):
            await line.open(())


@pytest.mark.parametrize(("behaviour", "words"), [("drops", "the server is overloaded"), ("filter", "safety filter")])
async def test_an_end_in_the_call_is_named(tmp_path: Path, behaviour: str, words: str) -> None:
    async with server(NAME, behaviour) as running:
        with pytest.raises(AssertionError, match=words):
            await played(spec_of(PROFILE, running.url), tmp_path, 1)


async def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    async with server(NAME, "slow") as running:
        assert await played(spec_of(f"{PROFILE}open_timeout_s = 5\n", running.url), tmp_path, 1)


async def test_the_key_opens_the_door_and_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVE_KEY", KEY)
    async with server(NAME, LIVE_KEY=KEY) as running:
        await played(spec_of(f'{PROFILE}api_key_env = "LIVE_KEY"\n', running.url), tmp_path, 1)
    assert_nowhere(KEY, tmp_path)
