"""Calls to Deepgram's Voice Agent, whose scripted server is made of deepgram-sdk's types."""

from pathlib import Path

import pytest

from harness.agents.connection import Closed, ConnectionFailed, Transcript
from harness.agents.connections import make
from harness.agents.profile import ProfileError, parse_profile
from harness.agents.reported_errors import error_said
from tests.vendors.calls import PAST, PROFILES, one_call, server, spec_of

NAME = "deepgram_agent"


async def test_the_history_goes_with_the_settings() -> None:
    """The server holds it to the vendor's types, and its history is no speech."""
    async with server(NAME, "repeats_history") as running:
        line = make(spec_of(PROFILES[NAME], running.url))
        assert line.capabilities.accepts_history
        await line.open(PAST)
        await line.close()
        events = [event async for event in line.events()]
    assert [type(event) for event in events if isinstance(event, Closed | Transcript)] == [Closed]


async def test_a_stored_agent_takes_none() -> None:
    stored = 'kind = "deepgram-agent"\nagent_id = "0f1e2d3c-stored"\n'
    async with server(NAME) as running:
        line = make(spec_of(stored, running.url))
        await line.open(())
        await line.close()
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec_of(stored, running.url)).open(PAST)
    assert caught.value.kind == "no_history"
    profile = parse_profile(f'{stored}url = "wss://agent.deepgram.com/v1/agent/converse"', Path("stored.toml"))
    assert not profile.accepts_a_history


@pytest.mark.parametrize("more", ["", 'agent_id = "a"\nthink = { model = "m" }', 'agent_id = "a"\ngreeting = "Hello"'])
def test_a_profile_is_one_agent(more: str) -> None:
    with pytest.raises(ProfileError, match="agent"):
        parse_profile(f'kind = "deepgram-agent"\nurl = "wss://agent.deepgram.com/"\n{more}\n', Path("mine.toml"))


async def test_an_error_in_the_call_is_in_the_recording(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, "fails_in_reply")
    assert [said for mark in recording.marks if (said := error_said(mark))] == ["The model did not answer (FAILED_TO_THINK)"]
