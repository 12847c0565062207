"""Calls to Ultravox, whose scripted server is made of its published shapes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.agents.connection import Cleared, ConnectionFailed
from harness.agents.connections import make
from harness.agents.connections.ultravox import UltravoxWire
from harness.agents.message import Message
from harness.agents.profile import ProfileError, parse_profile
from harness.agents.reply_signs import sign_of
from harness.recording.record import Recording
from harness.timing import measure
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.ultravox import TTFT_S

OWN = 'kind = "ultravox"\nmodel = "ultravox-v0.7"\nvoice = "Mark"\ntemperature = 0.4\n'
STORED = 'kind = "ultravox"\nagent_id = "a1"\n'
KEYED = f'{OWN}api_key_env = "VENDOR_KEY"\n'
KEY = "Zf9c1e7ab25d.48c0a6e4d10c5e6f"
WITH_TOOL = f"""{OWN}
[[tools]]
name = "look_up"
description = "The weather in a city."
answer = "It rains."
parameters = {{ type = "object", properties = {{ city = {{ type = "string" }} }}, required = ["city"] }}
"""
PAST = (Message("user", "I cannot sleep."), Message("assistant", "What keeps you awake?"))


async def refused(behaviour: str, profile: str = OWN, history: Sequence[Message] = (), **environment: str) -> ConnectionFailed:
    """The failure of a call that is refused."""
    async with server("ultravox", behaviour, **environment) as running:
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec_of(profile, running.url)).open(history)
    assert KEY not in str(caught.value)
    return caught.value


async def one_call(tmp_path: Path, behaviour: str = "answers", profile: str = OWN) -> Recording:
    async with server("ultravox", behaviour) as running:
        return (await played(spec_of(profile, running.url), tmp_path, 1))["0"]


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("ultravox", OWN, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("ultravox", OWN, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_its_words_and_its_states_are_taken(tmp_path: Path) -> None:
    recording = await one_call(tmp_path)
    said = [(one.role, one.text) for one in recording.transcripts]
    assert said == [("user", "My brother moved out."), ("assistant", "That must feel empty.")]
    timing = measure(recording)
    assert timing.ttft_ms is not None
    assert timing.ttfa_ms is not None
    # A machine with other work may only be later.
    assert TTFT_S * 1e3 - 5 <= timing.ttft_ms < timing.ttfa_ms
    assert [sign for mark in recording.marks if (sign := sign_of(mark)) is not None] == ["begun", "done"]


async def test_a_tool_of_the_client_gets_its_fixed_answer(tmp_path: Path) -> None:
    recording = await one_call(tmp_path, "calls_a_tool", WITH_TOOL)
    said = [mark.detail["message"] for mark in recording.marks if mark.name == "ultravox.debug"]
    assert said == ["answered: It rains."]
    signs = [sign for mark in recording.marks if (sign := sign_of(mark)) is not None]
    assert signs == ["begun", "tool_called", "tool_done", "done"]


async def test_its_buffer_is_cleared_when_it_says_so(tmp_path: Path) -> None:
    assert (await one_call(tmp_path, "clears")).clears_ns
    assert UltravoxWire({}).receive('{"type": "playback_clear_buffer"}', 7).events == (Cleared(7),)


@pytest.mark.parametrize("profile", [OWN, STORED])
async def test_the_history_goes_with_the_request(profile: str) -> None:
    async with server("ultravox") as running:
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


async def test_the_key_goes_with_the_request_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    async with server("ultravox", VENDOR_KEY=KEY) as running:
        await played(spec_of(KEYED, running.url), tmp_path, 1)
    assert_nowhere(KEY, tmp_path)


@pytest.mark.parametrize(
    "profile", [KEYED, f'{OWN}headers = {{ Authorization = "Bearer ${{VENDOR_KEY}}" }}\n'], ids=["wrong key", "Bearer"]
)
async def test_a_refused_key_is_named_with_the_header_that_is_wanted(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY if "Bearer" in profile else "of-another-account")
    failed = await refused("answers", profile, VENDOR_KEY=KEY)
    assert failed.kind == "unauthorised"
    assert "Authentication credentials were not provided" in str(failed)
    assert "X-API-Key" in str(failed)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words", "mend"),
    [
        ("quota", "unauthorised", "no free minutes left", "credits"),
        ("too_many", "busy", "limit of 5 concurrent calls", "fewer calls at once"),
        ("no_agent", "not_found", "No Agent matches", "/api/calls"),
        ("expired", "not_found", "Call not found or already ended", "good for one caller"),
    ],
)
async def test_a_refusal_is_named_in_the_servers_words(behaviour: str, kind: str, words: str, mend: str) -> None:
    failed = await refused(behaviour, STORED if behaviour == "no_agent" else OWN)
    assert failed.kind == kind
    assert words in str(failed)
    assert mend in str(failed)


async def test_a_drop_in_the_reply_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="closed_early"):
        await one_call(tmp_path, "drops")


async def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    assert measure(await one_call(tmp_path, "slow_start")).ttfa_ms is not None
