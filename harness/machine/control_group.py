"""Linux's counters of an agent's control groups: the time that a quota stopped them, and their wait for a processor.

A group that has used its share of a period is stopped until the next, and no other counter shows it. Quotas of all visible
parents count. Read are version 2 (`throttled_usec`, `cpu.pressure`) and version 1 (`throttled_time`) of the interface
(Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst).
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.machine.cpu_times import PROC

_US_PER_MS: Final = 1e3
_NS_PER_MS: Final = 1e6
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """Folders of the groups of some processes: their `own`, and those `with_parents` that may have a quota."""

    own: tuple[Path, ...]
    with_parents: tuple[Path, ...]

    def throttled_ms(self) -> float | None:
        """The time that quotas stopped these groups, over all processors, since they were made; None if not counted."""
        found = [ms for folder in self.with_parents if (ms := _throttled_ms(folder)) is not None]
        return sum(found) if found else None

    def stalled_ms(self) -> float | None:
        """The time that some process of these groups waited for a processor; None if the kernel does not count it."""
        found = [ms for folder in self.own if (ms := pressure_ms(folder / "cpu.pressure")) is not None]
        return sum(found) if found else None


def control_groups(pids: Iterable[int], proc: Path = PROC) -> ControlGroups:
    """The current groups of these processes; without groups that this process cannot see."""
    own: dict[Path, None] = {}
    every: dict[Path, None] = {}
    mounts = _mounts(proc / "self" / "mountinfo")
    for pid in pids:
        for mount, root in mounts:
            path = _path_in(proc / str(pid) / "cgroup", mount.v1)
            if path is None or not _is_below(path, root):
                continue
            folder = mount.place / path[len(root.rstrip("/")) :].lstrip("/")
            own[folder] = None
            while True:
                every[folder] = None
                if folder == mount.place:
                    break
                folder = folder.parent
    return ControlGroups(tuple(own), tuple(every))


def pressure_ms(path: Path) -> float | None:
    """The `some` total of a pressure file; None if there is none."""
    with suppress(OSError, ValueError, IndexError):
        return int(_text(path).split(b"\n", 1)[0].rpartition(b"total=")[2]) / _US_PER_MS
    return None


@dataclass(frozen=True, slots=True)
class _Mount:
    place: Path
    v1: bool
    """True for the first version of the interface, with a hierarchy for each resource."""


def _mounts(mountinfo: Path) -> list[tuple[_Mount, str]]:
    """The mounts with control groups of the processor, each with the group at its top."""
    found = []
    with suppress(OSError):
        for line in mountinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            before, _, after = line.partition(" - ")
            facts, kind = before.split(), after.split()
            if len(facts) < 5 or len(kind) < 3:
                continue
            if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "cpu" in kind[2].split(",")):
                found.append((_Mount(Path(_plain(facts[4])), kind[0] == "cgroup"), _plain(facts[3])))
    return found


def _path_in(cgroup: Path, v1: bool) -> str | None:
    with suppress(OSError):
        for line in cgroup.read_text(encoding="utf-8", errors="replace").splitlines():
            number, controllers, path = line.split(":", 2)
            if (v1 and "cpu" in controllers.split(",")) or (not v1 and number == "0" and not controllers):
                return path
    return None


def _is_below(path: str, root: str) -> bool:
    """True if a group is visible from a mount: one beside it is shown as `/../other`."""
    return ".." not in path.split("/") and (path == root or path.startswith(root.rstrip("/") + "/"))


def _throttled_ms(folder: Path) -> float | None:
    with suppress(OSError, ValueError):
        counts = dict(line.split() for line in _text(f"{folder}/cpu.stat").splitlines())
        if b"throttled_usec" in counts:
            return int(counts[b"throttled_usec"]) / _US_PER_MS
        if b"throttled_time" in counts:
            return int(counts[b"throttled_time"]) / _NS_PER_MS
    return None


def _text(path: Path | str) -> bytes:
    with open(path, "rb", 0) as file:
        return file.read()


def _plain(escaped: str) -> str:
    """A path from mountinfo, unescaped: blanks are octal numbers there."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), escaped)
