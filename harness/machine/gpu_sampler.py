"""Samples of the GPUs fifty times a second, in a thread of their own, with a bound on what sampling may cost.

A question to the driver takes from microseconds to milliseconds, and waits where the agent's own calls hold the driver's lock.
So no other sample and no call ever waits for one: the thread does nothing else, and the caller that paces frames is another
process. For the same reason a sample that took long is followed by a longer rest: at most a fifth of the time is spent in the
driver, whatever the GPU and their number. The rate that this leaves is in the samples themselves, with the milliseconds that
each took.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.clock import now_ns
from harness.machine.gpu import Gpu, Owners, Sample

PERIOD_S: Final = 0.02
PROCESSES_PERIOD_S: Final = 0.2
"""The driver renews the shares of processes every sixth of a second at the soonest."""
MOST_SHARE: Final = 0.2
"""Largest share of the time that may be spent in the driver. A choice: 4 ms of every 20."""
COST: Final = "gpu.sampling_ms"
"""Column with the time that a sample took, all GPUs together."""
_LEAVE_AFTER_S: Final = 2.0
"""A driver that hangs must not keep a run from its end."""


class GpuSampler:
    """A thread that appends one line for each sample of all GPUs to a file. `owners` gives the processes of agents."""

    def __init__(self, path: Path, cards: Sequence[Gpu], owners: Callable[[], Owners]) -> None:
        self._path = path
        self._cards = cards
        self._owners = owners
        self._processes_due_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpu-telemetry", daemon=True)

    def start(self) -> None:
        """Begin; does nothing without a GPU."""
        if self._cards:
            self._thread.start()

    def stop(self) -> None:
        """End after the sample in progress, or without it if the driver does not answer."""
        self._stop.set()
        if self._cards:
            self._thread.join(_LEAVE_AFTER_S)

    def _run(self) -> None:
        due_s = time.monotonic()
        # A disk too full for samples is too full for sessions too, and the next session reports it.
        with suppress(OSError), self._path.open("a", encoding="utf-8") as out:
            while not self._stop.wait(max(0.0, due_s - time.monotonic())):
                began_s = time.monotonic()
                sample = self._sample()
                ended_s = time.monotonic()
                sample[COST] = round(1000 * (ended_s - began_s), 2)
                out.write(json.dumps(sample) + "\n")
                out.flush()
                due_s = next_due_s(due_s, began_s, ended_s)

    def _sample(self) -> Sample:
        sample: Sample = {"at_ns": now_ns()}
        for card in self._cards:
            sample |= card.now()
        if time.monotonic() >= self._processes_due_s:
            self._processes_due_s = time.monotonic() + PROCESSES_PERIOD_S
            owners = self._owners()
            for card in self._cards:
                sample |= card.by_process(owners)
        return sample


def next_due_s(due_s: float, began_s: float, ended_s: float) -> float:
    """The time of the next sample: a period after this one was due, later if this one was late or cost more than its share."""
    return max(due_s + PERIOD_S, began_s + (ended_s - began_s) / MOST_SHARE)
