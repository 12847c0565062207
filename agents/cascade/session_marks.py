"""The marks of one session: stamped where the event happens, sent when the socket has time for them.

RTVI's own metrics use wall time and arrive per service; the harness wants one monotonic clock and the name of the
request that each effect belongs to. A stamp is taken at once and costs an append to a queue; the message leaves from a
task of its own, so that reporting never delays audio.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from harness.agents.cascade.stage_ranges import StageRanges

MarkMessage = dict[str, Any]


class SessionMarks:
    """A collector of a session's marks, which passes them to `send` in order, one RTVI `server-message` payload each.

    Stamp from the event loop's thread; work done in another thread notes its own `at_ns` and is stamped afterwards.
    """

    def __init__(self, ranges: StageRanges | None = None) -> None:
        """Make the collector. `ranges`: those of a profiler, which follow the marks."""
        self._ranges = ranges
        self._waiting: asyncio.Queue[MarkMessage] = asyncio.Queue()
        self._last: dict[str, MarkMessage] = {}

    def stamp(self, name: str, *, at_ns: int | None = None, **detail: object) -> None:
        """Record that `name` happened now, or at `at_ns` on the monotonic clock. A detail of None is left out."""
        stamped_ns = time.monotonic_ns() if at_ns is None else at_ns
        known = {key: value for key, value in detail.items() if value is not None}
        self._last[name] = {"type": "mark", "name": name, "at_ns": stamped_ns, "detail": known}
        self._waiting.put_nowait(self._last[name])
        if self._ranges is not None:
            self._ranges.follow(name, known)

    def last(self, name: str) -> MarkMessage | None:
        """The last mark of a name; None if there was none."""
        return self._last.get(name)

    def close(self) -> None:
        """End the ranges of stages that never came to their end."""
        if self._ranges is not None:
            self._ranges.close()

    async def deliver(self, send: Callable[[MarkMessage], Awaitable[None]]) -> None:
        """Pass every mark to `send` until cancelled."""
        while True:
            await send(await self._waiting.get())
