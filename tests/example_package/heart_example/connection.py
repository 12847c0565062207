"""A connection to an agent that hums a second after its caller fell silent. A real one would dial `url` in `open`."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence

import numpy as np

from harness.agents.connection import AudioChunk, Capabilities, Closed, Connection, Event, Transcript
from harness.agents.message import Message

from .voice import hum

RATE_HZ = 24_000
LOUD = 100
"""A sample above this is speech: 50 dB under full scale."""


class AnswersInASecond:
    """One call. Frames come in by `send`, which must never wait; what the agent does goes out by `events`."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self.capabilities = Capabilities(True, int(str(options["input_rate_hz"])), RATE_HZ)
        self._words = str(options.get("words", "I am with you. What weighs most?"))
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._due: asyncio.TimerHandle | None = None

    async def open(self, history: Sequence[Message]) -> None:
        self._history = history  # what a real agent answers from

    def send(self, frame: bytes) -> None:
        if np.abs(np.frombuffer(frame, np.int16).astype(np.int32)).max(initial=0) > LOUD:
            self._wait_no_more()
            self._due = asyncio.get_running_loop().call_later(1.0, self._answer)

    async def events(self) -> AsyncIterator[Event]:
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, Closed):
                return

    async def close(self) -> None:
        self._wait_no_more()
        self._events.put_nowait(Closed(time.monotonic_ns()))

    def _wait_no_more(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _answer(self) -> None:
        # Bytes are stamped when they arrive: figures are made from these instants and from the sound itself.
        now_ns = time.monotonic_ns()
        sound = np.round(hum(1.5, RATE_HZ, 160.0) * 32_767)
        self._events.put_nowait(Transcript(now_ns, "assistant", self._words, True))
        self._events.put_nowait(AudioChunk(now_ns, sound.astype("<i2").tobytes(), RATE_HZ))


def connect(_url: str, options: Mapping[str, object]) -> Connection:
    """`options` is the table `[options]` of the profile, with `accepts_history`, `input_rate_hz` and `open_timeout_s`."""
    return AnswersInASecond(options)
