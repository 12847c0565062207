"""How many callers one machine paces: `python benchmarks/load.py [callers …]`, against an echoing agent on the same machine.

The agent answers every caller 300 ms after the caller's end, so the TTFA of a step shows when the *machine* runs out,
before any real agent would.
"""

import asyncio
import sys

import numpy as np

from agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerTurn, Limits
from harness.load.result import LoadResult
from harness.load.steps import load

TURN_S = 6.0
DELAY_MS = 300
LIMITS = Limits(quiet_s=1.0, no_reply_s=5.0, total_s=10.0)


async def measure(callers: list[int]) -> LoadResult:
    """Run the steps."""
    voice = synthetic_voice(TURN_S, 16_000, np.random.default_rng(1)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    async with metrology_agent(1, sum(callers), keep_arrivals=False, delay_ms=DELAY_MS) as agent:
        return await load(lambda k: ConnectionSpec("raw-pcm", f"{agent.url}/{k}"), turn, 16_000, callers, limits=LIMITS)


def main() -> None:
    """Print a line a step."""
    callers = [int(a) for a in sys.argv[1:]] or [1, 10, 50, 100]
    result = asyncio.run(measure(callers))
    print(f"caller priority: {result.priority}; ceiling: {result.ceiling}")
    print("callers  pacing p99 ms   max ms   ratio     lag max   ttfa p50   p95   no reply  failed")
    for s in result.steps:
        print(
            f"{s.callers:7} {s.pacing_p99_error_ms:14.2f} {s.pacing_max_error_ms:8.2f} {s.realtime_ratio:8.5f} "
            f"{s.loop_lag_max_ms:9.2f} {s.ttfa_ms.p50 or -1:9.0f} {s.ttfa_ms.p95 or -1:6.0f} {s.no_reply:8} {s.failed:7}"
        )


if __name__ == "__main__":
    main()
