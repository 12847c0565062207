"""Use of the machine during a step: processor time of each caller process, memory, and load of all cores.

Without it the cause of a late frame or reply is unknown. A caller process that fills its core is the caller's limit, full cores
are the machine's, and the rest is the agent's. Processor times are the kernel's own counters, read before and after; memory
is read twice a second and its maximum counts, because recordings stay in memory until their calls end.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

import psutil

from harness.machine.processes import memory_bytes, spent_s, summed
from harness.store.load_part import Used

LOOK_S: Final = 0.5
_MIB: Final = 2**20


class Pressure:
    """A monitor of caller processes during an `async with` block; afterwards `used` has their and the machine's use."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._processes = [psutil.Process(pid) for pid in pids]
        self._most_bytes = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._began_s = time.monotonic()
        self._idle_before, self._all_before = _machine_s()
        self._before_s = self._spent_s()
        self._before_bytes = self._memory()
        self._most_bytes = self._before_bytes
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking
        wall_s = max(time.monotonic() - self._began_s, 1e-9)
        idle, every = _machine_s()
        shares = [(after - before) / wall_s for before, after in zip(self._before_s, self._spent_s(), strict=True)]
        passed = every - self._all_before
        self._shares = shares
        self._machine = 1.0 - (idle - self._idle_before) / passed if passed > 0 else 0.0

    def used(self, callers: float) -> Used:
        """The use, per caller of this many at once."""
        return Used(
            processes=len(self._processes),
            cores_a_caller=max(sum(self._shares), 0.0) / callers,
            busiest_process=max(self._shares, default=0.0),
            machine=self._machine,
            mib_a_caller=(self._most_bytes - self._before_bytes) / _MIB / callers,
        )

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._most_bytes = max(self._most_bytes, self._memory())

    def _memory(self) -> float:
        return summed(self._processes, memory_bytes)

    def _spent_s(self) -> list[float]:
        # A process that died in the step counts nothing; its calls report that already.
        return [summed([process], spent_s) for process in self._processes]


def _machine_s() -> tuple[float, float]:
    """The cores' idle seconds and all their seconds since boot. Time stolen by a host counts as busy."""
    times = psutil.cpu_times()
    every = times.user + times.nice + times.system + times.idle
    every += sum(getattr(times, name, 0.0) for name in ("iowait", "irq", "softirq", "steal"))
    return float(times.idle + getattr(times, "iowait", 0.0)), float(every)
