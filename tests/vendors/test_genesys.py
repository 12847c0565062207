"""Bots of Genesys AudioHook on pipecat's own serializer."""

from pathlib import Path

import pytest

from harness.agents.connection import AudioChunk, Cleared, ConnectionFailed, Event, Mark
from harness.agents.connections import make
from harness.calibrate.run import caller_turn
from harness.timeline import samples_to_ns
from tests.agents.conftest import _call as call
from tests.vendors.calls import p95_ms, server, spec_of, ttfa_errors_ms

PROFILE = 'kind = "genesys"\ngreets = false'


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
        line = make(spec_of(PROFILE, running.url))
        await line.open(())
        events = await call(line, asking(), frame_bytes=320)
        heard = await running.note()
    return events, heard


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    assert p95_ms(await ttfa_errors_ms("genesys", PROFILE, tmp_path)) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    assert p95_ms(await ttfa_errors_ms("genesys", PROFILE, tmp_path, calls=4)) <= 10


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


async def test_a_bot_that_breaks_off_has_a_name() -> None:
    events, _ = await called("drops")
    assert getattr(events[-1], "kind", None) == "closed_early"


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [("refuses", "refused", "403 This flow may not open sessions"), ("l16", "codec", "L16")],
)
async def test_a_refusal_is_named_in_the_bots_words(behaviour: str, kind: str, words: str) -> None:
    async with server("genesys", behaviour) as running:
        with pytest.raises(ConnectionFailed, match=words) as caught:
            await make(spec_of(PROFILE, running.url)).open(())
    assert caught.value.kind == kind
