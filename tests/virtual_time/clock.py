"""An event loop whose clock passes only while everybody in it waits.

When nothing is ready, the clock jumps to the next timer. A call of ten seconds is then over as soon as it is computed, every
frame departs at its instant, and neither a slow machine nor a busy one can change a recording.

While work goes on in another thread, the clock stands still. While a call goes to an agent that lives outside the loop, it
passes as the machine's own does, for there everybody else counts real seconds.
"""

import asyncio
import contextlib
import functools
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from typing import Any, Final
from unittest import mock

_real_ns: Final = time.monotonic_ns

TURN_NS: Final = 1_000
"""What one round of the loop takes: without it, whoever never waits would never see an end."""
LATE_NS: Final = 1_000
"""How much after its instant a timer fires. None fires early, on a real machine as here."""


class VirtualClock:
    """Nanoseconds from the machine's monotonic clock at its beginning, and from then on its own."""

    def __init__(self) -> None:
        self.jobs = 0
        """Pieces of work in other threads that the loop waits for."""
        self._now_ns = self._seen_ns = _real_ns()
        self._outside = 0

    def ns(self) -> int:
        """What time it is."""
        if self._outside:
            seen_ns = _real_ns()
            self._now_ns, self._seen_ns = self._now_ns + seen_ns - self._seen_ns, seen_ns
        return self._now_ns

    def seconds(self) -> float:
        """The same in seconds."""
        return self.ns() / 1e9

    def pass_by(self, nanoseconds: int) -> None:
        """Let so much time go by, unless it goes by itself."""
        if not self._outside:
            self._now_ns += nanoseconds

    @property
    def may_jump(self) -> bool:
        """Whether nobody outside the loop is at work or counts real seconds."""
        return not self._outside and not self.jobs

    @property
    def real(self) -> bool:
        """Whether it passes as the machine's own clock does."""
        return self._outside > 0

    @contextlib.contextmanager
    def in_real_time(self) -> Iterator[None]:
        """For as long as somebody outside the loop takes part."""
        self._seen_ns = self._seen_ns if self._outside else _real_ns()
        self._outside += 1
        try:
            yield
        finally:
            self.ns()
            self._outside -= 1


class _Selector(selectors.SelectSelector):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._clock.real:
            return super().select(timeout)
        ready = super().select(0)
        self._clock.pass_by(TURN_NS)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or not self._clock.may_jump:
            return super().select(None)
        self._clock.pass_by(round(timeout * 1e9) + LATE_NS)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time."""

    def __init__(self, clock: VirtualClock) -> None:
        self._virtual = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        return self._virtual.seconds()

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        self._virtual.jobs += 1
        future.add_done_callback(self._job_is_done)
        return future

    def _job_is_done(self, future: asyncio.Future[Any]) -> None:
        del future
        self._virtual.jobs -= 1


def in_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """An asynchronous test that lives in virtual time, loop and all."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with virtual_time() as make_loop, asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(test(*args, **kwargs))

    return run


@contextlib.contextmanager
def virtual_time() -> Iterator[Callable[[], asyncio.AbstractEventLoop]]:
    """Virtual time for this whole process; gives what makes the loops that live in it."""
    clock = VirtualClock()
    with (
        mock.patch.object(time, "monotonic_ns", clock.ns),
        mock.patch.object(time, "monotonic", clock.seconds),
    ):
        yield lambda: VirtualLoop(clock)
