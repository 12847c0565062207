"""A soak test: the same number of callers, wave after wave, and the drift of each figure.

After each wave, when no call is open, memory and open descriptors of caller and agent, the wall clock against the monotonic
clock, and the wave's pacing and TTFA are noted. A drift is the slope over all waves by Theil and Sen (J. Am. Stat. Assoc. 63,
1968), because one wave that the machine disturbed moves it little; its interval is 95 %.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from harness.audio.vocal import VocalDetector
from harness.caller import Callers, SessionPlan
from harness.clock import now_ns
from harness.figures.steps import step_figures
from harness.load.measuring import Offered, Samples, measured_step, no_samples
from harness.load.pressure import Pressure
from harness.load.result import Step
from harness.load.steps import numbered, wave
from harness.machine.processes import family, memory_bytes, summed

FEWEST_WAVES: Final = 6
"""Fewest waves: with fewer, the interval of a slope between ranks is useless."""
_MIB: Final = 2**20
_HOUR_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Look:
    """The measurements after one wave. `at_s`: since the beginning. `memory_mib`, `descriptors`: by owner of the processes."""

    at_s: float
    clock_ms: float
    """Wall clock minus monotonic clock, relative to the first wave."""
    memory_mib: Mapping[str, float]
    descriptors: Mapping[str, int]
    step: Step


@dataclass(frozen=True, slots=True)
class Drift:
    """The change of a figure per hour, with its 95 % interval."""

    what: str
    unit: str
    per_hour: float
    interval: tuple[float, float]

    @property
    def moves(self) -> bool:
        """True if the interval excludes zero."""
        return self.interval[0] > 0 or self.interval[1] < 0

    def in_words(self) -> str:
        """The drift in words: `memory of the caller: +1.2 MiB an hour [0.8, 1.5]`."""
        low, high = self.interval
        verdict = "" if self.moves else ", possibly none"
        return f"{self.what}: {self.per_hour:+,.2f} {self.unit} an hour [{low:,.2f}, {high:,.2f}]{verdict}"


@dataclass(frozen=True, slots=True)
class SoakResult:
    """All waves of one number of callers."""

    callers: int
    looks: tuple[Look, ...]
    priority: str

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """The drift of each figure; empty with fewer than six waves."""
        return drifts(self.looks)

    def to_json(self) -> dict[str, Any]:
        """The object that `harness load --for --json` prints."""
        return {
            "schema": 1,
            "callers": self.callers,
            "waves": [
                {
                    "at_s": round(look.at_s, 1),
                    "clock_ms": round(look.clock_ms, 3),
                    "memory_mib": {name: round(value, 2) for name, value in look.memory_mib.items()},
                    "descriptors": dict(look.descriptors),
                    **look.step.to_json(),
                }
                for look in self.looks
            ],
            "drifts": [{**asdict(drift), "moves": drift.moves} for drift in self.drifts],
            "priority": self.priority,
        }


def drifts(looks: Sequence[Look]) -> tuple[Drift, ...]:
    """The slope of every figure over the waves."""
    if len(looks) < FEWEST_WAVES:
        return ()
    first = looks[0]
    series: list[tuple[str, str, list[float | None]]] = [("the clock", "ms", [look.clock_ms for look in looks])]
    series += [(f"memory of the {name}", "MiB", [look.memory_mib.get(name) for look in looks]) for name in first.memory_mib]
    series += [(f"descriptors of the {name}", "", [look.descriptors.get(name) for look in looks]) for name in first.descriptors]
    series.append(("pacing p99", "ms", [look.step.record.pacing_p99_error_ms for look in looks]))
    series.append(("TTFA p50", "ms", [look.step.figures.ttfa_ms.p50 for look in looks]))
    found = (_drift(what, unit, [look.at_s for look in looks], values) for what, unit, values in series)
    return tuple(drift for drift in found if drift is not None)


def _drift(what: str, unit: str, at_s: Sequence[float], values: Sequence[float | None]) -> Drift | None:
    from scipy.stats import theilslopes

    known = [(at / _HOUR_S, value) for at, value in zip(at_s, values, strict=True) if value is not None and value == value]
    if len(known) < FEWEST_WAVES:
        return None
    slope = theilslopes([value for _, value in known], [at for at, _ in known])
    return Drift(what, unit, float(slope.slope), (float(slope.low_slope), float(slope.high_slope)))


async def soak(
    call: Callable[[int], SessionPlan],
    callers: int,
    lasts_s: float,
    *,
    agent_pid: int | None = None,
    vocal: VocalDetector | None = None,
    progress: Callable[[Look], None] = lambda _: None,
    samples: Samples = no_samples,
    watched: Callable[[Mapping[str, int]], object] = lambda _: None,
) -> SoakResult:
    """Play waves of this many callers until the time has passed, at least one.

    Args:
        call: the plan of the n-th call.
        agent_pid: process of an agent on this machine, to measure its processes too.
        samples: those of the agent's model servers.
        watched: called with the caller's processes by name.

    Raises:
        AgentError: a caller process does not start.
    """
    fleet = Callers()
    looks: list[Look] = []
    begun = 0
    try:
        processes = await fleet.enough_for(callers)
        watched(fleet.named)
        pids = {
            "caller": [p.pid for p in processes if p.pid is not None],
            "agent": [agent_pid] if agent_pid is not None else [],
        }
        measured = {name: each for name, each in pids.items() if each}
        began_s, clock_ms = time.monotonic(), _clock_ms()
        while not looks or time.monotonic() - began_s < lasts_s:
            plans = [(numbered(begun + k), call(begun + k)) for k in range(callers)]
            begun += callers
            with tempfile.TemporaryDirectory(prefix="soak-") as parent:
                async with Pressure(pids["caller"]) as pressure:
                    calls = await wave(plans, fleet, Path(parent), 0)
                offered = Offered(callers=callers)
                record, played = await measured_step(offered, calls, vocal, pressure.used, samples=samples)
            families = {name: [process for pid in each for process in family(pid)] for name, each in measured.items()}
            memory = {name: summed(each, memory_bytes) / _MIB for name, each in families.items()}
            descriptors = {name: round(summed(each, lambda process: process.num_fds())) for name, each in families.items()}
            looks.append(
                Look(
                    time.monotonic() - began_s, _clock_ms() - clock_ms, memory, descriptors, Step(record, step_figures(played))
                )
            )
            progress(looks[-1])
    finally:
        await fleet.stop()
    return SoakResult(callers, tuple(looks), fleet.priority)


def _clock_ms() -> float:
    return (time.time_ns() - now_ns()) / 1e6
