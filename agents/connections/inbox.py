"""What arrives in one session, for lines that are no WebSocket: one queue, its bounds, and the one `Closed` that ends it.

The agent under test is not trusted to behave: nothing that it sends may use more memory than `Limits` allows, and whatever goes
wrong ends the session once, by name.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from harness.agents.connection import AudioChunk, Closed, Event, FailureKind
from harness.agents.connections.websocket import Limits


class Inbox:
    """The events of one session, in order."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._delivered_end = False
        self._bytes = 0
        self._text_bytes = 0
        self._count = 0
        self.heard_audio = False
        self.ended: Closed | None = None
        self.changed = asyncio.Event()
        """Set whenever something may have happened that the opening waits for."""

    def put(self, event: Event) -> None:
        """Keep an event, unless the session is over."""
        if self.ended is not None:
            return
        self._count += 1
        if isinstance(event, AudioChunk):
            self.heard_audio = True
            self._bytes += len(event.pcm)
        if self._bytes > self._limits.session_bytes:
            self.end(f"the agent sent more than {self._limits.session_bytes >> 20} MiB", "flood")
        elif self._count > self._limits.events:
            self.end(f"the agent sent more than {self._limits.events:,} messages", "flood")
        else:
            self._events.put_nowait(event)

    def count_text(self, size: int) -> None:
        """Take note of a message that holds no audio."""
        self._text_bytes += size
        if self._text_bytes > self._limits.text_bytes:
            self.end(f"the agent sent more than {self._limits.text_bytes >> 20} MiB of text", "flood")

    def end(self, error: str | None, kind: FailureKind | None) -> None:
        """The session is over; only the first reason counts."""
        if self.ended is None:
            self.ended = Closed(arrival_ns=time.monotonic_ns(), error=error, kind=kind)
            self._events.put_nowait(self.ended)
        self.changed.set()

    async def events(self) -> AsyncIterator[Event]:
        """Everything, ending with exactly one `Closed`."""
        while not self._delivered_end:
            event = await self._events.get()
            if isinstance(event, Closed):
                self._delivered_end = True
            yield event
