"""Steps of rising concurrency, each measured like any call, to find how many callers an agent or this machine can serve.

One scheduler paces all callers of a process; if one process is not enough there are more, on the same clock, and a step in
which one filled its core is played again by twice as many. A step is a wave: all its callers speak at once, each in a phase of
its own within the 20 ms frame, and nothing is analysed until the last has ended. A step is *within bounds* when frames left on
time and at the speed of speech; other steps show the machine's limit and say nothing about the agent. A p95
needs 60 turns, so small steps have none unless they are repeated.
"""

import asyncio
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from harness.audio.vocal import VocalDetector
from harness.caller import CallerProcess, SessionOutcome, SessionPlan
from harness.load.ceiling import MOST, LoadResult, next_callers, rounds_for
from harness.load.limits import limit_of
from harness.load.pressure import Pressure
from harness.load.result import LoadStep, Used
from harness.ranking.percentiles import Quantiles, quantiles_of
from harness.recording.files import load as load_recording
from harness.recording.record import Recording
from harness.timing import measure
from harness.timing.pacing import errors_ms, out_of_bounds, pacing

CALLERS_PER_PROCESS: Final = 100
"""One process paced 100 callers within bounds on one of two cores (docs/performance.md)."""
FEWEST_PER_PROCESS: Final = 12
"""Fewest callers of a process: one that fills a core with fewer has a problem that more processes do not solve."""
STAGGER_S: Final = 0.02
"""Interval between the starts of a wave's calls: opening a hundred at one instant measures opening, not speaking."""

Progress = Callable[[int, int, int], None]
"""Called with the callers of the step, the sessions ended, and all sessions."""


async def load(
    call: Callable[[int], SessionPlan],
    callers: Sequence[int] | None = (1, 2, 5, 10),
    *,
    rounds: int | None = None,
    vocal: VocalDetector | None = None,
    progress: Progress | None = None,
    budget_ms: float | None = None,
    most: int = MOST,
) -> LoadResult:
    """Play calls by this many simultaneous callers, step after step. `call`: the plan of the n-th.

    Args:
        callers: None: more and more, until a step fails, and then between, until the ceiling is known to a tenth.
        rounds: times to play each step; None: once, or in a search as often as a p95 needs.
        budget_ms: limit for the p95 of TTFA.
        most: largest number of callers in a search.

    Raises:
        AgentError: a caller process does not start.
        UserError: the speech detector is not installed.
    """
    fleet = Callers()
    steps: dict[int, LoadStep] = {}
    begun = 0

    async def play(wanted: int) -> LoadStep:
        nonlocal begun
        again = rounds or (1 if callers is not None else rounds_for(wanted))
        processes = await fleet.enough_for(wanted)
        with tempfile.TemporaryDirectory(prefix="load-") as parent:
            ended: list[tuple[SessionOutcome, Path]] = []
            async with Pressure([p.pid for p in processes if p.pid is not None], wanted) as pressure:
                for _ in range(again):
                    plans = [call(begun + k) for k in range(wanted)]
                    begun += wanted
                    ended += await wave(plans, processes, Path(parent), len(ended), wanted * again, progress)
            return await asyncio.to_thread(measured_step, wanted, ended, vocal, pressure.used)

    try:
        given = iter(callers) if callers is not None else None
        while True:
            held = {n: limit_of(step, budget_ms) is None for n, step in steps.items()}
            wanted = next(given, None) if given is not None else next_callers(held, most)
            if wanted is None:
                break
            steps[wanted] = await play(wanted)
            while (limit := limit_of(steps[wanted], budget_ms)) is not None and limit.of == "caller" and fleet.spread():
                steps[wanted] = await play(wanted)
    finally:
        await fleet.stop()
    return LoadResult(tuple(steps.values()), fleet.priority, budget_ms)


class Callers:
    """The caller processes of a load test, started when needed."""

    def __init__(self) -> None:
        self.priority = ""
        self._each = CALLERS_PER_PROCESS
        self._processes: list[CallerProcess] = []

    async def enough_for(self, callers: int) -> list[CallerProcess]:
        """The processes that play a step."""
        needed = max(1, math.ceil(callers / self._each))
        new = [CallerProcess() for _ in range(needed - len(self._processes))]
        self._processes += new
        await asyncio.gather(*(process.start() for process in new))
        self.priority = self._processes[0].priority
        return self._processes[:needed]

    def spread(self) -> bool:
        """Halve the callers of each process because one filled its core; False if they are too few to halve."""
        if self._each <= FEWEST_PER_PROCESS:
            return False
        self._each = max(FEWEST_PER_PROCESS, self._each // 2)
        return True

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop() for process in self._processes))


async def wave(
    plans: Sequence[SessionPlan],
    processes: Sequence[CallerProcess],
    parent: Path,
    before: int,
    of: int,
    progress: Progress | None,
) -> list[tuple[SessionOutcome, Path]]:
    """Play these plans at once, each in its own folder below `parent`, numbered from `before`."""
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


def measured_step(
    callers: int, ended: Sequence[tuple[SessionOutcome, Path]], vocal: VocalDetector | None, used: Used
) -> LoadStep:
    """The results of a step's calls."""
    recordings = [load_recording(folder) for outcome, folder in ended if outcome.failure_kind is None]
    if not recordings:
        nothing = tuple(sorted({f"{o.failure_kind}: {o.detail}" for o, _ in ended}))
        return LoadStep(callers, len(ended), len(ended), 0, math.nan, math.nan, math.nan, math.nan, Quantiles(), nothing, used)
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
        used=used,
    )


def _worst_ratio(recordings: Sequence[Recording]) -> float:
    found = (pacing(r.caller) for r in recordings)
    ratios = [p.realtime_ratio for p in found if p is not None and p.realtime_ratio is not None]
    return max(ratios, key=lambda ratio: abs(ratio - 1), default=1.0)
