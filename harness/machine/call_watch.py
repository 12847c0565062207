"""Samples of the kernel's counters during one call, fifty times a second.

What others could have caused is bounded between each two samples by itself, so finer samples give a tighter bound. One takes
about 0.1 ms, and all samplers together use no more than a fiftieth of a core. It runs in a thread of the run's own process, and
calls that overlap share it (`Watches`): two hundred threads would read the counters of two hundred threads ten thousand times a
second.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Final, Self

from harness.clock import now_ns
from harness.machine.busy_clock import TICK_MS, clock_of_each_processor, ran_ms_of_each
from harness.machine.control_group import control_groups
from harness.machine.cpu_times import PROC, CpuTimes, busy_ms, idle_in_ms, stolen_counts_as_run, times_in
from harness.machine.kernel_counters import ProcessCounters, Waits, slowest_mhz, stalled_ms, throttled
from harness.machine.kernel_file import opened
from harness.machine.programs import ProgramsSeen, ProgramTable
from harness.recording.machine_track import MachineSample, MachineTrack, ProgramsTrack
from harness.timeline import NS_PER_MS

PERIOD_S: Final = 0.02
LEAST_PAUSE: Final = 50.0
"""Samples are at least so many times as far apart as one takes of the processor: 2 % of a core at most."""
RARE_S: Final = 0.1
"""Interval of the search for the agent's new children, and of the counters that hardly any bound depends on."""
NAMES_S: Final = 1.0
"""Interval of the readings of other programs' names; each is 0.1 ms for a hundred processes."""
MOST_NAMES: Final = 8
LEAST_COUNTED: Final = 0.5
"""Share of the elapsed time. A sandbox that shows a `/proc/stat` of zeros would make every processor seem busy."""
_AT_ONCE_NS: Final = NS_PER_MS
_TRIES: Final = 3
"""The agent's clocks and those of the processors are to be of one instant. Where this thread lost the processor between the
two, the agent's own work would seem to be others', so they are read again."""


@dataclass(frozen=True, slots=True)
class _Look:
    """All counters at one instant; which processors count is known at the end."""

    began_ns: int
    at_ns: int
    ran_ms: tuple[float, ...]
    """The time for which each processor ran programs; empty where only its idle time is known."""
    cpus: Mapping[int, CpuTimes]
    idle_ms: float | None
    agent_ran_ms: float
    waits: Waits | None
    harness_ran_ms: float
    stalled_ms: float | None
    throttled: int | None
    slowest_mhz: float | None
    quota_ms: float | None


@dataclass(frozen=True, slots=True)
class _Rare:
    """The counters that are read ten times a second."""

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
            sampler = self._samplers[key] = _Sampler(agent, caller, self._at_work)
        return CallWatch(agent, caller, sampler)

    def _at_work(self) -> int:
        return sum(sampler.is_open for sampler in tuple(self._samplers.values()))


