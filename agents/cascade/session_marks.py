"""The marks of one session: stamped where the event happens, sent when the socket has time for them.

RTVI's own metrics use wall time and arrive per service; the harness wants one monotonic clock and the name of the request that
each effect belongs to. A stamp is taken at once and costs an append to a queue; the message leaves from a task of its own, so
that reporting never delays audio.

The same marks begin and end ranges for a GPU profiler (NVTX), named by session, turn and stage, so that a trace opens at the
turn that a caller waited on: a utilisation is an average over tenths of a second, in which a stage of 50 ms cannot be seen.
They are ranges of the process, because a stage begins and ends in different threads. Without the package `nvtx` (extra `gpu`)
there are none; with it and without a profiler, a range costs a microsecond.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from harness.agents import marks

DOMAIN: Final = "heart"
LONGEST_NAME: Final = 200
_BEGINS: Final[Mapping[str, tuple[str, ...]]] = {
    marks.SILENCE_SEEN: ("endpoint",),
    marks.ASR_STARTED: ("asr",),
    marks.LLM_REQUESTED: ("llm to first token", "llm"),
    marks.TTS_STARTED: ("tts to first audio", "tts"),
}
"""Mark → the stages that begin with it."""
_ENDS: Final[Mapping[str, tuple[str, ...]]] = {
    marks.SPEECH_STARTED: ("endpoint",),
    marks.TURN_DECIDED: ("endpoint",),
    marks.ASR_DONE: ("asr",),
    marks.LLM_FIRST_TOKEN: ("llm to first token",),
    marks.LLM_DONE: ("llm to first token", "llm"),
    marks.TTS_FIRST_AUDIO: ("tts to first audio",),
    marks.TTS_DONE: ("tts to first audio", "tts"),
}
_Place = tuple[str, object, object]
"""A stage, the request that it works for, and its piece of the reply."""


class StageRanges:
    """The ranges of one session. Turns are counted from 1 within the call, in the order in which callers spoke."""

    def __init__(self, session: str, start: Callable[[str], Any], end: Callable[[Any], None]) -> None:
        self._session = session[:LONGEST_NAME]
        self._start = start
        self._end = end
        self._open: dict[_Place, list[Any]] = {}
        self._turn = 1
        self._decided = False
        self._turn_of: dict[object, int] = {}

    def follow(self, mark: str, detail: Mapping[str, object]) -> None:
        """Begin and end ranges at a mark."""
        request, piece = detail.get("request"), detail.get("piece")
        if mark == marks.SPEECH_STARTED and self._decided:
            self._turn, self._decided = self._turn + 1, False
        elif mark == marks.TURN_DECIDED:
            self._decided = True
        elif mark == marks.LLM_REQUESTED:
            self._turn_of = {request: self._turn} if request is not None else {}
            # A reply that was withdrawn or talked over has no end of its own.
            self._end_all(lambda place: place[1] not in (None, request))
        for stage in _ENDS.get(mark, ()):
            self._end_one((stage, request, piece))
        for stage in _BEGINS.get(mark, ()):
            place = (stage, request, piece)
            if stage == "endpoint":
                self._end_one(place)
            numbered = f"{stage}, piece {piece}" if piece is not None else stage
            name = f"{self._session} turn {self._turn_of.get(request, self._turn)}: {numbered}"
            self._open.setdefault(place, []).append(self._start(name))

    def close(self) -> None:
        """End what a call that broke off has left open."""
        self._end_all(lambda _: True)

    def _end_all(self, which: Callable[[_Place], bool]) -> None:
        for place in [place for place in self._open if which(place)]:
            while place in self._open:
                self._end_one(place)

    def _end_one(self, place: _Place) -> None:
        """End the oldest range of a place, if one is open: two transcriptions may run side by side."""
        if opened := self._open.get(place):
            self._end(opened.pop(0))
            if not opened:
                del self._open[place]


def stage_ranges(session: str) -> StageRanges | None:
    """The ranges of a session; None without the package `nvtx`."""
    try:
        import nvtx
    except ImportError:
        return None
    return StageRanges(session, lambda name: nvtx.start_range(name, domain=DOMAIN), nvtx.end_range)


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
