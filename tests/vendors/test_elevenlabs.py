"""Calls to the scripted agents platform: figures, words and signed addresses, and each failure by name."""

import re
from pathlib import Path

import numpy as np
import pytest

from harness.agents.connection import AudioChunk, Cleared, ConnectionFailed
from harness.agents.connections import make
from harness.agents.connections.elevenlabs import ElevenLabsWire
from harness.agents.message import Message
from harness.timing import measure
from tests.vendors.calls import assert_nowhere, p95_ms, played, server, spec_of, ttfa_errors_ms
from tests.vendors.elevenlabs import AGENT, GOODBYES, HEARD, KEY, SAID, SIGNATURE, audio, said

PROFILE = f'kind = "elevenlabs"\nagent_id = "{AGENT}"\ngreets = false'
KEYED = f'{PROFILE}\napi_key_env = "{KEY}"'
FIRST = 'overrides = { agent = { first_message = "Hi" } }'
SECRET = "a-key-that-nobody-may-read-0123456789"


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("elevenlabs", PROFILE, tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("elevenlabs", PROFILE, tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10


async def test_a_private_agent_is_called_at_its_signed_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)
    async with server("elevenlabs", "private") as running:
        recording = (await played(spec_of(f"{KEYED}\n{FIRST}", running.url), tmp_path, 1))["0"]
    assert {(t.role, t.text) for t in recording.transcripts} == {("user", HEARD), ("assistant", SAID)}
    timing = measure(recording)
    assert timing.ttfa_ms is not None
    assert timing.ttft_ms is not None
    assert timing.waterfall is not None
    assert "elevenlabs.agent_response_complete" in {mark.name for mark in recording.marks}
    for secret in (SECRET, SIGNATURE):
        assert_nowhere(secret, tmp_path)


async def test_a_format_that_the_caller_does_not_send_is_named() -> None:
    async with server("elevenlabs", "ulaw") as running:
        with pytest.raises(ConnectionFailed, match="set input_rate_hz = 8000") as failure:
            await make(spec_of(PROFILE, running.url)).open(())
    assert failure.value.kind == "codec"


@pytest.mark.long
async def test_an_agent_of_the_telephone_is_spoken_to_in_its_format(tmp_path: Path) -> None:
    async with server("elevenlabs", "ulaw") as running:
        recording = (await played(spec_of(f"{PROFILE}\ninput_rate_hz = 8000", running.url), tmp_path, 1))["0"]
    assert recording.agent_rate_hz == 8_000
    assert measure(recording).ttfa_ms is not None


@pytest.mark.long
async def test_its_first_message_is_a_greeting(tmp_path: Path) -> None:
    async with server("elevenlabs", "greets") as running:
        recording = (await played(spec_of(PROFILE, running.url), tmp_path, 1))["0"]
    assert [t.text for t in recording.transcripts if t.role == "assistant"] == ["Hello there.", SAID]
    assert measure(recording).ttft_ms is not None


async def test_a_client_s_tool_answers(tmp_path: Path) -> None:
    async with server("elevenlabs", "tools") as running:
        spec = spec_of(f'{PROFILE}\n[[tools]]\nname = "look_up"\nanswer = "8 hours"', running.url)
        recording = (await played(spec, tmp_path, 1))["0"]
    assert [mark.name for mark in recording.marks if "tool" in mark.name] == [
        "elevenlabs.tool_call",
        "elevenlabs.tool_response",
    ]
    assert measure(recording).ttfa_ms is not None


@pytest.mark.parametrize("law", ["pcm", "ulaw"])
def test_sound_of_an_interrupted_reply_is_dropped(law: str) -> None:
    wire = ElevenLabsWire({}, 8_000)
    given = f"{law}_8000"
    formats = {"conversation_id": "c", "agent_output_audio_format": given, "user_input_audio_format": given}
    cut = said("interruption", interruption_event={"event_id": 5})
    pcm = np.array([0, 988, -19836], np.int16).tobytes()
    messages = (
        said("conversation_initiation_metadata", conversation_initiation_metadata_event=formats),
        *(audio(pcm, 4, law), audio(pcm, 5, law), cut, audio(pcm, 5, law), audio(pcm, 6, law)),
    )
    events = [event for at, message in enumerate(messages) for event in wire.receive(message, at).events]
    assert [(e.arrival_ns, e.pcm, e.rate_hz) for e in events if isinstance(e, AudioChunk)] == [
        (k, pcm, 8_000) for k in (1, 2, 5)
    ]
    assert [e.arrival_ns for e in events if isinstance(e, Cleared)] == [3]


@pytest.mark.parametrize(
    ("behaviour", "kind", "mend"),
    [
        ("private", "unauthorised", "api_key_env"),
        ("override", "refused", "Overrides"),
        ("misconfigured", "refused", "language model"),
    ],
)
async def test_a_refusal_has_the_server_s_words_and_how_it_is_mended(behaviour: str, kind: str, mend: str) -> None:
    async with server("elevenlabs", behaviour) as running:
        line = make(spec_of(f"{PROFILE}\n{FIRST}", running.url))
        with pytest.raises(ConnectionFailed, match=re.escape(GOODBYES[behaviour][1])) as failure:
            await line.open(())
        await line.close()
    assert failure.value.kind == kind
    assert mend in str(failure.value)


@pytest.mark.parametrize(
    ("behaviour", "words"), [("quota", r"busy: .*exceeds your quota limit"), ("drop", "closed_early: the line")]
)
async def test_an_end_in_the_call_is_named(behaviour: str, words: str, tmp_path: Path) -> None:
    async with server("elevenlabs", behaviour) as running:
        with pytest.raises(AssertionError, match=words):
            await played(spec_of(PROFILE, running.url), tmp_path, 1)


async def test_a_wrong_key_is_named_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server("elevenlabs", **{KEY: "another-one"}) as running:
        monkeypatch.setenv(KEY, SECRET)
        with pytest.raises(ConnectionFailed, match=f"the signed address: .*Invalid API key.*{KEY}") as failure:
            await make(spec_of(KEYED, running.url)).open(())
    assert failure.value.kind == "unauthorised"
    assert SECRET not in str(failure.value)


@pytest.mark.parametrize("patience_s", [0.2, 5])
async def test_a_slow_start_is_waited_for_as_long_as_the_profile_says(patience_s: float) -> None:
    async with server("elevenlabs", "slow") as running:
        line = make(spec_of(f"{PROFILE}\nopen_timeout_s = {patience_s}", running.url))
        if patience_s < 0.4:
            with pytest.raises(ConnectionFailed, match=r"conversation_initiation_metadata did not come within 0\.2 s"):
                await line.open(())
        else:
            await line.open(())
        await line.close()


async def test_there_is_no_place_for_a_history() -> None:
    with pytest.raises(ConnectionFailed, match="accepts no history") as failure:
        await make(spec_of(PROFILE, "ws://127.0.0.1:1/")).open((Message("user", "Hi."),))
    assert failure.value.kind == "no_history"
