"""How long each processor of the machine rested, and how long a hypervisor took it, by Linux's own count; and which of them
a process may use.

`/proc/stat` (proc(5)) shows the machine's processors inside a container and under a cpuset too, so a look at the first line
alone judges processors that an agent cannot have. Each has a line of its own, and `Cpus_allowed_list` of `/proc/PID/status`
says which count.

Busy is what was not idle. The columns of work are no clock: the kernel charges a whole tick to whoever runs when it strikes,
and over a second and a half of half a core that errs by 40 ms either way (binomial, at 250 Hz), more than a figure may lose.
Idle time is measured from one sleep of the processor to the next and is only rounded down to 10 ms when it is shown.
"""

import gzip
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_IDLE: Final = (3, 4)
"""The columns of a line of /proc/stat that count rest: idle, iowait."""
_STOLEN: Final = 7
_LAST: Final = 8
"""Guests' time, behind it, is counted in `user` already."""
_EXACT: Final = "CONFIG_PARAVIRT_TIME_ACCOUNTING=y"


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Of one processor, in ms since the machine started."""

    idle_ms: float
    stolen_ms: float
    counted_ms: float
    """All columns together: as much as passed, on a system that counts."""


def cpu_times(proc: Path = PROC) -> dict[int, CpuTimes]:
    """Number → times of every processor that is on.

    Raises:
        OSError: this system has no `/proc/stat`.
    """
    found: dict[int, CpuTimes] = {}
    ms = 1000 / os.sysconf("SC_CLK_TCK")
    with (proc / "stat").open(encoding="ascii") as lines:
        for line in lines:
            name, *ticks = line.split()
            if not name.startswith("cpu"):
                break
            if name != "cpu":
                counts = [int(tick) * ms for tick in ticks[:_LAST]]
                stolen = counts[_STOLEN] if len(counts) > _STOLEN else 0.0
                found[int(name.removeprefix("cpu"))] = CpuTimes(sum(counts[k] for k in _IDLE), stolen, sum(counts))
    return found


def allowed_cpus(pid: int, proc: Path = PROC) -> frozenset[int]:
    """The numbers of the processors that a process may use; empty where the system does not say, or it has ended."""
    with suppress(OSError, ValueError):
        for line in (proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                return _listed(line.partition(":")[2].strip())
    return frozenset()


def _listed(ranges: str) -> frozenset[int]:
    """`0-3,8` → 0, 1, 2, 3, 8."""
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def stolen_counts_as_run() -> bool:
    """Whether programs' own processor time may hold time that a hypervisor took.

    Not on a kernel built with `PARAVIRT_TIME_ACCOUNTING`; True also where its settings cannot be read, because then others'
    work comes out larger and never smaller than it was.
    """
    texts = (_unpacked(PROC / "config.gz"), _read(Path("/boot") / f"config-{platform.release()}"))
    return not any(_EXACT in text for text in texts)


def busy_ms(first: Mapping[int, CpuTimes], last: Mapping[int, CpuTimes], cpus: frozenset[int], lasted_ms: float) -> float:
    """How long these processors worked between two looks, summed; what was stolen is no work."""
    both = cpus & first.keys() & last.keys()
    rested = sum(last[c].idle_ms - first[c].idle_ms + last[c].stolen_ms - first[c].stolen_ms for c in both)
    return max(0.0, len(both) * lasted_ms - rested)


def _unpacked(path: Path) -> str:
    with suppress(OSError, EOFError):
        return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    return ""


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
