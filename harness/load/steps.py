"""Steps of rising load, each measured like any call, to find how many callers an agent or this machine can serve.

A step of a *closed* loop is a wave: all its callers speak at once, each in a phase of its own within the 20 ms frame. In an
*open* loop callers come at a rate, at instants that were drawn before (`harness.load.arrivals`). Nothing is analysed until the
last call of a step has ended. A step is *within bounds* when callers came, frames left and answers were stamped on time; other
steps show the machine's limit or the caller's and say nothing about the agent. If a caller process filled its core, the step is
played again by twice as many. A p95 needs 60 turns, so small waves have none unless they are repeated.
"""

import asyncio
import contextlib
import math
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.audio.vocal import VocalDetector
from harness.caller import Callers, SessionPlan
from harness.load.arrivals import Arrivals
from harness.load.ceiling import MOST, LoadResult, next_callers, rounds_for
from harness.load.limits import filled_its_core, limit_of
from harness.load.measuring import Call, Offered, Samples, measured_step, no_samples
from harness.load.open_loop import arrive
from harness.load.pressure import Pressure
from harness.load.reference import Reference
from harness.load.result import LoadStep
from harness.run.plan import REPLY_S
from harness.store.load_files import LoadTurn

STAGGER_S: Final = 0.02
"""Interval between the starts of a wave's calls: opening a hundred at one instant measures opening, not speaking."""

Progress = Callable[[str, int, int], None]
"""Called with the step in words, the calls ended (or measured), and all calls."""


def _nothing(*_: object) -> None:
    """Stores nothing, or shows nothing."""


@dataclass(frozen=True, slots=True)
class Load:
    """What every step of a load test shares. `call`: the plan of the n-th call; `context`: the name of what it speaks."""

    call: Callable[[int], SessionPlan]
    context: Callable[[int], str] = str
    vocal: VocalDetector | None = None
    reference: Reference | None = None
    """Measures the caller's own error; None: it stays unknown."""
    budget_ms: float | None = None
    """Limit for the p95 of TTFA."""
    progress: Progress = _nothing
    rows: Callable[[Sequence[LoadTurn]], None] = _nothing
    """Stores the rows of a step that is finished."""
    finished: Callable[[LoadResult], object] = _nothing
    """Stores the result so far, after the rows of its last step."""
    samples: Samples = no_samples
    watched: Callable[[Mapping[str, int]], object] = _nothing
    """Called with the caller's processes by name before each step."""
    within: Path | None = None
    """Folder for recordings until they are measured; None: the system's."""


async def load(
    each: Load, callers: Sequence[int] | None = (1, 2, 5, 10), *, rounds: int | None = None, most: int = MOST
) -> LoadResult:
    """Play calls by this many simultaneous callers, step after step.

    Args:
        callers: None: more and more, until a step fails, and then between, until the ceiling is known to a tenth.
        rounds: times to play each step; None: once, or in a search as often as a p95 needs.
        most: largest number of callers in a search.

    Raises:
        AgentError: a caller process does not start.
        UserError: the speech detector is not installed.
    """
    steps: dict[int, LoadStep] = {}
    given = iter(callers) if callers is not None else None
    async with _player(each) as player:
        while True:
            held = {n: limit_of(step, each.budget_ms) is None for n, step in steps.items()}
            wanted = next(given, None) if given is not None else next_callers(held, most)
            if wanted is None:
                break
            again = rounds or (1 if callers is not None else rounds_for(wanted))
            steps[wanted] = await player.step(Offered(len(steps), callers=wanted), again)
            each.finished(LoadResult(tuple(steps.values()), player.callers.priority, each.budget_ms))
    return LoadResult(tuple(steps.values()), player.callers.priority, each.budget_ms)


async def load_rates(each: Load, steps: Sequence[Arrivals]) -> LoadResult:
    """Play one step of an open loop after another.

    Raises:
        AgentError: a caller process does not start.
        UserError: the speech detector is not installed.
        StorageError, OSError: a recording could not be written.
    """
    found: list[LoadStep] = []
    async with _player(each) as player:
        for number, arrivals in enumerate(steps):
            found.append(await player.step(Offered(number, arrivals=arrivals)))
            each.finished(LoadResult(tuple(found), player.callers.priority, each.budget_ms, arrivals=arrivals))
    return LoadResult(tuple(found), player.callers.priority, each.budget_ms, arrivals=steps[-1] if steps else None)


