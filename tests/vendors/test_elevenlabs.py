"""Calls to the scripted agents platform: signed addresses, its formats of sound, its greeting and its interruptions."""

from pathlib import Path

import numpy as np
import pytest

from harness.agents.connection import AudioChunk, Cleared, ConnectionFailed
from harness.agents.connections import make
from harness.agents.connections.elevenlabs import ElevenLabsWire
from harness.timing import measure
from tests.vendors.calls import PAST, PROFILES, SECRET, assert_nowhere, one_call, played, server, spec_of
from tests.vendors.elevenlabs import HEARD, SAID, SIGNATURE, audio, said

NAME = "elevenlabs"
FIRST = 'api_key_env = "VENDOR_KEY"\noverrides = { agent = { first_message = "Hi" } }\n'


async def test_a_private_agent_is_called_at_its_signed_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", SECRET)
    async with server(NAME, "private") as running:
        recording = (await played(spec_of(PROFILES[NAME] + FIRST, running.url), tmp_path, 1))["0"]
    assert {(t.role, t.text) for t in recording.transcripts} == {("user", HEARD), ("assistant", SAID)}
    timing = measure(recording)
    assert timing.ttfa_ms is not None
    assert timing.ttft_ms is not None
    assert timing.waterfall is not None
    assert "elevenlabs.agent_response_complete" in {mark.name for mark in recording.marks}
    for secret in (SECRET, SIGNATURE):
        assert_nowhere(secret, tmp_path)


@pytest.mark.long
async def test_an_agent_of_the_telephone_is_spoken_to_in_its_format(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, "ulaw", "input_rate_hz = 8000\n")
    assert recording.agent_rate_hz == 8_000
    assert measure(recording).ttfa_ms is not None


@pytest.mark.long
async def test_its_first_message_is_a_greeting(tmp_path: Path) -> None:
    recording = await one_call(NAME, tmp_path, "greets")
    assert [t.text for t in recording.transcripts if t.role == "assistant"] == ["Hello there.", SAID]
    assert measure(recording).ttft_ms is not None


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


async def test_there_is_no_place_for_a_history() -> None:
    with pytest.raises(ConnectionFailed, match="accepts no history") as failure:
        await make(spec_of(PROFILES[NAME], "ws://127.0.0.1:1/")).open(PAST)
    assert failure.value.kind == "no_history"
