"""Calls to Vapi, whose scripted server is made of vapi-server-sdk's types."""

from pathlib import Path

import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.profile import ProfileError, parse_profile
from tests.vendors.calls import PAST, PROFILES, server, spec_of

OWN = """kind = "vapi"
think = { provider = "openai", model = "gpt-4o-mini", temperature = 0.7 }
listen = { provider = "deepgram", model = "nova-3" }
speak = { provider = "vapi", voiceId = "Elliot" }
"""


async def test_an_assistant_of_ones_own_takes_the_history() -> None:
    """The server holds the request to the vendor's types."""
    async with server("vapi") as running:
        line = make(spec_of(OWN, running.url))
        assert line.capabilities.accepts_history
        await line.open(PAST)
        await line.close()
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec_of(PROFILES["vapi"], running.url)).open(PAST)
    assert caught.value.kind == "no_history"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "agent"),
        ('agent_id = "b"\nthink = { provider = "openai" }', "agent"),
        ('agent_id = "b"\ninstructions = "Hi"', "agent"),
        ('agent_id = "b"\nurl = "wss://api.vapi.ai/7420f27a/transport"', "one call alone"),
    ],
)
def test_a_profile_is_one_assistant_and_no_call(more: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        parse_profile(
            f'kind = "vapi"\n{more}\n' + ("" if "url" in more else 'url = "https://api.vapi.ai/call"'), Path("mine.toml")
        )
