"""How much of TTFT do a model server's own words explain? `python benchmarks/server_waits.py [turns] [callers,callers,…]`.

Calls the cascade `polaris-like`, whose language model is a llama.cpp server of its own, with 1 to 6 callers at once, and splits
each turn's wait for the first token into queue, computing, measured idle time and the rest. Every turn counts, contended ones
too: others on the machine delay what is split, and it must add up all the same. Prints a row for each number of callers, and
the median over all turns with its exact interval.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness.audio.vocal import silero
from harness.caller import Callers
from harness.caller.exchange import take_raw
from harness.experiment import Experiment
from harness.load.steps import wave
from harness.progress import RunProgress
from harness.run.call_plan import call_plan
from harness.run.caller_turns import render_turns
from harness.run.plan import make_plan
from harness.run.running_agents import RunningAgents
from harness.run.weights import weights_of_agents
from harness.servers.split import ServerSplit
from harness.statistics.bounds import percentile_bounds
from harness.statistics.interval import TAIL
from harness.timing import measure_turns

AGENT = "polaris-like"
TURNS, CALLERS = 60, (1, 2, 3, 4, 5, 6)


async def splits(turns: int, callers: tuple[int, ...]) -> dict[int, list[ServerSplit]]:
    """Callers at once → the split waits of at least their share of the turns."""
    progress = RunProgress(quiet=True)
    plan = make_plan(Experiment(agents=(AGENT,), pack="heart-mini"))
    (profile,), keys = plan.profiles, list(plan.session_keys())
    weights, spoken = weights_of_agents(plan, progress), render_turns(plan, progress)
    fleet, vocal, found = Callers(), silero(), {n: list[ServerSplit]() for n in callers}
    with tempfile.TemporaryDirectory() as parent:
        async with RunningAgents(plan.profiles, weights, Path(parent) / "logs", progress) as running:
            try:
                begun = 0
                for n in callers:
                    while len(found[n]) < turns / len(callers):
                        calls = []
                        for k in range(n):
                            key = keys[(begun + k) % len(keys)]
                            calls.append((key, call_plan(plan, spoken, key, running.connection(profile.name), None)))
                        await fleet.enough_for(n)
                        for call in await wave(calls, fleet, Path(parent), begun):
                            if call.outcome.failure_kind is None:
                                measured = await asyncio.to_thread(measure_turns, take_raw(call.folder), vocal)
                                found[n] += [part for turn in measured for part in turn.servers if part.stage == "llm"]
                        begun += n
            finally:
                await fleet.stop()
    return found


def main() -> None:
    """Play, and print the table."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    callers = tuple(map(int, sys.argv[2].split(","))) if len(sys.argv) > 2 else CALLERS
    found = asyncio.run(splits(turns, callers))
    print("callers  turns   TTFT  queue  computing   idle  unexplained  read late  explained, median (lowest)")
    for n, parts in found.items():
        print(f"{n:7}  {_row(parts)}")
    every = [part for parts in found.values() for part in parts]
    print(f"    all  {_row(every)}")
    low, high = percentile_bounds([np.array([part.explained_share]) for part in every], 0.5, TAIL)
    print(f"explained, median of {len(every)} turns: 95 % interval {low:.1%} to {high:.1%}")


def _row(parts: list[ServerSplit]) -> str:
    if not parts:
        return "    0"
    means = [
        statistics.fmean(getattr(part, name) or 0.0 for part in parts)
        for name in ("whole_ms", "queue_ms", "compute_ms", "idle_ms", "unexplained_ms", "late_ms")
    ]
    shares = [part.explained_share for part in parts]
    widths = (5, 5, 9, 5, 11, 9)
    cells = "  ".join(f"{mean:{width}.1f}" for mean, width in zip(means, widths, strict=True))
    return f"{len(parts):5}  {cells}  {statistics.median(shares):.1%} ({min(shares):.1%})"


if __name__ == "__main__":
    main()