async def play_step(each: Load, offered: Offered, rounds: int = 1) -> LoadStep:
    """Play one step, from the first call on, by caller processes of its own.

    Raises:
        AgentError: a caller process does not start.
        UserError: the speech detector is not installed.
    """
    async with _player(each) as player:
        return await player.step(offered, rounds)


@asynccontextmanager
async def _player(each: Load) -> AsyncIterator["_Player"]:
    player = _Player(each)
    try:
        yield player
    finally:
        await player.callers.stop()


class _Player:
    """Plays the steps of one load test by one set of caller processes."""

    def __init__(self, each: Load) -> None:
        self.callers = Callers()
        self._each = each
        self._begun = 0

    async def step(self, offered: Offered, rounds: int = 1) -> LoadStep:
        """Play a step; again by twice as many processes for as long as a process was its limit. Its rows are stored."""
        while True:
            step, rows = await self._played(offered, rounds)
            if not filled_its_core(step) or not self.callers.spread():
                self._each.rows(rows)
                return step

    async def _played(self, offered: Offered, rounds: int) -> tuple[LoadStep, tuple[LoadTurn, ...]]:
        each = self._each
        words = f"{offered.rate:g} calls/s" if offered.rate is not None else f"{offered.callers} at once"
        await self.callers.enough_for(offered.callers or self._expected(offered.rate or 1.0))
        each.watched(self.callers.named)
        with tempfile.TemporaryDirectory(prefix="load-", dir=each.within, ignore_cleanup_errors=True) as folder:
            parent = Path(folder)
            nobody: AbstractAsyncContextManager[list[Path]] = contextlib.nullcontext([])
            reference = nobody if each.reference is None else each.reference.calling(self.callers, parent)
            async with Pressure(self.callers.pids) as pressure, reference as known:
                if offered.arrivals is not None:
                    calls = await self._open(offered.arrivals, parent, words)
                else:
                    calls = await self._waves(offered.callers or 1, rounds, parent, words)
            error = None if each.reference is None else await each.reference.error(known, each.vocal)
            return await measured_step(
                offered, calls, each.vocal, pressure.used, error,
                lambda done, total: each.progress(f"measuring {words}", done, total), each.samples,
            )  # fmt: skip

    def _expected(self, rate: float) -> int:
        """Callers at once at a rate, by Little's law from the length of their turns, with room for chance."""
        plans = [self._each.call(number) for number in range(8)]
        lasts_s = max(
            sum(len(turn.played) / plan.rate_hz + REPLY_S for turn in plan.turns) + plan.lead_in_ms / 1000 for plan in plans
        )
        mean = rate * lasts_s
        return math.ceil(mean + 3 * math.sqrt(mean))

    async def _waves(self, callers: int, rounds: int, parent: Path, words: str) -> list[Call]:
        calls: list[Call] = []
        for _ in range(rounds):
            numbers = range(self._begun, self._begun + callers)
            self._begun += callers
            calls += await wave(
                [(self._each.context(n), self._each.call(n)) for n in numbers], self.callers, parent, len(calls),
                lambda done: self._each.progress(words, done, callers * rounds),
            )  # fmt: skip
        return calls

    async def _open(self, arrivals: Arrivals, parent: Path, words: str) -> list[Call]:
        offsets_ns, first, done = arrivals.offsets_ns(), self._begun, 0
        self._begun += len(offsets_ns)

        async def play(number: int, due_ns: int) -> Call:
            nonlocal done
            folder = parent / str(number)
            folder.mkdir()
            outcome = await self.callers.play(self._each.call(first + number), folder, at_ns=due_ns, packed=False)
            done += 1
            self._each.progress(words, done, len(offsets_ns))
            return Call(number, self._each.context(first + number), outcome, folder, due_ns)

        return await arrive(offsets_ns, play)


async def wave(
    plans: Sequence[tuple[str, SessionPlan]],
    callers: Callers,
    parent: Path,
    before: int,
    progress: Callable[[int], None] = _nothing,
) -> list[Call]:
    """Play these plans, each with its context's name, at once, each in its own folder below `parent`, numbered from `before`.

    `progress`: the calls ended, those before included.
    """
    done = 0

    async def play(k: int, context: str, plan: SessionPlan) -> Call:
        nonlocal done
        folder = parent / str(before + k)
        folder.mkdir()
        await asyncio.sleep(k * STAGGER_S)
        outcome = await callers.play(plan, folder, packed=False)
        done += 1
        progress(before + done)
        return Call(before + k, context, outcome, folder)

    return list(await asyncio.gather(*(play(k, context, plan) for k, (context, plan) in enumerate(plans))))
