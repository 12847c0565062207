"""What the caller takes for a reply while the call runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.connection import AudioChunk, Cleared, Event
from harness.agents.connections.scripted import Script, ScriptedConnection
from harness.caller import CallerTurn, Limits, Pacer, SessionPlan, play_session
from harness.caller.listener import Listener
from harness.clock import now_ns
from harness.timeline import NS_PER_MS
from tests.virtual_time.clock import virtual_time

RATE_HZ = 24_000


def sound(ms: float) -> NDArray[np.int16]:
    return np.full(round(RATE_HZ * ms / 1000), 3_000, np.int16)


def at(ms: float) -> int:
    return 5_000_000_000 + round(ms * NS_PER_MS)


def heard(*messages: tuple[float, float]) -> Listener:
    """A listener to whom sound came at each time, of so many ms."""
    listener = Listener()
    for start_ms, length_ms in messages:
        listener.hear(at(start_ms), sound(length_ms), RATE_HZ)
    return listener


def test_what_is_taken_back_in_31_ms_was_not_heard() -> None:
    listener = heard((0, 400))
    listener.clear(at(31))
    assert not listener.heard_after(at(-1))
    listener.hear(at(1_800), sound(100), RATE_HZ)
    assert listener.sound_start_ns == at(1_800)
    assert listener.sound_end_ns == at(1_900)


@pytest.mark.parametrize("ms", [701, 890])
def test_what_is_longer_than_a_backchannel_stays_heard_until_it_was_cleared(ms: float) -> None:
    listener = heard((0, 900))
    listener.clear(at(ms))
    assert (listener.sound_start_ns, listener.sound_end_ns) == (at(0), at(ms))


def test_the_end_of_a_longer_utterance_is_not_withdrawn() -> None:
    listener = heard((0, 400), (700, 300))
    listener.clear(at(750))
    assert listener.sound_end_ns == at(750)


def test_before_what_was_withdrawn_the_last_reply_is_the_one_before() -> None:
    listener = heard((0, 300), (1_500, 300))
    listener.clear(at(1_550))
    assert listener.sound_end_ns == at(300)
    listener.hear(at(1_560), sound(100), RATE_HZ)
    listener.clear(at(1_600))
    assert listener.sound_end_ns == at(300)


def test_a_clear_long_after_a_short_word_leaves_it_said() -> None:
    listener = heard((0, 150))
    listener.clear(at(300))
    assert listener.sound_end_ns == at(150)


def test_what_never_sounded_is_forgotten_whole() -> None:
    listener = heard((0, 800), (100, 3_000))
    listener.clear(at(800))
    listener.hear(at(2_000), sound(3_000), RATE_HZ)
    listener.clear(at(1_999))
    assert listener.sound_end_ns == at(800)


def test_what_is_taken_back_for_the_caller_s_own_words_was_heard() -> None:
    listener = heard((0, 400))
    listener.mark()
    listener.hear(at(50), sound(100), RATE_HZ)
    listener.clear(at(120))
    assert listener.sound_end_ns == at(120)


class _BeginsFalsely(ScriptedConnection):
    """Clears 31 ms into the first thing it says."""

    async def events(self) -> AsyncIterator[Event]:
        begun = False
        async for event in super().events():
            yield event
            if isinstance(event, AudioChunk) and not begun:
                begun = True
                await asyncio.sleep(0.031)
                yield Cleared(now_ns())


def test_a_caller_waits_for_the_answer_after_what_was_taken_back(tone: NDArray[np.int16], scripted: Any) -> None:
    replies = [
        {"delay_ms": 100, "sound": [{"kind": "tone", "ms": 40}]},
        {"delay_ms": 900, "sound": [{"kind": "tone", "ms": 300}]},
    ]
    plan = SessionPlan(
        scripted(replies=replies), (CallerTurn(tone),), 16_000, limits=Limits(quiet_s=0.4, no_reply_s=1.2, total_s=4.0)
    )

    async def run() -> Any:
        return await play_session(plan, _BeginsFalsely(Script(**plan.connection.options)), Pacer())

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        recording, outcome = runner.run(run())
    assert len(recording.clears_ns) == 1
    assert outcome.ended == "quiet"
    assert len(recording.agent_pcm) == 340 * RATE_HZ // 1_000
