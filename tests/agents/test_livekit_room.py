"""What a room says, without a room: states, words, the wait in the SDK's buffer, refusals and tokens of others."""

import base64
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents.connection import Mark, Transcript
from harness.agents.connections.livekit_room import BufferDelay, States, Words, fault_of_token, refusal
from harness.agents.connections.what_to_check import Place
from harness.agents.reply_signs import sign_of
from tests.agents.printed import moves_no_cursor

PLACE = Place("wss", "without a path", ("LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"))


def test_only_an_agent_that_has_spoken_ends_a_reply_by_listening() -> None:
    states = States()
    told = ("initializing", "listening", "thinking", "listening", "thinking", "speaking", "speaking", "thinking", "listening")
    found = [mark for state in told for mark in states.take(state, 1)]
    assert [sign_of(mark) for mark in found] == [None, None, "begun", None, "begun", "begun", "begun", "done"]


@given(st.text())
def test_any_state_is_a_mark_that_can_be_shown(state: str) -> None:
    for mark in States().take(state, 1):
        assert mark.name.startswith("livekit.")
        assert moves_no_cursor(f"{mark.name}{mark.detail.get('state', '')}")


def test_words_that_come_both_ways_are_one_transcript_and_words_said_twice_are_two() -> None:
    words = Words()

    def heard(text: str, *, streamed: bool, final: bool = True, by_caller: bool = True) -> list[tuple[str, bool]]:
        found = words.take(text, 1, by_caller=by_caller, final=final, streamed=streamed)
        assert [one.name for one in found if isinstance(one, Mark)] == (
            ["livekit.user_transcription"] if found and final else []
        )
        return [(one.text, one.final) for one in found if isinstance(one, Transcript)]

    assert heard("I feel", streamed=True, final=False) == [("I feel", False)]
    assert heard("I feel low", streamed=False) == [("I feel low", True)]
    assert heard("I feel low", streamed=True) == []
    assert heard("I feel low", streamed=True) == [("I feel low", True)]
    assert heard("I feel low", streamed=False) == []
    assert heard("I feel", streamed=False, final=False) == []
    assert heard("  ", streamed=True) == []


def stats(decoded: int, waited_s: float, inserted: int, removed: int, lost: int = 0) -> Any:
    inbound = SimpleNamespace(
        jitter_buffer_emitted_count=decoded, total_processing_delay=waited_s, inserted_samples_for_deceleration=inserted,
        removed_samples_for_acceleration=removed, concealed_samples=480,
    )  # fmt: skip
    return SimpleNamespace(inbound=inbound, received=SimpleNamespace(packets_lost=lost, packets_received=9))


def test_a_wait_is_that_of_the_latest_packets_and_of_what_was_stretched() -> None:
    delay = BufferDelay()
    delay.take(stats(48_000, 48_000 * 0.020, 0, 0))
    assert delay.ns == round((0.020 + 30 / 48_000) * 1e9)
    delay.take(stats(50_400, 48_000 * 0.020 + 2_400 * 0.0255, 1_080, 0, lost=3))
    assert delay.ns == round((0.0255 + 150 / 48_000) * 1e9)
    assert delay.lost == 3
    before = delay.ns
    delay.take(stats(50_400, 48_000 * 0.020 + 2_400 * 0.0255, 1_200, 0))
    assert delay.ns == before, "nothing was decoded since"


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ("engine: signal failure: client error: 404 Not Found - 404 page not found", "not_found", "without a path"),
        ("engine: signal failure: client error: 403 Forbidden - limit exceeded", "unauthorised", "limit exceeded"),
        (
            "engine: signal failure: transport connection error: IO error: Connection refused (os error 111)",
            "refused",
            "listens",
        ),
        (
            "engine: signal failure: transport connection error: IO error: received corrupt message of type X",
            "not_found",
            "ws://",
        ),
        ("engine: something new\x1b[2J", "refused", "something new"),
    ],
)
def test_a_refusal_has_the_server_s_words_and_what_to_do(words: str, kind: str, said: str) -> None:
    failed = refusal(words, PLACE)
    assert failed.kind == kind
    assert said in str(failed)
    assert moves_no_cursor(str(failed))


def token(claims: object) -> str:
    return f"h.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.s"


@given(st.text() | st.recursive(st.none() | st.integers(), st.lists).map(token))
def test_what_is_no_token_is_named(text: str) -> None:
    assert fault_of_token(text)


def test_a_token_is_good_with_its_grant_until_it_expires() -> None:
    video = {"roomJoin": True, "room": "a"}
    assert fault_of_token(token({"exp": time.time() + 60, "video": video})) == ""
    assert "expired" in fault_of_token(token({"exp": time.time() - 60, "video": video}))
    assert "room_join" in fault_of_token(token({"exp": time.time() + 60, "video": {"room": "a"}}))
    assert "room_join" in fault_of_token(token({"video": {"roomAdmin": True}}))