class CallWatch:
    """The samples during a `with` block. `agent` are the process ids of the agent in the call and of its companions, `caller`
    those of the caller; `sampler` is shared with other calls, None: it has its own."""

    def __init__(self, agent: Sequence[int], caller: Sequence[int], sampler: "_Sampler | None" = None) -> None:
        self._sampler = sampler if sampler is not None else _Sampler(agent, caller)
        self._agent, self._harness = self._sampler.agent, self._sampler.harness
        self._looks: list[_Look] = []
        self._programs: list[ProgramsSeen] = []
        self._since_ns = 0

    def __enter__(self) -> Self:
        self._since_ns = self._sampler.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._looks, self._programs = self._sampler.end(self._since_ns)

    @property
    def track(self) -> MachineTrack | None:
        """The samples; None if this system does not have the counters."""
        if not self._looks or not _counts(self._looks[0], self._looks[-1]):
            return None
        shown = self._looks[0].cpus.keys() & self._looks[-1].cpus.keys()
        # A container may see processors under other numbers: then all of them count as the agent's.
        named = self._agent.cpus & shown
        cpus = named or frozenset(shown)
        harness_here = bool(self._harness.cpus) and self._harness.cpus & shown <= cpus
        exact = all(max(cpus) < len(look.ran_ms) for look in self._looks)
        first, last = self._looks[0].cpus, self._looks[-1].cpus
        taken = sorted(c for c in cpus if last[c].stolen_ms > first[c].stolen_ms)
        reach_ms = (0.0, *(_reach_ms(before, look) for before, look in pairwise(self._looks)))
        samples = tuple(
            self._sample(look, reach, cpus, taken, harness_here, exact)
            for look, reach in zip(self._looks, reach_ms, strict=True)
            if cpus <= look.cpus.keys()
        )
        return MachineTrack(
            cores=len(cpus),
            samples=samples,
            cpus=tuple(sorted(named)),
            stolen_counts_as_run=stolen_counts_as_run(),
            grain_ms=0.0 if exact else TICK_MS if cpus == last.keys() else TICK_MS * len(cpus),
            late_ms=TICK_MS if exact else 0.0,
            programs=_programs(self._programs),
        )

    def _sample(
        self, look: _Look, reach_ms: float, cpus: frozenset[int], taken: Sequence[int], harness_here: bool, exact: bool
    ) -> MachineSample:
        first = self._looks[0]
        idle_ms = look.idle_ms - first.idle_ms if look.idle_ms is not None and first.idle_ms is not None else None
        stolen = tuple(look.cpus[c].stolen_ms - first.cpus[c].stolen_ms for c in taken)
        lasted_ms = (look.at_ns - first.at_ns) / NS_PER_MS
        return MachineSample(
            at_ns=look.at_ns,
            busy_ms=sum(look.ran_ms[c] - first.ran_ms[c] for c in cpus)
            if exact
            else busy_ms(first.cpus, look.cpus, cpus, lasted_ms, idle_ms),
            stolen_ms=sum(stolen),
            agent_ran_ms=look.agent_ran_ms,
            agent_waited_ms=look.waits.all_ms if look.waits is not None else None,
            # If the harness may run on other processors too, its time on these is unknown.
            harness_ran_ms=look.harness_ran_ms if harness_here else 0.0,
            stalled_ms=look.stalled_ms,
            throttled=look.throttled,
            slowest_mhz=look.slowest_mhz,
            quota_ms=look.quota_ms,
            stolen_by_cpu_ms=stolen,
            reach_ms=reach_ms,
        )


