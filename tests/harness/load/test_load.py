"""Steps of rising concurrency, each measured like any call."""

import numpy as np
import pytest

from agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerTurn, Limits
from harness.load.steps import load

LIMITS = Limits(quiet_s=0.3, no_reply_s=2.0, total_s=4.0)
DELAY_MS = 300


def _turn() -> CallerTurn:
    voice = synthetic_voice(1.0, 16_000, np.random.default_rng(1)) * 0.08 * 32768
    return CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))


async def test_every_step_has_its_pacing_and_its_latency() -> None:
    seen: list[tuple[int, int, int]] = []
    async with metrology_agent(1, 9, keep_arrivals=False, delay_ms=DELAY_MS) as agent:
        result = await load(
            lambda k: ConnectionSpec("raw-pcm", f"{agent.url}/{k}"),
            _turn(), 16_000, (1, 4), limits=LIMITS, rounds=2, progress=lambda *done: seen.append(done),
        )  # fmt: skip
    one, four = result.steps
    assert (one.callers, one.sessions, four.callers, four.sessions) == (1, 2, 4, 8)
    for step in result.steps:
        assert step.failed == 0
        assert step.no_reply == 0
        assert step.ttfa_ms.p50 == pytest.approx(DELAY_MS, abs=80)
        assert step.ttfa_ms.p95 is None
    assert result.to_json()["steps"][1]["callers"] == 4
    assert seen[-1] == (4, 8, 8)


async def test_an_agent_that_is_not_there_is_the_ceiling() -> None:
    result = await load(lambda _: ConnectionSpec("raw-pcm", "ws://127.0.0.1:9"), _turn(), 16_000, (1, 2), limits=LIMITS)
    assert result.ceiling is None
    assert [step.failed for step in result.steps] == [1, 2]
    assert "refused" in result.steps[0].out_of_bounds[0]
