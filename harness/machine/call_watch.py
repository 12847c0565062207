"""Samples of the kernel's counters during one call, ten times a second.

Ten a second are enough, because a figure uses intervals of half a second and more, and each sample costs processor time.

It runs in a thread of the run's own process, never in the caller's. Under load samples are late, which the counters allow.
Calls that overlap share one sampler (`Watches`): with a thread each, two hundred callers would read the counters of two hundred
threads two thousand times a second.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from harness.clock import now_ns
from harness.machine.control_group import control_groups
from harness.machine.cpu_times import CpuTimes, busy_ms, cpu_times, idle_of_all_ms, stolen_counts_as_run
from harness.machine.kernel_counters import ProcessCounters, slowest_mhz, stalled_ms, throttled
from harness.recording.machine_track import MachineSample, MachineTrack
from harness.timeline import NS_PER_MS

PERIOD_S: Final = 0.1
CHILDREN_PERIOD_S: Final = 2.0
"""Interval of the search for new processes of the agent in the whole table, as in `telemetry`."""
LEAST_COUNTED: Final = 0.5
"""Share of the elapsed time. A sandbox that shows a `/proc/stat` of zeros would make every processor seem busy."""


@dataclass(frozen=True, slots=True)
class _Look:
    """All counters at one instant; which processors count is known at the end."""

    at_ns: int
    cpus: Mapping[int, CpuTimes]
    idle_ms: float | None
    agent_ran_ms: float
    agent_waited_ms: float | None
    harness_ran_ms: float
    stalled_ms: float | None
    throttled: int | None
    slowest_mhz: float | None
    quota_ms: float | None


class Watches:
    """The watches of a run's calls. Calls to one agent that overlap share a sampler."""

    def __init__(self) -> None:
        self._samplers: dict[tuple[tuple[int, ...], tuple[int, ...]], _Sampler] = {}

    def watch(self, agent: Sequence[int], caller: Sequence[int]) -> "CallWatch":
        """The watch of one call, as `CallWatch`."""
        key = tuple(agent), tuple(caller)
        sampler = self._samplers.get(key)
        if sampler is None or not sampler.is_open:
            sampler = self._samplers[key] = _Sampler(agent, caller)
        return CallWatch(agent, caller, sampler)


class CallWatch:
    """The samples during a `with` block. `agent` are the process ids of the agent in the call and of its companions, `caller`
    those of the caller; `sampler` is shared with other calls, None: it has its own."""

    def __init__(self, agent: Sequence[int], caller: Sequence[int], sampler: "_Sampler | None" = None) -> None:
        self._sampler = sampler if sampler is not None else _Sampler(agent, caller)
        self._agent, self._harness = self._sampler.agent, self._sampler.harness
        self._looks: list[_Look] = []
        self._since_ns = 0

    def __enter__(self) -> Self:
        self._since_ns = self._sampler.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._looks = self._sampler.end(self._since_ns)

    @property
    def track(self) -> MachineTrack | None:
        """The samples; None if this system does not have the counters."""
        if not self._looks or not _counts(self._looks[0], self._looks[-1]):
            return None
        shown = frozenset.intersection(*(frozenset(look.cpus) for look in self._looks))
        # A container may see processors under other numbers: then all of them count as the agent's.
        named = self._agent.cpus & shown
        cpus = named or shown
        harness_here = bool(self._harness.cpus) and self._harness.cpus & shown <= cpus
        first, last = self._looks[0].cpus, self._looks[-1].cpus
        taken = sorted(c for c in cpus if last[c].stolen_ms > first[c].stolen_ms)
        samples = tuple(self._sample(look, cpus, taken, harness_here) for look in self._looks)
        return MachineTrack(len(cpus), samples, tuple(sorted(named)), stolen_counts_as_run())

    def _sample(self, look: _Look, cpus: frozenset[int], taken: Sequence[int], harness_here: bool) -> MachineSample:
        first = self._looks[0]
        idle_ms = look.idle_ms - first.idle_ms if look.idle_ms is not None and first.idle_ms is not None else None
        stolen = tuple(look.cpus[c].stolen_ms - first.cpus[c].stolen_ms for c in taken)
        return MachineSample(
            at_ns=look.at_ns,
            busy_ms=busy_ms(first.cpus, look.cpus, cpus, (look.at_ns - first.at_ns) / NS_PER_MS, idle_ms),
            stolen_ms=sum(stolen),
            agent_ran_ms=look.agent_ran_ms,
            agent_waited_ms=look.agent_waited_ms,
            # If the harness may run on other processors too, its time on these is unknown.
            harness_ran_ms=look.harness_ran_ms if harness_here else 0.0,
            stalled_ms=look.stalled_ms,
            throttled=look.throttled,
            slowest_mhz=look.slowest_mhz,
            quota_ms=look.quota_ms,
            stolen_by_cpu_ms=stolen,
        )


