"""Calls to Vapi, whose scripted server is made of vapi-server-sdk's types."""

from pathlib import Path

import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.message import Message
from harness.agents.profile import ProfileError, parse_profile
from harness.agents.reply_signs import sign_of
from harness.recording.record import Recording
from harness.timing import measure
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.vapi import TTFT_S

STORED = 'kind = "vapi"\nagent_id = "b0e0"\ngreets = false\n'
OWN = """kind = "vapi"
think = { provider = "openai", model = "gpt-4o-mini", temperature = 0.7 }
listen = { provider = "deepgram", model = "nova-3" }
speak = { provider = "vapi", voiceId = "Elliot" }
"""
KEYED = f'{STORED}api_key_env = "VENDOR_KEY"\n'
KEY = "0f9c1e7a-b25d-48c0-a6e4-d10c5e6f7a8b"
PAST = (Message("user", "I cannot sleep."), Message("assistant", "What keeps you awake?"))


async def one_call(tmp_path: Path, behaviour: str = "answers", profile: str = STORED) -> Recording:
    async with server("vapi", behaviour) as running:
        return (await played(spec_of(profile, running.url), tmp_path, 1))["0"]


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("vapi", STORED, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("vapi", STORED, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_its_words_and_its_events_are_taken(tmp_path: Path) -> None:
    recording = await one_call(tmp_path)
    said = [(one.role, one.text) for one in recording.transcripts]
    assert said == [("user", "My brother moved out."), ("assistant", "That must feel empty.")]
    timing = measure(recording)
    assert timing.ttft_ms is not None
    assert timing.ttfa_ms is not None
    # A machine with other work may only be later.
    assert TTFT_S * 1e3 - 5 <= timing.ttft_ms < timing.ttfa_ms
    assert [sign for mark in recording.marks if (sign := sign_of(mark)) is not None] == ["begun", "done"]


async def test_an_assistant_of_ones_own_takes_the_history() -> None:
    """The server holds the request to the vendor's types."""
    async with server("vapi") as running:
        line = make(spec_of(OWN, running.url))
        assert line.capabilities.accepts_history
        await line.open(PAST)
        await line.close()
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec_of(STORED, running.url)).open(PAST)
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


async def test_the_key_goes_with_the_request_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    async with server("vapi", VENDOR_KEY=KEY) as running:
        await played(spec_of(KEYED, running.url), tmp_path, 1)
    assert_nowhere(KEY, tmp_path)


async def test_a_refused_key_is_named_in_the_servers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", "the-public-key-of-a-browser")
    async with server("vapi", VENDOR_KEY=KEY) as running:
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec_of(KEYED, running.url)).open(())
    assert caught.value.kind == "unauthorised"
    assert "you may be using the private key instead of the public key" in str(caught.value)
    assert "VENDOR_KEY" in str(caught.value)
    assert KEY not in str(caught.value)


async def test_a_refusal_is_named_in_the_servers_words() -> None:
    expected = [
        ("other_organisation", "not_found", "Couldn't Find Assistant", "organisation"),
        ("too_many", "busy", "Over Concurrency Limit", "fewer calls at once"),
        ("quota", "unauthorised", "Wallet Balance is -0.12", "credits"),
        ("no_address", "garbage", "transport.websocketCallUrl", "POST /call"),
    ]
    async with server("vapi") as running:
        for agent, kind, words, mend in expected:
            with pytest.raises(ConnectionFailed) as caught:
                await make(spec_of(STORED.replace("b0e0", agent), running.url)).open(())
            assert caught.value.kind == kind
            assert words in str(caught.value)
            assert mend in str(caught.value)


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("ends_for_credits", "unauthorised", "call.start.error-subscription-insufficient-credits"),
        ("ends_for_model", "unauthorised", "pipeline-error-openai-403-model-access-denied"),
        ("drops", "closed_early", "the line broke"),
    ],
)
async def test_a_call_that_ends_says_why(behaviour: str, kind: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        await one_call(tmp_path, behaviour)
    assert f"{kind}: " in str(caught.value)
    assert words in str(caught.value)


async def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    assert measure(await one_call(tmp_path, "slow_start")).ttfa_ms is not None
