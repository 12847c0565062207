"""Scheduler that sends every frame of every session of a process at its own absolute deadline.

Relative sleeps drift, and asyncio's default selector rounds every wait up to a whole millisecond (epoll counts in
milliseconds). The loop made here waits with `select`, which counts in microseconds, for epoll itself, which knows its
ready sockets without going through all of them. Deadlines are absolute, so one late frame never delays the next. It does
not spin: a waiting pacer costs the agent under test nothing. Sessions get different phases within the 20 ms frame, or a
hundred callers would send in one burst and disturb each other's measurement.
"""

import asyncio
import heapq
import select
import selectors
from collections.abc import Callable
from typing import Final

from harness.clock import now_ns
from harness.recording.record import FRAME_MS
from harness.timeline import NS_PER_MS, NS_PER_S

FRAME_NS: Final = FRAME_MS * NS_PER_MS
LAG_PERIOD_NS: Final = 10 * NS_PER_MS
"""Half a frame: finer than anything that could delay a frame, and cheap."""
_START_MARGIN_NS: Final = 5 * NS_PER_MS

Tick = Callable[[int], bool]
"""Called with the deadline in ns; returns whether the stream goes on."""


def precise_loop() -> asyncio.AbstractEventLoop:
    """An event loop whose timers are good to some tens of microseconds."""
    return asyncio.SelectorEventLoop(_PreciseEpoll())


class _PreciseEpoll(selectors.EpollSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            select.select((self,), (), (), timeout)
        return super().select(0)


async def until(at_ns: int) -> None:
    """Wait for an instant of the monotonic clock; not at all for one that has passed."""
    await asyncio.sleep(max(0, at_ns - now_ns()) / NS_PER_S)


class Pacer:
    """Calls each stream at its deadlines, and samples how late the event loop runs."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, int, Tick]] = []
        self._serial = 0
        self._phases_given = 0
        self._timer: asyncio.TimerHandle | None = None
        self._streams = 0
        self._sampling_lag = False
        self._worst_lag_ns: dict[int, int] = {}

    def start_time(self) -> int:
        """The next free t0 for a session: a little ahead of now, in a phase of the frame grid that was not used recently."""
        base = now_ns() + _START_MARGIN_NS
        phase = int(_van_der_corput(self._phases_given) * FRAME_NS)
        self._phases_given += 1
        return base + (phase - base) % FRAME_NS

    def add(self, first_deadline_ns: int, tick: Tick) -> None:
        """Call `tick` at the deadline and every 20 ms after it, until it returns False."""
        self._streams += 1
        self._push(first_deadline_ns, FRAME_NS, tick)
        if not self._sampling_lag:
            self._sampling_lag = True
            self._push(now_ns() + LAG_PERIOD_NS, LAG_PERIOD_NS, self._sample_lag)
        self._arm()

    def worst_lag_ms(self, start_ns: int, end_ns: int) -> tuple[float, ...]:
        """The event loop's worst delay in each second between the two times, in milliseconds."""
        seconds = range(start_ns // NS_PER_S, end_ns // NS_PER_S + 1)
        return tuple(self._worst_lag_ns[s] / NS_PER_MS for s in seconds if s in self._worst_lag_ns)

    def _sample_lag(self, deadline_ns: int) -> bool:
        second = deadline_ns // NS_PER_S
        self._worst_lag_ns[second] = max(self._worst_lag_ns.get(second, 0), now_ns() - deadline_ns)
        self._sampling_lag = self._streams > 0
        return self._sampling_lag

    def _push(self, deadline_ns: int, period_ns: int, tick: Tick) -> None:
        self._serial += 1
        heapq.heappush(self._due, (deadline_ns, self._serial, period_ns, tick))

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self._due[0][0] / NS_PER_S, self._run) if self._due else None

    def _run(self) -> None:
        self._timer = None
        while self._due and self._due[0][0] <= now_ns():
            deadline_ns, _, period_ns, tick = heapq.heappop(self._due)
            if tick(deadline_ns):
                self._push(deadline_ns + period_ns, period_ns, tick)
            elif period_ns == FRAME_NS:
                self._streams -= 1
        self._arm()


def _van_der_corput(index: int) -> float:
    """The low-discrepancy sequence 0, 1/2, 1/4, 3/4, …: any first n phases are spread almost evenly."""
    value, step = 0.0, 0.5
    while index:
        value += step * (index & 1)
        index >>= 1
        step /= 2
    return value
