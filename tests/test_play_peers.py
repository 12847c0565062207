"""Peers are called with what `agents new` writes, and their services answer as an OpenAI-compatible server does."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openai
import pytest

from harness.agents.new_profile import commented_profile
from harness.agents.profile import parse_profile, profile_kinds
from tests.play_peers import PAGE, TABLE, DoesNotWork, Peer, Row, edited, peers_to_play, play, scripted_server, table

ENVIRONMENTS, PEERS = peers_to_play()
CALLED = [peer for peer in PEERS if peer.command and peer.kind in profile_kinds()]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with scripted_server() as address:
        yield address


@pytest.mark.parametrize("peer", CALLED, ids=lambda peer: peer.name)
def test_its_profile_loads_with_two_edited_lines_at_most(peer: Peer) -> None:
    text = edited(commented_profile(peer.kind, command=["serve", "{port}"]), peer.edits)
    profile = parse_profile(text, Path("peer.toml"))
    assert profile.kind == peer.kind
    assert len(peer.edits) + peer.edited_in_bot <= 2
    for line in peer.edits.values():
        assert line in text.splitlines()


def test_a_line_that_is_not_there_cannot_be_edited() -> None:
    with pytest.raises(DoesNotWork, match="no line for volume"):
        edited(commented_profile("raw-pcm"), {"volume": "volume = 3"})


def test_packages_of_others_are_pinned() -> None:
    for environment in ENVIRONMENTS.values():
        for package in environment.alone or environment.packages:
            assert re.search(r"==\d", package), package


def test_every_peer_is_in_the_table_of_the_page() -> None:
    found = TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    for peer in PEERS:
        assert f"| {peer.name} |" in found[0]


def test_a_peer_without_its_program_is_not_had(tmp_path: Path) -> None:
    row = play(Peer("a", "pipecat", "sip", "serve", needs="no-such-proxy"), ENVIRONMENTS, tmp_path, "http://127.0.0.1:1")
    assert (row.outcome, "needs no-such-proxy" in row.remark) == ("not had", True)
    assert not list(tmp_path.iterdir()), "nothing is installed for it"


def test_a_row_says_what_was_had_and_what_was_not() -> None:
    played = Row("a", "twilio", "a 1.0", 1, "2026-01-02", turns=20, ttfa=19, ttft=0)
    missing = Row("b", "sip", "", 0, "2026-01-02", outcome="not had", remark="waits for <kind|sip>")
    lines = table([played, missing]).splitlines()
    assert lines[2] == "| a | a 1.0 | `twilio` | 20 | 19 of 20 | 0 of 20 | 1 | 2026-01-02 |  |"
    assert lines[3].endswith("| not had: waits for &lt;kind\\|sip> |")


def test_the_scripted_services_answer_as_openai_s_do(server: str) -> None:
    client = openai.OpenAI(base_url=server, api_key="none")
    asked = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "hello"}], stream=True)
    said = "".join(part.choices[0].delta.content or "" for part in asked if part.choices)
    assert len(said.split()) > 4
    heard = client.audio.transcriptions.create(model="any", file=("a.wav", b"RIFF", "audio/wav"))
    assert heard.text
    sound = client.audio.speech.create(model="any", voice="alloy", input=said, response_format="pcm").content
    samples = np.frombuffer(sound, "<i2")
    assert 1 < len(samples) / 24_000 < 3
    assert np.abs(samples.astype(int)).max() > 8_000
    with client.audio.speech.with_streaming_response.create(
        model="any", voice="alloy", input=said, response_format="pcm", stream_format="sse"
    ) as stream:
        events = [json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line]
    assert b"".join(base64.b64decode(e["audio"]) for e in events if e["type"] == "speech.audio.delta") == sound
    assert events[-1]["type"] == "speech.audio.done"
    mp3 = client.audio.speech.create(model="any", voice="alloy", input=said).content
    assert mp3[:3] == b"ID3" or mp3[0] == 0xFF
