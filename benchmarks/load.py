"""How many callers one machine paces: `python benchmarks/load.py [callers … | auto]`, against programmed agents beside them.

An agent answers every caller 300 ms after the caller's end, so the TTFA of a step shows when the *machine* runs out, before any
real agent would. One process of it gave way at 150 callers; so there are more, one for each fifty, and callers take turns.
"""

import asyncio
import sys
from contextlib import AsyncExitStack

import numpy as np

from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerTurn, Limits, SessionPlan
from harness.load.ceiling import LoadResult
from harness.load.steps import Load, load

TURN_S = 6.0
DELAY_MS = 300
EACH = 50
"""Callers of one agent's process: a third of what it was seen to serve."""
AGENTS_AT_MOST = 8
LIMITS = Limits(quiet_s=1.0, no_reply_s=5.0, total_s=10.0)


async def measure(callers: list[int] | None) -> LoadResult:
    """Run the steps; None: as many callers as hold."""
    voice = synthetic_voice(TURN_S, 16_000, np.random.default_rng(1)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    count = AGENTS_AT_MOST if callers is None else min(AGENTS_AT_MOST, -(-max(callers) // EACH))
    replies = 500 if callers is None else -(-sum(callers) // count)
    async with AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(metrology_agent(n, replies, keep_arrivals=False, delay_ms=DELAY_MS))
            for n in range(count)
        ]
        each = Load(
            lambda k: SessionPlan(ConnectionSpec("raw-pcm", f"{agents[k % count].url}/{k}"), (turn,), 16_000, limits=LIMITS),
            budget_ms=DELAY_MS * 1.5,
        )
        return await load(each, callers)


def main() -> None:
    """Print a line a step."""
    given = sys.argv[1:]
    callers = None if given == ["auto"] else [int(a) for a in given] or [1, 10, 50, 100]
    result = asyncio.run(measure(callers))
    print(f"caller priority: {result.priority}; ceiling: {result.ceiling}")
    if result.limit is not None:
        print(f"at {result.limit[0]}: {result.limit[1].in_words()}")
    print("callers  pacing p99 ms   max ms   ratio     lag max   ttfa p50   p95   no reply  failed", end="  ")
    print("processes  core/caller  MiB/caller  machine")
    for s in result.steps:
        print(
            f"{s.callers:7} {s.pacing_p99_error_ms:14.2f} {s.pacing_max_error_ms:8.2f} {s.realtime_ratio:8.5f} "
            f"{s.loop_lag_max_ms:9.2f} {s.ttfa_ms.p50 or -1:9.0f} {s.ttfa_ms.p95 or -1:6.0f} {s.no_reply:8} {s.failed:7}"
            + (
                f" {s.used.processes:10} {s.used.cores_a_caller:12.4f} {s.used.mib_a_caller:11.2f} {s.used.machine:8.0%}"
                if s.used is not None
                else ""
            )
        )


if __name__ == "__main__":
    main()
