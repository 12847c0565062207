"""How many callers at once an agent, or this machine, stands: steps of rising concurrency, each measured like any call.

One scheduler paces all callers of a process; where one process is not enough there are more, on the same clock. A step is
a wave: all its callers speak at once, each in a phase of its own within the 20 ms frame, and nothing is analysed until
the last has ended. A step is *within bounds* when frames left on time and at the speed of speech; the figures of a step
that is not are the machine's limit and say nothing of the agent. A p95 needs 60 turns, so small steps have none unless
they are repeated.
"""

import asyncio
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from agents.connections import ConnectionSpec
from agents.message import Message
from audio.vocal import VocalDetector
from harness.caller import CallerProcess, CallerTurn, Greeting, Limits, SessionOutcome, SessionPlan
from harness.load.result import LoadResult, LoadStep
from harness.ranking.percentiles import Quantiles, quantiles_of
from harness.recording.files import load as load_recording
from harness.recording.record import Recording
from harness.timing import measure
from harness.timing.pacing import errors_ms, out_of_bounds, pacing

CALLERS_PER_PROCESS: Final = 100
"""One process paced 100 callers within bounds on one of two cores (docs/performance.md)."""
STAGGER_S: Final = 0.02
"""Calls of a wave begin this far apart: opening a hundred lines in one instant measures opening, not speaking."""

Progress = Callable[[int, int, int], None]
"""Callers of the step, sessions ended, sessions in all."""


async def load(
    connection: Callable[[int], ConnectionSpec],
    turn: CallerTurn,
    rate_hz: int,
    callers: Sequence[int] = (1, 2, 5, 10),
    *,
    history: Sequence[Message] = (),
    greeting: Greeting | None = None,
    rounds: int = 1,
    limits: Limits | None = None,
    vocal: VocalDetector | None = None,
    progress: Progress | None = None,
) -> LoadResult:
    """Play `turn` by so many callers at once, step after step. `connection` gives the line of the n-th session.

    Raises:
        AgentError: a caller process does not start.
        UserError: the speech detector is not installed.
    """
    plan_limits = limits or Limits()
    processes = [CallerProcess() for _ in range(max(1, math.ceil(max(callers) / CALLERS_PER_PROCESS)))]
    steps: list[LoadStep] = []
    begun = 0
    try:
        await asyncio.gather(*(process.start() for process in processes))
        for wanted in callers:
            with tempfile.TemporaryDirectory(prefix="load-") as parent:
                ended: list[tuple[SessionOutcome, Path]] = []
                for _ in range(rounds):
                    plans = [
                        SessionPlan(line, (turn,), rate_hz, tuple(history), limits=plan_limits, greeting=greeting)
                        for line in (connection(begun + k) for k in range(wanted))
                    ]
                    begun += wanted
                    ended += await _wave(plans, processes, Path(parent), len(ended), wanted * rounds, progress)
                steps.append(await asyncio.to_thread(_step, wanted, ended, vocal))
    finally:
        await asyncio.gather(*(process.stop() for process in processes))
    return LoadResult(tuple(steps), processes[0].priority)


async def _wave(
    plans: Sequence[SessionPlan],
    processes: Sequence[CallerProcess],
    parent: Path,
    before: int,
    of: int,
    progress: Progress | None,
) -> list[tuple[SessionOutcome, Path]]:
    done = 0

    async def play(k: int, plan: SessionPlan) -> tuple[SessionOutcome, Path]:
        nonlocal done
        folder = parent / str(before + k)
        folder.mkdir()
        await asyncio.sleep(k * STAGGER_S)
        outcome = await processes[k % len(processes)].play(plan, folder)
        done += 1
        if progress is not None:
            progress(len(plans), before + done, of)
        return outcome, folder

    return list(await asyncio.gather(*(play(k, plan) for k, plan in enumerate(plans))))


def _step(callers: int, ended: Sequence[tuple[SessionOutcome, Path]], vocal: VocalDetector | None) -> LoadStep:
    recordings = [load_recording(folder) for outcome, folder in ended if outcome.failure_kind is None]
    if not recordings:
        nothing = tuple(sorted({f"{o.failure_kind}: {o.detail}" for o, _ in ended}))
        return LoadStep(callers, len(ended), len(ended), 0, math.nan, math.nan, math.nan, math.nan, Quantiles(), nothing)
    timings = [measure(recording, vocal) for recording in recordings]
    ttfa = {
        str(k): [math.inf if t.no_reply or t.signed_ms is not None else t.ttfa_ms]
        for k, t in enumerate(timings)
        if t.discarded is None
    }
    errors = np.abs(np.concatenate([errors_ms(r.caller) for r in recordings]))
    p99, ratio = float(np.percentile(errors, 99)), _worst_ratio(recordings)
    lag = max((max(r.loop_lag_ms, default=0.0) for r in recordings), default=0.0)
    return LoadStep(
        callers=callers,
        sessions=len(ended),
        failed=len(ended) - len(recordings),
        no_reply=sum(t.no_reply for t in timings),
        pacing_p99_error_ms=p99,
        pacing_max_error_ms=float(errors.max()),
        realtime_ratio=ratio,
        loop_lag_max_ms=lag,
        ttfa_ms=quantiles_of({k: [v for v in values if v is not None] for k, values in ttfa.items()}, seed=1),
        out_of_bounds=out_of_bounds(p99, ratio, lag),
    )


def _worst_ratio(recordings: Sequence[Recording]) -> float:
    found = (pacing(r.caller) for r in recordings)
    ratios = [p.realtime_ratio for p in found if p is not None and p.realtime_ratio is not None]
    return max(ratios, key=lambda ratio: abs(ratio - 1), default=1.0)
