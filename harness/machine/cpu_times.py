"""Linux's counters of each processor: its idle time, the time taken by a hypervisor, and which ones a process may use.

`/proc/stat` has a line for each, also those that an agent cannot use (`Cpus_allowed_list`). Busy means not idle: the columns of
work err by 40 ms over a second and a half of half a core, as a whole tick is charged to the thread at its end, while idle time
is measured and only rounded to 10 ms for display (`/proc/uptime` rounds it once for all processors).
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
"""The columns of a line of /proc/stat that count idle time: idle, iowait."""
_STOLEN: Final = 7
_LAST: Final = 8
"""The last column used: guests' time, after it, is already counted in `user`."""
_EXACT: Final = "CONFIG_PARAVIRT_TIME_ACCOUNTING=y"


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """The times of one processor, in ms since boot."""

    idle_ms: float
    """Idle time, including waits for a disk."""
    stolen_ms: float
    counted_ms: float
    """The sum of all columns: the elapsed time, on a system that counts."""
    iowait_ms: float = 0.0


def cpu_times(proc: Path = PROC) -> dict[int, CpuTimes]:
    """Number → times of every processor that is online.

    Raises:
        OSError: this system has no `/proc/stat`.
    """
    return times_in((proc / "stat").read_bytes())


def times_in(stat: bytes) -> dict[int, CpuTimes]:
    """Number → times of every processor, from the text of `/proc/stat`."""
    found: dict[int, CpuTimes] = {}
    ms = 1000 / os.sysconf("SC_CLK_TCK")
    for row in stat.split(b"\nintr", 1)[0].splitlines():
        name, *ticks = row.split()
        if name.startswith(b"cpu") and name != b"cpu":
            counts = [int(tick) * ms for tick in ticks[:_LAST]]
            stolen = counts[_STOLEN] if len(counts) > _STOLEN else 0.0
            rest, iowait = sum(counts[k] for k in _IDLE), counts[_IDLE[1]]
            found[int(name[3:])] = CpuTimes(rest, stolen, sum(counts), iowait)
    return found


def idle_in_ms(uptime: bytes) -> float | None:
    """The idle time of all processors together, without waits for a disk, in the text of `/proc/uptime`; None if not there."""
    with suppress(ValueError, IndexError):
        return float(uptime.split()[1]) * 1000
    return None


def allowed_cpus(pid: int, proc: Path = PROC) -> frozenset[int]:
    """The numbers of the processors that a process may use; empty if unknown, or if the process has ended."""
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
    """True if programs' own processor time may include time that a hypervisor took.

    False on a kernel built with `PARAVIRT_TIME_ACCOUNTING`; True also if its settings are unreadable, because then others'
    work may be overestimated but never underestimated.
    """
    texts = (_unpacked(PROC / "config.gz"), _read(Path("/boot") / f"config-{platform.release()}"))
    return not any(_EXACT in text for text in texts)


def busy_ms(
    first: Mapping[int, CpuTimes],
    last: Mapping[int, CpuTimes],
    cpus: frozenset[int],
    lasted_ms: float,
    idle_of_all_ms: float | None = None,
) -> float:
    """The busy time of these processors between two readings, summed; stolen time is not busy.

    `idle_of_all_ms`: the growth of `idle_of_all_ms()` in between. It is used only if the counts of single processors
    allow it: a container may have a different uptime.
    """
    both = cpus & first.keys() & last.keys()
    idle = sum(last[c].idle_ms - first[c].idle_ms for c in both)
    if idle_of_all_ms is not None and both == last.keys():
        waited_for_disk = sum(last[c].iowait_ms - first[c].iowait_ms for c in both)
        rounded = len(both) * 1000 / os.sysconf("SC_CLK_TCK")
        idle = min(max(idle_of_all_ms + waited_for_disk, idle - rounded), idle + rounded)
    stolen = sum(last[c].stolen_ms - first[c].stolen_ms for c in both)
    return max(0.0, len(both) * lasted_ms - idle - stolen)


def _unpacked(path: Path) -> str:
    with suppress(OSError, EOFError):
        return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    return ""


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
