"""Which processors count, and how long they were busy."""

import os
from pathlib import Path

import pytest

from harness.machine.cpu_times import CpuTimes, allowed_cpus, busy_ms, cpu_times, idle_in_ms

STAT = """cpu  100 0 50 900 10 0 0 40 5 0
cpu0 60 0 30 400 10 0 0 20 5 0
cpu3 40 0 20 500 0 0 0 20 0 0
intr 123
"""


def test_each_processor_has_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT)
    ms = 1000 / os.sysconf("SC_CLK_TCK")
    assert cpu_times(tmp_path) == {0: CpuTimes(410 * ms, 20 * ms, 520 * ms, 10 * ms), 3: CpuTimes(500 * ms, 20 * ms, 580 * ms)}


def test_a_process_says_which_it_may_use(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("Name:\tbot\nCpus_allowed:\t10f\nCpus_allowed_list:\t0-3,8\n")
    assert allowed_cpus(7, tmp_path) == {0, 1, 2, 3, 8}
    assert allowed_cpus(8, tmp_path) == frozenset()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say")
def test_of_this_process_the_kernel_says_the_same_twice() -> None:
    assert allowed_cpus(os.getpid()) == os.sched_getaffinity(0)


def test_busy_is_what_was_neither_idle_nor_stolen_of_the_processors_that_count() -> None:
    first = {0: CpuTimes(0, 0, 0), 1: CpuTimes(0, 0, 0)}
    last = {0: CpuTimes(700, 100, 1_000), 1: CpuTimes(0, 0, 1_000)}
    assert busy_ms(first, last, frozenset({0}), 1_000) == 200
    assert busy_ms(first, last, frozenset({0, 1}), 1_000) == 1_200
    assert busy_ms(first, last, frozenset({0, 9}), 1_000) == 200, "one that is off, or not shown, is not there"


def test_idle_time_rounded_once_is_taken_as_far_as_the_counts_of_each_processor_allow() -> None:
    first = {0: CpuTimes(0, 0, 0), 1: CpuTimes(0, 0, 0)}
    last = {0: CpuTimes(900, 0, 1_000), 1: CpuTimes(800, 0, 1_000, iowait_ms=100)}
    both, rounded_ms = frozenset({0, 1}), 2 * 1000 / os.sysconf("SC_CLK_TCK")
    assert busy_ms(first, last, both, 1_000, 1_605) == 2_000 - 1_605 - 100, (
        "waiting for a disk is rest, and not in /proc/uptime"
    )
    assert busy_ms(first, last, both, 1_000, 99_000) == 300 - rounded_ms, "an uptime of something else"
    assert busy_ms(first, last, both, 1_000, 0) == 300 + rounded_ms
    assert busy_ms(first, last, frozenset({0}), 1_000, 1_605) == 100, "of all processors, it says nothing of one"


def test_all_processors_together_rest_as_long_as_each_of_them() -> None:
    assert idle_in_ms(b"350735.47 234388.90\n") == 234_388_900
    assert idle_in_ms(b"") is None
