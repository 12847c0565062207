"""The machine beside the turns, on the same clock."""

import json
import os
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import mean

import psutil
import pytest

from harness.clock import now_ns
from harness.machine.gpu import Sample
from harness.machine.telemetry import TREE_PERIOD_S, Telemetry


def read(path: Path) -> list[Sample]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mean_percent(samples: list[Sample], start_ns: int, end_ns: int) -> float:
    return mean(s["me.cpu_percent"] for s in samples if start_ns <= s["at_ns"] <= end_ns and "me.cpu_percent" in s)


def test_samples_come_ten_times_a_second_on_the_clock_of_the_turns(tmp_path: Path) -> None:
    begun = now_ns()
    with Telemetry(tmp_path / "t.jsonl", {"me": os.getpid()}):
        time.sleep(1.2)
    ended = now_ns()
    samples = read(tmp_path / "t.jsonl")
    assert 6 <= len(samples) <= 14
    assert all(begun <= s["at_ns"] <= ended for s in samples)
    assert samples[-1]["me.memory_mib"] > 10
    assert 0 <= samples[-1]["cpu_percent"] <= 100


def test_a_busy_process_shows(tmp_path: Path) -> None:
    with Telemetry(tmp_path / "t.jsonl", {"me": os.getpid()}):
        time.sleep(0.3)
        begun = now_ns()
        until = time.monotonic() + 0.8
        while time.monotonic() < until:
            sum(range(1_000))
        busy = (begun, now_ns())
        time.sleep(0.5)
        idle = (busy[1] + 150_000_000, now_ns())
        time.sleep(0.2)
    samples = read(tmp_path / "t.jsonl")
    # How much it got depends on what else runs; idle it gets next to nothing.
    assert mean_percent(samples, *busy) > 3 * mean_percent(samples, *idle) + 1


def test_a_process_that_is_gone_is_absent_and_not_zero(tmp_path: Path) -> None:
    with Telemetry(tmp_path / "t.jsonl", {"gone": 2**22 - 1}):
        time.sleep(0.3)
    assert all("gone.cpu_percent" not in s for s in read(tmp_path / "t.jsonl"))


def test_a_process_that_ends_is_absent_from_then_on_and_is_not_searched_for_at_every_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, children = list[int](), psutil.Process.children

    def searched(process: psutil.Process, recursive: bool = False) -> list[psutil.Process]:
        searches.append(process.pid)
        return children(process, recursive)

    monkeypatch.setattr(psutil.Process, "children", searched)
    ending = subprocess.Popen(["sleep", "60"])
    with Telemetry(tmp_path / "t.jsonl", {"ending": ending.pid}):
        time.sleep(0.5)
        ending.kill()
        ending.wait()
        ended_ns = now_ns()
        time.sleep(TREE_PERIOD_S + 1.0)
    samples = read(tmp_path / "t.jsonl")
    assert any(s.get("ending.memory_mib", 0) > 0 for s in samples)
    # A sample in progress may have begun before.
    assert all("ending.memory_mib" not in s for s in samples if s["at_ns"] > ended_ns)
    assert len(searches) <= 3


def test_a_machine_without_gpu_has_no_gpu_columns(tmp_path: Path) -> None:
    gpus = any(Path("/dev").glob("nvidia[0-9]*")) and find_spec("pynvml") is not None
    with Telemetry(tmp_path / "t.jsonl"):
        time.sleep(0.3)
    assert gpus == any(c.startswith("gpu") for s in read(tmp_path / "t.jsonl") for c in s)
