"""Waves of the same callers: what drifts is told, and what only trembles is not."""

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerTurn, Limits, SessionPlan
from harness.figures.steps import step_figures
from harness.load.result import Step
from harness.load.soak import FEWEST_WAVES, Look, drifts, soak
from harness.store.load_part import StepRecord
from harness.timing.quantiles import Quantiles

WAVE_S = 30.0


def look(n: int, memory_mib: float, p50: float | None = 300.0, pacing_ms: float | None = 0.2) -> Look:
    record = StepRecord(callers=4, sessions=4, pacing_p99_error_ms=pacing_ms)
    step = Step(record, replace(step_figures([]), ttfa_ms=Quantiles(p50=p50)))
    return Look(n * WAVE_S, 0.0, {"caller": memory_mib}, {"caller": 12}, step)


def waves(memory_mib: Callable[[int], float], count: int = 40) -> tuple[Look, ...]:
    return tuple(look(n, memory_mib(n)) for n in range(count))


def test_a_leak_is_told_in_its_size_though_single_waves_are_disturbed() -> None:
    chance = random.Random(3)
    found = {d.what: d for d in drifts(waves(lambda n: 100 + 0.05 * n + chance.gauss(0, 0.2) + 30 * (n == 17)))}
    memory = found["memory of the caller"]
    assert memory.moves
    assert memory.per_hour == pytest.approx(0.05 * 3_600 / WAVE_S, rel=0.2)
    assert memory.interval[0] <= memory.per_hour <= memory.interval[1]
    assert not found["descriptors of the caller"].moves
    assert found["descriptors of the caller"].per_hour == 0


def test_what_only_trembles_may_be_none() -> None:
    chance = random.Random(5)
    memory = next(d for d in drifts(waves(lambda _: 100 + chance.gauss(0, 1))) if d.what == "memory of the caller")
    assert not memory.moves
    assert "possibly none" in memory.in_words()


def test_few_waves_and_waves_without_figures_say_nothing() -> None:
    assert drifts(waves(lambda n: float(n), FEWEST_WAVES - 1)) == ()
    silent = tuple(look(n, 100.0, p50=None, pacing_ms=None) for n in range(FEWEST_WAVES))
    assert {d.what for d in drifts(silent)} == {"the clock", "memory of the caller", "descriptors of the caller"}


async def test_waves_are_played_until_the_time_is_over() -> None:
    voice = synthetic_voice(0.5, 16_000, np.random.default_rng(1)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    async with metrology_agent(1, 20, keep_arrivals=False, delay_ms=200) as agent:
        limits = Limits(quiet_s=0.2, no_reply_s=9.0, total_s=12.0)

        def plan(k: int) -> SessionPlan:
            spec = ConnectionSpec("raw-pcm", f"{agent.url}/{k}")
            return SessionPlan(spec, (turn,), 16_000, limits=limits, reply_ends_after_ms=300)

        found = await soak(plan, 2, 3.0, agent_pid=agent.pid)
    assert len(found.looks) >= 2
    assert found.looks[-1].at_s >= 3.0 > found.looks[-2].at_s
    for seen in found.looks:
        assert seen.step.record.failed == 0
        assert seen.memory_mib["caller"] > 10
        assert seen.memory_mib["agent"] > 10
        assert seen.descriptors["agent"] > 0
    assert found.to_json()["waves"][0]["sessions"] == 2
