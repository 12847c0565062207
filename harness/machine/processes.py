"""Figures of running processes, summed; one that has ended, or that another user owns, counts nothing."""

from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil


def family(pid: int) -> list[psutil.Process]:
    """A process and all its children; empty if it has ended."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def summed(processes: Iterable[psutil.Process], read: Callable[[psutil.Process], float]) -> float:
    """The sum of one figure."""
    found = 0.0
    for process in processes:
        with suppress(psutil.Error):
            found += read(process)
    return found


def spent_s(process: psutil.Process) -> float:
    """The processor time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def memory_bytes(process: psutil.Process) -> float:
    """The memory that a process has now."""
    return float(process.memory_info().rss)