class _Sampler:
    """A thread that samples while any call is open. Looks are stored for as long as an open call needs them."""

    def __init__(self, agent: Sequence[int], caller: Sequence[int], at_work: Callable[[], int] = lambda: 1) -> None:
        self.agent = ProcessCounters(roots=agent)
        self.harness = ProcessCounters(roots=caller, alone=(os.getpid(),))
        self._at_work = at_work
        self._groups = control_groups(agent)
        self._stat, self._uptime = opened(PROC / "stat"), opened(PROC / "uptime")
        self._ran = clock_of_each_processor()
        self._table = ProgramTable()
        self._looks: list[_Look] = []
        self._programs: list[ProgramsSeen] = []
        self._rare = _Rare(None, None, None, None)
        self._rare_ns = self._named_ns = 0
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

    def end(self, since_ns: int) -> tuple[list[_Look], list[ProgramsSeen]]:
        """End a call with a look; returns all looks since its first, and the readings of programs around them."""
        with self._lock:
            self._take_look()
            self._name_programs(RARE_S)
            found = [look for look in self._looks if look.at_ns >= since_ns]
            programs = _since(self._programs, since_ns)
            self._open.remove(since_ns)
            oldest_ns = min(self._open, default=None)
            self._looks = [look for look in self._looks if oldest_ns is not None and look.at_ns >= oldest_ns]
            self._programs = _since(self._programs, oldest_ns) if oldest_ns is not None else []
        if oldest_ns is None:
            self._stop.set()
            self._thread.join()
            for source in (self.agent, self.harness, self._stat, self._uptime, self._ran):
                if source is not None:
                    source.close()
        return found, programs

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._stop.wait(max(0.0, due_s - time.monotonic())):
            began_s = time.thread_time()
            with self._lock:
                self._take_look()
            took_s = time.thread_time() - began_s
            due_s = max(due_s + max(PERIOD_S, LEAST_PAUSE * took_s * self._at_work()), time.monotonic())
            with self._lock:
                self._name_programs(NAMES_S)

    def _take_look(self) -> None:
        # Only Linux has these counters; elsewhere there is no track.
        with suppress(OSError):
            look = self._look()
            if look is not None:
                self._looks.append(look)

    def _look(self) -> _Look | None:
        if self._stat is None:
            return None
        began_ns = now_ns()
        if began_ns - self._rare_ns > RARE_S * 1e9:
            group_ms = self._groups.stalled_ms()
            stalled = group_ms if group_ms is not None else stalled_ms()
            self._rare_ns, self._rare = began_ns, _Rare(stalled, throttled(), slowest_mhz(), self._groups.throttled_ms())
            self.agent.find_children()
            began_ns = now_ns()
        waits = self.agent.waits()
        for _ in range(_TRIES):
            clocks_ns = now_ns()
            agent_ms, harness_ms, at_ns = self.agent.ran_ms(), self.harness.ran_ms(), now_ns()
            ran = self._ran.read() if self._ran is not None else b""
            stat = self._stat.read()
            if now_ns() - clocks_ns < _AT_ONCE_NS:
                break
        return _Look(
            began_ns=began_ns,
            at_ns=at_ns,
            ran_ms=ran_ms_of_each(ran),
            cpus=times_in(stat),
            idle_ms=idle_in_ms(self._uptime.read()) if self._uptime is not None and not ran else None,
            agent_ran_ms=agent_ms,
            waits=waits,
            harness_ran_ms=harness_ms,
            stalled_ms=self._rare.stalled_ms,
            throttled=self._rare.throttled,
            slowest_mhz=self._rare.slowest_mhz,
            # Where no quota has stopped them so far, there is hardly one.
            quota_ms=self._groups.throttled_ms() if self._rare.quota_ms else self._rare.quota_ms,
        )

    def _name_programs(self, after_s: float) -> None:
        if now_ns() - self._named_ns > after_s * 1e9:
            self._programs.append(self._table.read(but=self.agent.pids | self.harness.pids))
            self._named_ns = self._programs[-1].at_ns


def _reach_ms(before: _Look, look: _Look) -> float:
    """How long before the last sample a wait that was counted since can have begun."""
    return (look.waits.longest_ms if look.waits is not None else 0.0) + (before.at_ns - before.began_ns) / NS_PER_MS


def _since(programs: Sequence[ProgramsSeen], since_ns: int) -> list[ProgramsSeen]:
    """The readings since an instant, and the last one before it."""
    before = sum(seen.at_ns < since_ns for seen in programs)
    return list(programs[max(0, before - 1) :])


def _programs(seen: Sequence[ProgramsSeen]) -> ProgramsTrack:
    """The programs that worked most during a call."""
    if len(seen) < 2:
        return ProgramsTrack()
    worked = {name: ms - seen[0].ran_ms.get(name, 0.0) for name, ms in seen[-1].ran_ms.items()}
    most = sorted((name for name in worked if worked[name] > 0), key=lambda name: -worked[name])[:MOST_NAMES]
    ran_ms = {name: tuple(one.ran_ms.get(name, 0.0) - seen[0].ran_ms.get(name, 0.0) for one in seen) for name in most}
    return ProgramsTrack(tuple(one.at_ns for one in seen), ran_ms)


def _counts(first: _Look, last: _Look) -> bool:
    """True if the system counts its processors' time."""
    passed_ms = (last.at_ns - first.at_ns) / NS_PER_MS * len(first.cpus)
    both = first.cpus.keys() & last.cpus.keys()
    return sum(last.cpus[c].counted_ms - first.cpus[c].counted_ms for c in both) >= LEAST_COUNTED * passed_ms
