"""Quotas and pressure of control groups, from the files of both versions of the interface."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.machine.call_watch import CallWatch
from harness.machine.control_group import control_groups
from harness.timing.contention import owed

PID = 7


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A `/proc` and a mount of control groups, version 2, where process 7 is in `/shop/bot`."""
    proc, mount = tmp_path / "proc", tmp_path / "control groups"
    for folder in (proc / "self", proc / str(PID), mount / "shop" / "bot"):
        folder.mkdir(parents=True)
    place = str(mount).replace(" ", "\\040")
    (proc / "self" / "mountinfo").write_text(f"31 23 0:26 / {place} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
    (proc / str(PID) / "cgroup").write_text("0::/shop/bot\n")
    (mount / "shop" / "cpu.stat").write_text("usage_usec 9\nnr_throttled 3\nthrottled_usec 250000\n")
    (mount / "shop" / "bot" / "cpu.stat").write_text("usage_usec 5\nnr_throttled 1\nthrottled_usec 40500\n")
    (mount / "shop" / "bot" / "cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=123000\n")
    return proc


def test_quotas_of_a_group_and_of_those_above_it_count(machine: Path) -> None:
    groups = control_groups([PID], machine)
    assert groups.throttled_ms() == pytest.approx(290.5)
    assert groups.stalled_ms() == pytest.approx(123.0)


def test_a_group_that_two_processes_share_counts_once(machine: Path) -> None:
    (machine / "8").mkdir()
    (machine / "8" / "cgroup").write_text("0::/shop/bot\n")
    assert control_groups([PID, 8], machine).throttled_ms() == pytest.approx(290.5)


def test_the_first_version_counts_in_nanoseconds(machine: Path) -> None:
    mountinfo = machine / "self" / "mountinfo"
    mountinfo.write_text(mountinfo.read_text().replace("cgroup2 cgroup2 rw", "cgroup cgroup rw,cpu,cpuacct"))
    (machine / str(PID) / "cgroup").write_text("4:memory:/else\n3:cpu,cpuacct:/shop/bot\n")
    mount = machine.parent / "control groups"
    for folder, ns in ((mount / "shop", 250_000_000), (mount / "shop" / "bot", 40_500_000)):
        (folder / "cpu.stat").write_text(f"nr_periods 9\nnr_throttled 3\nthrottled_time {ns}\n")
    assert control_groups([PID], machine).throttled_ms() == pytest.approx(290.5)


@pytest.mark.parametrize("path", ["/../other", "/elsewhere"])
def test_a_group_outside_this_one_s_view_says_nothing(machine: Path, path: str) -> None:
    mountinfo = machine / "self" / "mountinfo"
    mountinfo.write_text(mountinfo.read_text().replace(" / ", " /shop ", 1))
    (machine / str(PID) / "cgroup").write_text(f"0::{path}\n")
    groups = control_groups([PID], machine)
    assert (groups.own, groups.throttled_ms(), groups.stalled_ms()) == ((), None, None)


def test_a_mount_that_begins_inside_the_tree_is_followed_from_there(machine: Path) -> None:
    mountinfo, mount = machine / "self" / "mountinfo", machine.parent / "control groups"
    mountinfo.write_text(mountinfo.read_text().replace(" / ", " /shop ", 1))
    (mount / "bot").mkdir()
    (mount / "bot" / "cpu.stat").write_text("throttled_usec 1000\n")
    assert control_groups([PID], machine).throttled_ms() == pytest.approx(1.0)


def test_without_control_groups_nothing_is_said(tmp_path: Path) -> None:
    assert control_groups([PID], tmp_path).throttled_ms() is None


@pytest.fixture
def quota() -> Iterator[Path]:
    """A group of this test's own that may use a tenth of a processor."""
    for place, name, value in (
        (Path("/sys/fs/cgroup"), "cpu.max", "5000 50000"),
        (Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us", "5000"),
    ):
        folder = place / f"quota-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        with suppress(OSError):
            if not (folder / name).exists():
                raise OSError(f"{place} is no place for groups")
            if name == "cpu.cfs_quota_us":
                (folder / "cpu.cfs_period_us").write_text("50000")
            (folder / name).write_text(value)
            yield folder
            folder.rmdir()
            return
        folder.rmdir()
    pytest.skip("this process may make no control group with a quota")


def put_into(group: Path, pid: int) -> None:
    """Put a program into a group. Linux refuses one that has not run yet (EINVAL), as on a busy machine for a while."""
    limit_s = time.monotonic() + 30
    while True:
        try:
            (group / "cgroup.procs").write_text(str(pid))
            return
        except OSError as error:
            if error.errno != errno.EINVAL or time.monotonic() > limit_s:
                raise
            time.sleep(0.01)


def test_an_agent_that_a_quota_stops_owes_that_to_it(quota: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    try:
        put_into(quota, program.pid)
        with CallWatch((program.pid,), ()) as watch:
            time.sleep(1.5)
    finally:
        program.kill()
        program.wait()
    assert watch.track is not None
    found = owed(watch.track, watch.track.samples[0].at_ns, watch.track.samples[-1].at_ns)
    assert found is not None
    assert found.quota_ms is not None
    assert found.quota_ms > 0.3 * found.lasted_ms
