"""A session that has ended leaves nothing behind: an agent may serve callers for days."""

import asyncio
import gc

import websockets

from harness.agents.cascade.pipeline import Session
from tests.agents.cascade import scripted_parts as scripted

CALLS = 3


def sessions_there() -> int:
    return sum(isinstance(each, Session) for each in gc.get_objects())


async def test_the_sessions_of_callers_who_left_are_freed() -> None:
    settings = {"stt": {"service": "streaming-whisper"}, "endpoint": {"policy": "fixed", "silence_ms": 500}}
    async with scripted.cascade(scripted.Truth(), settings) as url:
        for _ in range(CALLS):
            async with websockets.connect(url, compression=None):
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)
        # The last may still be on its way out.
        assert sessions_there() <= 1