class _Sampler:
    """A thread that samples while any call is open. Looks are stored for as long as an open call needs them."""

    def __init__(self, agent: Sequence[int], caller: Sequence[int]) -> None:
        self.agent = ProcessCounters(roots=agent)
        self.harness = ProcessCounters(roots=caller, alone=(os.getpid(),))
        self._groups = control_groups(agent)
        self._looks: list[_Look] = []
        self._open: list[int] = []
        """The first look of each open call."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="call-watch", daemon=True)

    @property
    def is_open(self) -> bool:
        """True while a call is open."""
        return bool(self._open)

    def begin(self) -> int:
        """Begin a call with a look; returns the instant of it."""
        with self._lock:
            first = not self._open
            self._take_look()
            since_ns = self._looks[-1].at_ns if self._looks else now_ns()
            self._open.append(since_ns)
        if first:
            self._thread.start()
        return since_ns

    def end(self, since_ns: int) -> list[_Look]:
        """End a call with a look; returns all looks since its first."""
        with self._lock:
            self._take_look()
            found = [look for look in self._looks if look.at_ns >= since_ns]
            self._open.remove(since_ns)
            oldest_ns = min(self._open, default=None)
            self._looks = [look for look in self._looks if oldest_ns is not None and look.at_ns >= oldest_ns]
        if oldest_ns is None:
            self._stop.set()
            self._thread.join()
        return found

    def _run(self) -> None:
        due_s = looked_s = time.monotonic()
        while not self._stop.wait(max(0.0, due_s - time.monotonic())):
            due_s = max(due_s + PERIOD_S, time.monotonic())
            with self._lock:
                if time.monotonic() - looked_s > CHILDREN_PERIOD_S:
                    self.agent.find_children()
                    looked_s = time.monotonic()
                self._take_look()

    def _take_look(self) -> None:
        # Only Linux has these counters; elsewhere there is no track.
        with suppress(OSError):
            self._looks.append(self._look())

    def _look(self) -> _Look:
        ran_ms, waited_ms = self.agent.look()
        harness_ms, _ = self.harness.look()
        group_stalled_ms = self._groups.stalled_ms()
        return _Look(
            at_ns=now_ns(),
            cpus=cpu_times(),
            idle_ms=idle_of_all_ms(),
            agent_ran_ms=ran_ms,
            agent_waited_ms=waited_ms,
            harness_ran_ms=harness_ms,
            stalled_ms=group_stalled_ms if group_stalled_ms is not None else stalled_ms(),
            throttled=throttled(),
            slowest_mhz=slowest_mhz(),
            quota_ms=self._groups.throttled_ms(),
        )


def _counts(first: _Look, last: _Look) -> bool:
    """True if the system counts its processors' time."""
    passed_ms = (last.at_ns - first.at_ns) / NS_PER_MS * len(first.cpus)
    both = first.cpus.keys() & last.cpus.keys()
    return sum(last.cpus[c].counted_ms - first.cpus[c].counted_ms for c in both) >= LEAST_COUNTED * passed_ms
