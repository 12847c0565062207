"""One step of an open loop: every caller dials at its instant of the schedule, whatever became of the others.

Orders go to the caller processes some seconds ahead with the instant at which to dial, so that neither writing a plan nor the
run's own event loop can delay a call; the process that dials waits for the instant itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from harness.caller.pacer import until
from harness.clock import now_ns
from harness.timeline import NS_PER_S

LEAD_NS: Final = 3 * NS_PER_S
"""How far ahead an order is given: a plan is written, read and brought to the line's rate in well under a second."""
T = TypeVar("T")


async def arrive(offsets_ns: Sequence[int], call: Callable[[int, int], Awaitable[T]], lead_ns: int = LEAD_NS) -> list[T]:
    """The results of all calls, in the order of the schedule. `call`: plays the n-th call, which dials at an instant.

    The schedule begins `lead_ns` from now; no call waits for another.
    """
    begin_ns = now_ns() + lead_ns
    calls: list[asyncio.Task[T]] = []

    async def begin(number: int, due_ns: int) -> T:
        return await call(number, due_ns)

    try:
        async with asyncio.TaskGroup() as group:
            for number, offset_ns in enumerate(offsets_ns):
                await until(begin_ns + offset_ns - lead_ns)
                calls.append(group.create_task(begin(number, begin_ns + offset_ns)))
    except BaseExceptionGroup as stopped:
        # The other calls were only cancelled: the first error is the cause.
        raise stopped.exceptions[0] from stopped
    return [task.result() for task in calls]
