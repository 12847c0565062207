"""Sampling of GPUs: its rate, the bound on its cost, and that nobody waits for a driver that takes its time."""

import asyncio
import json
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import pynvml as nvml
import pytest

from harness.caller.pacer import FRAME_NS, Pacer, precise_loop
from harness.clock import now_ns
from harness.machine import telemetry
from harness.machine.gpu import Gpu, Sample
from harness.machine.gpu_sampler import COST, MOST_SHARE, PERIOD_S, GpuSampler, next_due_s
from harness.machine.telemetry import Telemetry
from tests.harness.machine.scripted_gpu import ScriptedDriver

SLOW_S = 0.4


def samples_of(path: Path, gpu: bool) -> list[Sample]:
    read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [sample for sample in read if (COST in sample) == gpu]


def sampled(path: Path, takes_s: float, lasting_s: float) -> list[Sample]:
    sampler = GpuSampler(path, [Gpu(ScriptedDriver(nvml, takes_s=takes_s), 0)], dict)
    sampler.start()
    time.sleep(lasting_s)
    sampler.stop()
    return samples_of(path, gpu=True)


def test_a_quick_driver_is_sampled_fifty_times_a_second_and_processes_less_often(tmp_path: Path) -> None:
    found = sampled(tmp_path / "t.jsonl", 0.0, 1.5)
    # A busy machine samples later, and never sooner.
    assert 25 <= len(found) <= 1.5 / PERIOD_S + 2
    with_processes = [s for s in found if "gpu0.temperature_c" in s]
    assert 2 < len(with_processes) < len(found) / 3
    assert all(s["gpu0.sm_clock_mhz"] == 1980.0 and s[COST] >= 0 for s in found)


def test_a_slow_driver_is_asked_so_seldom_that_sampling_stays_within_its_share(tmp_path: Path) -> None:
    found = sampled(tmp_path / "t.jsonl", 0.01, 2.0)
    starts_s = [s["at_ns"] / 1e9 for s in found]
    spent_s = [s[COST] / 1000 for s in found]
    assert len(found) >= 3
    assert sum(spent_s[:-1]) <= 1.1 * MOST_SHARE * (starts_s[-1] - starts_s[0])
    assert median(b - a for a, b in pairwise(starts_s)) > 2 * PERIOD_S


@pytest.mark.parametrize(
    ("began_s", "ended_s", "next_s"),
    [(10.0, 10.001, 10.02), (10.0, 10.004, 10.02), (10.0, 10.02, 10.1), (10.5, 10.501, 10.505)],
)
def test_the_next_sample_is_a_period_later_or_after_a_rest(began_s: float, ended_s: float, next_s: float) -> None:
    assert next_due_s(10.0, began_s, ended_s) == pytest.approx(next_s)


def test_nobody_waits_for_a_driver_that_takes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Gpu(ScriptedDriver(nvml), 0)
    card._nvml._takes_s = SLOW_S
    monkeypatch.setattr(telemetry, "cards", lambda: [card])
    late_ns: list[int] = []

    async def paced() -> None:
        pacer, done = Pacer(), asyncio.Event()

        def tick(due_ns: int) -> bool:
            late_ns.append(now_ns() - due_ns)
            if len(late_ns) >= 100:
                done.set()
            return not done.is_set()

        pacer.add(pacer.start_time(), tick)
        await done.wait()

    loop = precise_loop()
    with Telemetry(tmp_path / "t.jsonl"):
        loop.run_until_complete(paced())
    loop.close()
    # The real caller's pacer, here even in the same process: a frame that waited for one call would be twenty periods late.
    assert max(late_ns) < SLOW_S * 1e9 / 2
    assert median(late_ns) < FRAME_NS
    # Nor did the samples of the processor: ten a second, where each of the GPU takes two.
    cpu = [s["at_ns"] for s in samples_of(tmp_path / "t.jsonl", gpu=False)]
    assert median(b - a for a, b in pairwise(cpu)) < SLOW_S * 1e9 / 2


def test_a_driver_that_hangs_does_not_keep_a_run_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hung_s = 30.0
    card = Gpu(ScriptedDriver(nvml), 0)
    card._nvml._takes_s = hung_s
    monkeypatch.setattr(telemetry, "cards", lambda: [card])
    began_s = time.monotonic()
    with Telemetry(tmp_path / "t.jsonl"):
        time.sleep(0.2)
    assert time.monotonic() - began_s < hung_s / 2
