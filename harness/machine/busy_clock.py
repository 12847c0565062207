"""The time for which each processor ran programs, by the best clock that this machine has.

* `cpuacct.usage_percpu` of the uppermost control group (version 1 of that interface): in ns, updated whenever a program leaves
  the processor and at every tick of the scheduler, as each program's own clock is. So what others ran is a difference of two
  equal clocks, late by a tick at most.
* Everywhere else the idle time in `/proc/stat` and `/proc/uptime`, which is measured in µs and shown in steps of 10 ms.
  `/proc/schedstat` counts the time of a program only when that leaves the processor, so a program that works without a pause
  is not in it, and no bound can be made of it.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.machine.cpu_times import PROC
from harness.machine.kernel_file import KernelFile, opened

TICK_MS: Final = 10.0
"""The longest tick of Linux's scheduler (100 Hz); most kernels have 4 or 1 ms."""
_NS_PER_MS: Final = 1e6
_ONLY_UPPERMOST: Final = "release_agent"
"""A file that the uppermost group alone has: a container sees its own group in the same place, without others' work."""


def clock_of_each_processor(mounts: Path = PROC / "self" / "mountinfo") -> KernelFile | None:
    """The counter of every processor in ns, for `ran_ms_of_each`; None if this machine does not have it."""
    with suppress(OSError):
        for row in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
            before, _, after = row.partition(" - ")
            kind = after.split()
            if len(kind) > 2 and kind[0] == "cgroup" and "cpuacct" in kind[2].split(","):
                folder = Path(before.split()[4])
                if (folder / _ONLY_UPPERMOST).exists():
                    return opened(folder / "cpuacct.usage_percpu")
    return None


def ran_ms_of_each(text: bytes) -> tuple[float, ...]:
    """The time for which each processor ran programs so far, by its number."""
    return tuple(int(ns) / _NS_PER_MS for ns in text.split())
