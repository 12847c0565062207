"""How many callers this machine paces: `python benchmarks/load.py [callers … | auto] [--callers-on CORES --agents-on CORES]`.

Programmed agents answer every caller 300 ms after the caller's end, and stamp their own answers, so both errors are known: how
late the agents were, and how wrong the callers' TTFA is. Each hundred callers have a process of agents, and callers take
turns.

On few cores the agents take the callers' processor, and TTFA shows that. With cores for each side (as `taskset` names them)
the agents are pinned to theirs, in a network namespace of their own where this user may make one: the two sides then share a
virtual cable, as two machines share a real one, and neither loopback nor cores.
"""

import argparse
import asyncio
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import numpy as np

from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerTurn, Limits, SessionPlan
from harness.load.result import LoadResult
from harness.load.steps import Load, load
from harness.store.session import UnrecordedCall
from harness.timeline import NS_PER_MS

TURN_S = 6.0
DELAY_MS = 300
EACH = 100
"""Callers of one agent's process."""
AGENTS_AT_MOST = 8
LIMITS = Limits(quiet_s=1.0, no_reply_s=5.0, total_s=10.0)
NAMESPACE, HERE, THERE = "harness-load", "10.231.77.1", "10.231.77.2"
AGENT = (str(Path(__file__).with_name("quick_agent.py")),)
Apart = tuple[tuple[str, ...], str]
"""The command that starts an agent, and the address at which it listens."""
Truths = dict[str, dict[str, float]]
"""Number of a call → its agent's own stamps."""


async def measure(callers: list[int] | None, apart: Apart, rows: list[UnrecordedCall]) -> tuple[LoadResult, Truths]:
    """Run the steps (None: as many callers as hold); returns them with the agents' truths by number of the call."""
    voice = synthetic_voice(TURN_S, 16_000, np.random.default_rng(1)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    count = AGENTS_AT_MOST if callers is None else min(AGENTS_AT_MOST, -(-max(callers) // EACH))
    replies = 500 if callers is None else -(-sum(callers) // count)
    behind, host = apart
    async with AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(
                metrology_agent(n, replies, keep_arrivals=False, delay_ms=DELAY_MS, host=host, behind=behind, program=AGENT)
            )
            for n in range(count)
        ]
        each = Load(
            lambda k: SessionPlan(ConnectionSpec("raw-pcm", f"{agents[k % count].url}/{k}"), (turn,), 16_000, limits=LIMITS),
            budget_ms=DELAY_MS * 1.5,
            finished=lambda calls, _: rows.extend(calls),
        )
        found = await load(each, callers)
        truths = [await agent.truth() for agent in agents]
    return found, {path.strip("/"): truth for each_ in truths for path, truth in each_.items()}


def errors_ms(calls: Sequence[UnrecordedCall], truths: Truths) -> tuple[list[float], list[float]]:
    """How late each answer was beyond 300 ms, and how wrong its TTFA is."""
    late, wrong = [], []
    for call in calls:
        truth = truths.get(call.key.context_id)
        for turn in call.turn_timings if truth is not None else ():
            if truth is not None and turn.ttfa_ms is not None:
                true_ms = (truth["sent_ns"] - call.started_ns) / NS_PER_MS - turn.spoken_end_ms + truth["onset_ms"]
                late.append(true_ms - DELAY_MS)
                wrong.append(turn.ttfa_ms - true_ms)
    return late, wrong


@contextmanager
def agents_apart(cores: str) -> Iterator[Apart]:
    """Where agents run: on these cores (empty: any), in a namespace of their own if there are cores and it can be made."""
    pinned = ("taskset", "-c", cores) if cores else ()
    lines = (
        f"ip netns add {NAMESPACE}", f"ip link add hl0 type veth peer name hl1 netns {NAMESPACE}",
        f"ip addr add {HERE}/30 dev hl0", "ip link set hl0 up", f"ip -n {NAMESPACE} addr add {THERE}/30 dev hl1",
        f"ip -n {NAMESPACE} link set hl1 up",
    )  # fmt: skip
    made = bool(cores) and all(subprocess.run(line.split(), check=False).returncode == 0 for line in lines)
    try:
        yield (("ip", "netns", "exec", NAMESPACE, *pinned), THERE) if made else (pinned, "127.0.0.1")
    finally:
        if cores:
            subprocess.run(["ip", "netns", "del", NAMESPACE], check=False, stderr=subprocess.DEVNULL)


def main() -> None:
    """Print a line a step."""
    options = argparse.ArgumentParser()
    options.add_argument("callers", nargs="*", default=["1", "10", "50", "100"])
    options.add_argument("--callers-on", default="")
    options.add_argument("--agents-on", default="")
    given = options.parse_args()
    callers = None if given.callers == ["auto"] else [int(a) for a in given.callers]
    rows: list[UnrecordedCall] = []
    with agents_apart(given.agents_on) as apart:
        if given.callers_on:
            os.sched_setaffinity(0, _cores(given.callers_on))
        result, truths = asyncio.run(measure(callers, apart, rows))
    print(f"agents at {apart[1]} by {' '.join(apart[0]) or 'no command'}; caller priority: {result.part.priority}")
    print(f"ceiling: {result.ceiling}")
    if result.limit is not None:
        print(f"at {result.limit[0]:g}: {result.limit[1].in_words()}")
    print("callers  pacing p99 ms   max ms   ratio     lag p99   ttfa p50   p95   no reply  failed", end="  ")
    print("processes  core/caller  MiB/caller  machine   answers late by p50   p95   TTFA wrong by p50   p95   max")
    for step in result.steps:
        s, ttfa_ms = step.record, step.figures.ttfa_ms
        late, wrong = errors_ms([row for row in rows if row.key.step == s.name], truths)
        size = np.abs(wrong) if wrong else np.array([np.nan])
        late = late or [np.nan]
        used = s.used
        print(
            f"{s.callers:7} {s.pacing_p99_error_ms or -1:14.2f} {s.pacing_max_error_ms or -1:8.2f} "
            f"{s.realtime_ratio or -1:8.5f} "
            f"{s.loop_lag_p99_ms or -1:9.2f} {ttfa_ms.p50 or -1:9.0f} {ttfa_ms.p95 or -1:6.0f} {s.no_reply:8} {s.failed:7}"
            + (
                f" {used.processes:10} {used.cores_a_caller:12.4f} {used.mib_a_caller:11.2f} {used.machine:8.0%}"
                if used is not None
                else ""
            )
            + f" {np.percentile(late, 50):18.1f} {np.percentile(late, 95):7.1f}"
            + f" {np.percentile(size, 50):17.2f} {np.percentile(size, 95):7.2f} {size.max():7.2f}"
        )


def _cores(text: str) -> set[int]:
    """`0-3,6` as numbers."""
    parts = (part.split("-") for part in text.split(","))
    return {core for part in parts for core in range(int(part[0]), int(part[-1]) + 1)}


if __name__ == "__main__":
    main()
