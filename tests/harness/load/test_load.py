"""Steps of rising concurrency, each measured like any call."""

from collections.abc import Callable

import numpy as np
import pytest

from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerTurn, Limits, SessionPlan
from harness.load.result import LoadResult
from harness.load.steps import Load, load

LIMITS = Limits(quiet_s=0.3, no_reply_s=2.0, total_s=4.0)
DELAY_MS = 300


def _turn() -> CallerTurn:
    voice = synthetic_voice(1.0, 16_000, np.random.default_rng(1)) * 0.08 * 32768
    return CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))


def _calls(line: Callable[[int], ConnectionSpec]) -> Callable[[int], SessionPlan]:
    turn = _turn()
    return lambda number: SessionPlan(line(number), (turn,), 16_000, limits=LIMITS)


@pytest.mark.long
@pytest.mark.alone
async def test_every_step_has_its_pacing_and_its_latency() -> None:
    seen: list[tuple[str, int, int]] = []
    async with metrology_agent(1, 9, keep_arrivals=False, delay_ms=DELAY_MS) as agent:
        calls = _calls(lambda k: ConnectionSpec("raw-pcm", f"{agent.url}/{k}"))
        result = await load(Load(calls, progress=lambda *done: seen.append(done)), (1, 4), rounds=2)
    one, four = (step.record for step in result.steps)
    assert (one.callers, one.sessions, four.callers, four.sessions) == (1, 2, 4, 8)
    for step in result.steps:
        assert step.record.failed == step.record.no_reply == 0
        assert step.figures.ttfa_ms.p50 == pytest.approx(DELAY_MS, abs=80)
        assert step.figures.ttfa_ms.p95 is None
        used = step.record.used
        assert used is not None
        assert used.processes == 1
        assert 0 < used.cores_a_caller <= used.busiest_process
        assert 0 < used.machine <= 1
    assert result.to_json()["steps"][1]["callers"] == 4
    assert ("4 at once", 8, 8) in seen
    assert seen[-1] == ("measuring 4 at once", 8, 8)


@pytest.mark.long
@pytest.mark.alone
async def test_as_many_callers_are_tried_as_hold_and_no_more() -> None:
    async with metrology_agent(1, 40, keep_arrivals=False, delay_ms=DELAY_MS) as agent:

        def line(k: int) -> ConnectionSpec:
            # The agent is there for its first nine callers: four in the first step, five of the eight in the second.
            return ConnectionSpec("raw-pcm", f"{agent.url}/{k}" if k < 9 else "ws://127.0.0.1:9")

        result = await load(Load(_calls(line), budget_ms=5_000), None, rounds=1, most=8)
    assert [step.record.callers for step in result.steps][:2] == [4, 8]
    assert result.limit is not None
    assert result.limit[1].of == "agent"
    eight = LoadResult(result.part, result.steps[:2]).limit
    assert eight is not None
    assert "3 of 8 calls failed" in eight[1].detail
    assert result.ceiling == 4


async def test_an_agent_that_is_not_there_is_the_ceiling() -> None:
    result = await load(Load(_calls(lambda _: ConnectionSpec("raw-pcm", "ws://127.0.0.1:9"))), (1, 2))
    assert result.ceiling is None
    assert [step.record.failed for step in result.steps] == [1, 2]
    assert result.limit is not None
    assert "1 of 1 call failed (refused: " in result.limit[1].detail
    assert result.steps[1].record.says_of_agent
