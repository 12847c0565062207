"""Calls over `openai-live` to a full-duplex server that is made of OpenAI's own types."""

from pathlib import Path

import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.profile import ProfileError
from harness.replies.agent_words import said, understood
from tests.vendors.calls import PAST, PROFILES, one_call, played, server, spec_of

NAME = "openai_live"
TOOLS = '[[tools]]\nname = "mood_of"\nanswer = "They are sad today."\n'


async def test_fragments_become_words_and_the_wire_says_that_it_is_full_duplex(tmp_path: Path) -> None:
    async with server(NAME) as running:
        spec = spec_of(PROFILES[NAME] + 'voice = "cedar"\n', running.url)
        assert make(spec).capabilities.full_duplex
        recording = (await played(spec, tmp_path, 1))["0"]
    assert (understood(recording), said(recording)) == ("I lost my job.", "That sounds really hard.")


async def test_the_history_is_in_the_first_message() -> None:
    async with server(NAME) as running:
        line = make(spec_of(PROFILES[NAME], running.url))
        await line.open(PAST)
        await line.close()


@pytest.mark.parametrize(
    ("behaviour", "more", "words"),
    [
        ("asks-caller", "", "Nobody is available"),
        ("calls", f'delegation_model = "gpt-5.4-mini"\nreasoning_effort = "low"\n{TOOLS}', "They are sad today."),
    ],
)
async def test_what_it_delegates_is_answered(tmp_path: Path, behaviour: str, more: str, words: str) -> None:
    recording = await one_call(NAME, tmp_path, behaviour, more)
    assert (said(recording) or "").startswith(words)
    assert [mark.name.rpartition(".")[2] for mark in recording.marks if "delegation" in mark.name] == ["begun", "ended"]


def test_a_function_needs_a_model_to_call_it() -> None:
    with pytest.raises(ProfileError, match="delegation_model is needed"):
        spec_of(PROFILES[NAME] + TOOLS, "ws://127.0.0.1:9/v1/live/sessions")


async def test_a_wrong_route_is_named() -> None:
    async with server(NAME) as running:
        line = make(spec_of(PROFILES[NAME], running.url.replace("/v1/live/sessions", "/v1/realtime")))
        with pytest.raises(ConnectionFailed, match="live sessions are at /v1/live/sessions"):
            await line.open(())
