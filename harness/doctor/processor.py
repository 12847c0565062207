"""Checks of what latencies depend on: the processor, memory, other programs, and the punctuality of the clock.

Cores are those that this process may use, because a container often has fewer than the machine. A quota (cgroup
`cpu.max`) is reported separately: it does not slow agents on average, it stops them for tens of milliseconds at a time.
"""

import os
import select
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from harness.doctor.result import Finding
from harness.machine.cpu_times import PROC
from harness.machine.kernel_counters import CPUS, slowest_mhz, throttled
from harness.machine.other_programs import BUSY_CORES, other_work
from harness.store.manifest import instruction_sets, machine_facts
from harness.timing.pacing import MAX_P99_ERROR_MS

LEAST_CORES: Final = 2
"""Fewest cores: one for the agent, one for the caller, as for every figure in docs/evidence/."""
LEAST_FREE_GIB: Final = 1.5
"""Least free memory. A choice: a shipped agent's models are files of 60 to 150 MB each, and need room beside the caller."""
LOOK_S: Final = 1.0
TICK_S: Final = 0.02
TICKS: Final = 60
"""Wake-ups to measure: 1.2 s of frames. Their 98th percentile is the second largest, so that one is used."""
_CGROUPS: Final = (Path("/sys/fs/cgroup/cpu.max"),)


def processor() -> list[Finding]:
    """Findings on cores, their kind, quotas, and throttling."""
    facts = machine_facts()
    cores = int(facts["cores"])
    seen = f"{counted_cores(cores)} of {facts['processor'] or 'an unnamed processor'}"
    sets = instruction_sets()
    seen += f" ({sets})" if sets else ""
    found = [
        Finding("processor", "fine", seen)
        if cores >= LEAST_CORES
        else Finding("processor", "disturbs", seen, f"use {LEAST_CORES} cores: the caller and the agent share this one")
    ]
    quota = _quota_cores()
    if quota is not None and quota < cores:
        mend = "raise the container's limit to whole cores, or pin it with a cpuset (docker: --cpuset-cpus instead of --cpus)"
        found.append(Finding("processor quota", "disturbs", f"stopped after {quota:g} of {cores} cores' time", mend))
    governors = {g for p in CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor") if (g := _text(p))}
    if governors & {"powersave", "conservative"} and not _is_intel_pstate():
        mend = "choose the governor `performance` (cpupower frequency-set -g performance)"
        found.append(Finding("processor clock", "disturbs", f"governor {', '.join(sorted(governors))}", mend))
    if slowed := throttled():
        mhz = slowest_mhz()
        now = f", slowest core at {mhz:.0f} MHz" if mhz else ""
        mend = "cool the machine, or wait; runs report which turns were slowed"
        found.append(Finding("heat", "without", f"cores were throttled {slowed} times since boot{now}", mend))
    return found


def memory() -> list[Finding]:
    """Findings on free memory and swapping."""
    free_gib = psutil.virtual_memory().available / 2**30
    seen = f"{free_gib:.1f} GiB free"
    if free_gib < LEAST_FREE_GIB:
        return [Finding("memory", "disturbs", seen, f"free {LEAST_FREE_GIB:g} GiB: models that swap answer late")]
    return [Finding("memory", "fine", seen)]


def pressure() -> list[Finding]:
    """Findings on other programs that run now."""
    work = other_work(LOOK_S)
    if work.too_much:
        mend = "end them, or wait: harness run --wait-for-quiet 600"
        return [Finding("other programs", "disturbs", work.in_words(), mend)]
    seen = f"{work.cores * 100:.0f} % of one core in the last second (up to {BUSY_CORES * 100:.0f} % is quiet)"
    if not (PROC / "pressure" / "cpu").exists():
        mend = "nothing to do; others' part of a wait is still found by the agents' waiting times"
        return [Finding("other programs", "fine", seen), Finding("pressure counters", "without", "not in this kernel", mend)]
    return [Finding("other programs", "fine", seen)]


def clock() -> list[Finding]:
    """Findings on the clock: the delay of a thread that wakes every 20 ms, at this process's priority."""
    late_ms = []
    due = time.monotonic()
    for _ in range(TICKS):
        due += TICK_S
        select.select([], [], [], max(0.0, due - time.monotonic()))
        late_ms.append((time.monotonic() - due) * 1000)
    second_ms, most_ms = sorted(late_ms)[-2:]
    seen = f"wakes late by {sorted(late_ms)[len(late_ms) // 2]:.2f} ms at the median, {most_ms:.2f} ms at most, of {TICKS}"
    source = _text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    found = []
    if second_ms > MAX_P99_ERROR_MS:
        mend = f"stop other programs; a run whose frames leave over {MAX_P99_ERROR_MS:g} ms late (p99) is invalid"
        found.append(Finding("clock", "disturbs", seen, mend))
    else:
        found.append(Finding("clock", "fine", seen))
    if source in ("hpet", "acpi_pm", "refined-jiffies", "jiffies"):
        found.append(Finding("clock source", "disturbs", source, "use tsc or the hypervisor's clock (kernel: clocksource=tsc)"))
    return [*found, _priority()]


def _priority() -> Finding:
    """Finding on priority: may the caller run before agents that occupy every core?"""
    if os.geteuid() == 0 or _may_be_raised():
        return Finding("caller's priority", "fine", "may be raised above the agents'")
    mend = "allow it (ulimit -r 20, docker: --cap-add=SYS_NICE); runs measure and report the effect"
    return Finding("caller's priority", "without", "may not be raised above the agents'", mend)


def _may_be_raised() -> bool:
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        return resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0 or resource.getrlimit(resource.RLIMIT_NICE)[0] > 20
    return False


def counted_cores(cores: int) -> str:
    """`2 cores`."""
    return f"{cores} core{'' if cores == 1 else 's'}"


def _quota_cores() -> float | None:
    for path in _CGROUPS:
        given = _text(path).split()
        if len(given) == 2 and given[0].isdigit() and given[1].isdigit() and int(given[1]):
            return int(given[0]) / int(given[1])
    return None


def _is_intel_pstate() -> bool:
    """True for the driver whose `powersave` is not slow: it is the name of its ordinary governor."""
    return _text(CPUS / "cpu0/cpufreq/scaling_driver") == "intel_pstate"


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="ascii").strip()
    return ""
