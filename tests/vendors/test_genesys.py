"""Bots of Genesys AudioHook on pipecat's own serializer."""

import pytest

from harness.agents.connection import AudioChunk, Cleared, Event, Mark
from harness.agents.connections import make
from harness.calibrate.run import caller_turn
from harness.timeline import samples_to_ns
from tests.agents.conftest import _call as call
from tests.vendors.calls import PROFILES, server, spec_of


def asking() -> bytes:
    """A caller's turn at 8 kHz, and the wait for its answer."""
    return caller_turn(1).played[::2].astype("<i2").tobytes() + bytes(16_000 * 4)


def beginnings(chunks: list[AudioChunk]) -> int:
    """How often a message found the playout of all messages before it at its end."""
    count, until_ns = 0, 0
    for chunk in chunks:
        count += chunk.arrival_ns >= until_ns
        until_ns = max(until_ns, chunk.arrival_ns) + samples_to_ns(len(chunk.pcm) // 2, chunk.rate_hz)
    return count


async def called(behaviour: str) -> tuple[list[Event], list[str]]:
    """All events of a call, and the types of the texts that its bot got."""
    async with server("genesys", behaviour) as running:
        line = make(spec_of(PROFILES["genesys"], running.url))
        await line.open(())
        events = await call(line, asking(), frame_bytes=320)
        heard = await running.note()
    return events, heard


async def test_the_carriers_words_are_those_of_audiohook() -> None:
    """A bot that a busy machine makes late lets playback run dry in mid-reply, and then it begins and ends once more."""
    events, heard = await called("answers")
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    opened, *played, closed = (word for word in heard if word != "ping")
    assert (opened, closed) == ("open", "close")
    assert played == ["playback_started", "playback_completed"] * (len(played) // 2)
    assert 1 <= len(played) // 2 <= beginnings(chunks)
    assert "ping" in heard


@pytest.mark.long
async def test_what_has_not_been_played_is_dropped_at_a_barge_in() -> None:
    events, _ = await called("interrupts")
    assert len([event for event in events if isinstance(event, Cleared)]) == 1


@pytest.mark.long
async def test_a_bot_that_wants_to_end_the_call_is_answered() -> None:
    events, heard = await called("leaves")
    assert [event.detail["reason"] for event in events if isinstance(event, Mark)] == ["completed"]
    assert heard[-1] == "close"
