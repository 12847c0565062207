"""Calls to Deepgram's Voice Agent, whose scripted server is made of deepgram-sdk's types."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.agents.connection import Closed, ConnectionFailed, Event, Mark, Transcript
from harness.agents.connections import make
from harness.agents.message import Message
from harness.agents.profile import ProfileError, parse_profile
from harness.agents.reply_signs import sign_of
from harness.agents.reported_errors import error_said
from harness.recording.record import Recording
from harness.timing import measure
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.deepgram_agent import TTFT_S

PROFILE = """kind = "deepgram-agent"
greets = false
think = { type = "open_ai", model = "gpt-4o-mini", temperature = 0.7 }
listen = { type = "deepgram", model = "nova-3" }
speak = { type = "deepgram", model = "aura-2-thalia-en" }
"""
KEYED = f'{PROFILE}api_key_env = "VENDOR_KEY"\n'
KEY = "3f9c1e7ab25d48c0a6e4"
WITH_TOOL = f"""{PROFILE}
[[tools]]
name = "look_up"
description = "The weather in a city."
answer = "It rains."
parameters = {{ type = "object", properties = {{ city = {{ type = "string" }} }}, required = ["city"] }}
"""
PAST = (Message("user", "I cannot sleep."), Message("assistant", "What keeps you awake?"))


async def refused(
    behaviour: str, profile: str = PROFILE, history: Sequence[Message] = (), **environment: str
) -> ConnectionFailed:
    """The failure of a call that is refused."""
    async with server("deepgram_agent", behaviour, **environment) as running:
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec_of(profile, running.url)).open(history)
    assert KEY not in str(caught.value)
    return caught.value


async def one_call(tmp_path: Path, behaviour: str = "answers", profile: str = PROFILE) -> Recording:
    async with server("deepgram_agent", behaviour) as running:
        return (await played(spec_of(profile, running.url), tmp_path, 1))["0"]


def marks(events: Sequence[Event] | Recording, name: str) -> list[Mark]:
    found = events.marks if isinstance(events, Recording) else [one for one in events if isinstance(one, Mark)]
    return [mark for mark in found if mark.name == f"deepgram.{name}"]


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("deepgram_agent", PROFILE, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("deepgram_agent", PROFILE, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_its_words_and_its_durations_are_taken(tmp_path: Path) -> None:
    recording = await one_call(tmp_path)
    said = [(one.role, one.text) for one in recording.transcripts]
    assert said == [("user", "My brother moved out."), ("assistant", "That must feel empty.")]
    timing = measure(recording)
    assert timing.ttft_ms == pytest.approx(TTFT_S * 1e3, abs=1)
    signs = [sign for mark in recording.marks if (sign := sign_of(mark)) is not None]
    assert signs == ["begun", "done"]


async def test_a_function_of_the_client_gets_its_fixed_answer(tmp_path: Path) -> None:
    recording = await one_call(tmp_path, "calls_a_function", WITH_TOOL)
    assert [mark.detail["message"] for mark in marks(recording, "warning")] == ["answered: It rains."]
    signs = [sign for mark in recording.marks if (sign := sign_of(mark)) is not None]
    assert signs == ["begun", "tool_called", "tool_done", "done"]


async def test_the_history_goes_with_the_settings() -> None:
    """The server holds it to the vendor's types, and its history is no speech."""
    async with server("deepgram_agent", "repeats_history") as running:
        line = make(spec_of(PROFILE, running.url))
        assert line.capabilities.accepts_history
        await line.open(PAST)
        await line.close()
        events = [event async for event in line.events()]
    assert [type(event) for event in events if isinstance(event, Closed | Transcript)] == [Closed]


async def test_a_stored_agent_takes_none() -> None:
    stored = 'kind = "deepgram-agent"\nagent_id = "0f1e2d3c-stored"\n'
    async with server("deepgram_agent") as running:
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


async def test_the_key_goes_as_a_token_and_stays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    async with server("deepgram_agent", VENDOR_KEY=KEY) as running:
        await played(spec_of(KEYED, running.url), tmp_path, 1)
    assert_nowhere(KEY, tmp_path)


@pytest.mark.parametrize(
    "profile",
    [KEYED, f'{PROFILE}headers = {{ Authorization = "Bearer ${{VENDOR_KEY}}" }}\n', PROFILE],
    ids=["wrong key", "Bearer", "no key"],
)
async def test_a_refused_key_is_named_with_the_form_that_is_wanted(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY if "Bearer" in profile else "of-another-project")
    failed = await refused("answers", profile, VENDOR_KEY=KEY)
    assert failed.kind == "unauthorised"
    assert "Invalid credentials" in str(failed)
    assert "Token" in str(failed)
    assert "api_key_env" in str(failed)


@pytest.mark.parametrize(
    ("behaviour", "words", "mend"),
    [
        ("no_model", "The requested model is not available to this project", "check think"),
        ("quota", "Project has no credits left", "INSUFFICIENT_CREDITS"),
        ("too_many", "Too many requests", "fewer calls at once"),
    ],
)
async def test_a_refusal_is_named_in_the_servers_words(behaviour: str, words: str, mend: str) -> None:
    failed = await refused(behaviour)
    assert words in str(failed)
    assert mend in str(failed)
    assert failed.kind == ("busy" if behaviour == "too_many" else "refused")


async def test_settings_that_are_never_applied_are_waited_for_by_name() -> None:
    failed = await refused("never_applied", f"{PROFILE}open_timeout_s = 1\n")
    assert failed.kind == "open_timeout"
    assert "SettingsApplied" in str(failed)


async def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    assert measure(await one_call(tmp_path, "slow_start")).ttfa_ms is not None


async def test_a_drop_in_the_reply_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="closed_early"):
        await one_call(tmp_path, "drops")


async def test_an_error_in_the_call_is_in_the_recording(tmp_path: Path) -> None:
    recording = await one_call(tmp_path, "fails_in_reply")
    assert [said for mark in recording.marks if (said := error_said(mark))] == ["The model did not answer (FAILED_TO_THINK)"]
