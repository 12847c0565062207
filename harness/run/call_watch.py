"""Watching the machine during one call: a sample of the kernel's counters ten times a second.

Ten a second because a figure rests on stretches of half a second and more, and a sample costs the machine about as much as it
tells: reading the forty threads of a cascade takes about a millisecond, so 1 % of one core.

It runs in a thread of the run's own process, never in the caller's. Under load it comes late; the counters do not mind.
"""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from harness.clock import now_ns
from harness.recording.machine_track import MachineSample, MachineTrack
from harness.run.kernel_counters import ProcessCounters, machine_counters, slowest_mhz, stalled_ms, throttled

PERIOD_S: Final = 0.1
CHILDREN_PERIOD_S: Final = 2.0
"""How often new processes of the agent are looked for, as in `telemetry`."""


class CallWatch:
    """Samples from `with` to its end. `agent` are the process ids of the agent that is spoken to, `caller` the caller's."""

    def __init__(self, agent: Sequence[int], caller: Sequence[int]) -> None:
        self._agent = ProcessCounters(roots=agent)
        self._harness = ProcessCounters(roots=caller, alone=(os.getpid(),))
        self._samples: list[MachineSample] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="call-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def track(self) -> MachineTrack | None:
        """What was seen; None where this system counts nothing of it."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return MachineTrack(cores, tuple(self._samples)) if self._samples else None

    def _run(self) -> None:
        due_s = looked_s = time.monotonic()
        # Elsewhere than on Linux there is nothing to read, and then there is no track.
        with suppress(OSError):
            self._samples.append(self._sample())
            while not self._stop.wait(max(0.0, due_s - time.monotonic())):
                due_s = max(due_s + PERIOD_S, time.monotonic())
                if time.monotonic() - looked_s > CHILDREN_PERIOD_S:
                    self._agent.find_children()
                    looked_s = time.monotonic()
                self._samples.append(self._sample())
            self._samples.append(self._sample())

    def _sample(self) -> MachineSample:
        ran_ms, waited_ms = self._agent.look()
        harness_ms, _ = self._harness.look()
        machine = machine_counters()
        return MachineSample(
            at_ns=now_ns(),
            busy_ms=machine.busy_ms,
            stolen_ms=machine.stolen_ms,
            agent_ran_ms=ran_ms,
            agent_waited_ms=waited_ms,
            harness_ran_ms=harness_ms,
            stalled_ms=stalled_ms(),
            throttled=throttled(),
            slowest_mhz=slowest_mhz(),
        )
