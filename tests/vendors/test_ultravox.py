"""Calls to Ultravox, whose scripted server is made of its published shapes."""

from pathlib import Path

import pytest

from harness.agents.connection import Cleared
from harness.agents.connections import make
from harness.agents.connections.ultravox import UltravoxWire
from harness.agents.profile import ProfileError, parse_profile
from tests.vendors.calls import PAST, PROFILES, one_call, server, spec_of
from tests.vendors.ultravox import STORED

NAME = "ultravox"


async def test_its_buffer_is_cleared_when_it_says_so(tmp_path: Path) -> None:
    assert (await one_call(NAME, tmp_path, "clears")).clears_ns
    assert UltravoxWire({}).receive('{"type": "playback_clear_buffer"}', 7).events == (Cleared(7),)


@pytest.mark.parametrize("profile", [PROFILES[NAME], STORED])
async def test_the_history_goes_with_the_request(profile: str) -> None:
    async with server(NAME) as running:
        line = make(spec_of(profile, running.url))
        assert line.capabilities.accepts_history
        await line.open(PAST)
        await line.close()


def test_what_is_put_together_of_deltas_has_an_end() -> None:
    wire = UltravoxWire({})
    for _ in range(40):
        wire.receive('{"type": "transcript", "role": "agent", "delta": "' + "x" * 10_000 + '"}', 1)
    (said,) = wire.receive('{"type": "transcript", "role": "agent", "final": true}', 1).events
    assert len(said.text) == 100_000  # type: ignore[union-attr]


def test_a_used_address_is_no_profile() -> None:
    with pytest.raises(ProfileError, match="one call alone"):
        parse_profile('kind = "ultravox"\nurl = "wss://voice.ultravox.ai/calls/c"\n', Path("mine.toml"))
