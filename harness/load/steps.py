"""Steps of rising load, each measured like any call, to find how many callers an agent or this machine can serve.

A step of a *closed* loop is a wave: all its callers speak at once. In an *open* loop callers come at a rate, at instants that
were drawn before. Nothing is analysed until the last call of a step has ended. If a caller process filled its core, the step is
played again by twice as many.
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
from harness.figures.steps import step_figures
from harness.load.arrivals import Arrivals, arrive
from harness.load.limits import filled_its_core
from harness.load.measuring import Call, Offered, Samples, measured_step, no_samples
from harness.load.pressure import Pressure
from harness.load.reference import Reference
from harness.load.result import LoadResult, Step
from harness.run.plan import REPLY_S
from harness.statistics.interval import TURNS_FOR_P95
from harness.store.load_part import LoadPart, StepRecord
from harness.store.session import SessionKey, UnrecordedCall

FIRST: Final = 4
"""Callers of the first step: with fewer a p95 takes more than fifteen rounds. If it fails, fewer are tried."""
MOST: Final = 1_000
"""Most callers of a search: no step has paced as many."""
CLOSE: Final = 0.1
"""Precision, as a share of the ceiling: nobody plans for a finer figure, and it varies more than that from hour to hour."""
STAGGER_S: Final = 0.02
"""Interval between the starts of a wave's calls: opening a hundred at one instant measures opening, not speaking."""


def _nothing(*_: object) -> None:
    """Stores nothing, or shows nothing."""


def numbered(number: int) -> SessionKey:
    """The key of the n-th call of a test whose calls are not stored."""
    return SessionKey(str(number), "", "agent", "", "seeded", "clean", 0)


@dataclass(frozen=True, slots=True)
class Load:
    """What every step of a load test shares. `call`: the plan of the n-th call; `key`: its session's, without the step."""

    call: Callable[[int], SessionPlan]
    key: Callable[[int], SessionKey] = numbered
    vocal: VocalDetector | None = None
    reference: Reference | None = None
    """Measures the caller's own error; None: it stays unknown."""
    budget_ms: float | None = None
    """Limit for the p95 of TTFA."""
    progress: Callable[[str, int, int], None] = _nothing
    """Called with the step in words, the calls ended (or measured), and all calls."""
    finished: Callable[[Sequence[UnrecordedCall], LoadResult], object] = _nothing
    """Stores the calls of a finished step, and the result so far, whose last record is that step."""
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
    """
    given = iter(callers) if callers is not None else None
    result = LoadResult(LoadPart(budget_ms=each.budget_ms))
    async with _player(each) as player:
        while True:
            within = {step.record.callers: step.over(each.budget_ms) is None for step in result.steps}
            wanted = next(given, None) if given is not None else next_callers(within, most)
            if wanted is None:
                return result
            again = rounds or (1 if callers is not None else rounds_for(wanted))
            result = await player.step(Offered(callers=wanted), result, again)


async def load_rates(each: Load, steps: Sequence[Arrivals]) -> LoadResult:
    """Play one step of an open loop after another.

    Raises:
        AgentError: a caller process does not start.
        StorageError, OSError: a recording could not be written.
    """
    result = LoadResult(LoadPart(law=steps[-1].law, for_s=steps[-1].lasts_s, budget_ms=each.budget_ms))
    async with _player(each) as player:
        for arrivals in steps:
            result = await player.step(Offered(arrivals=arrivals), result)
    return result


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

    async def step(self, offered: Offered, so_far: LoadResult, rounds: int = 1) -> LoadResult:
        """Play a step and store it; the result with it."""
        record, calls = await self.played(offered, rounds)
        update = {"records": (*so_far.part.records, record), "priority": self.callers.priority}
        result = LoadResult(so_far.part.model_copy(update=update), (*so_far.steps, Step(record, step_figures(calls))))
        self._each.finished(calls, result)
        return result

    async def played(self, offered: Offered, rounds: int) -> tuple[StepRecord, tuple[UnrecordedCall, ...]]:
        """Play a step; again by twice as many processes for as long as a process was its limit."""
        while True:
            record, calls = await self._played(offered, rounds)
            if not filled_its_core(record) or not self.callers.spread():
                return record, calls

    async def _played(self, offered: Offered, rounds: int) -> tuple[StepRecord, tuple[UnrecordedCall, ...]]:
        each, words, arrivals = self._each, offered.words, offered.arrivals
        await self.callers.enough_for(offered.callers or self._expected(arrivals.rate if arrivals is not None else 1.0))
        each.watched(self.callers.named)
        with tempfile.TemporaryDirectory(prefix="load-", dir=each.within, ignore_cleanup_errors=True) as folder:
            parent = Path(folder)
            nobody: AbstractAsyncContextManager[list[Path]] = contextlib.nullcontext([])
            reference = nobody if each.reference is None else each.reference.calling(self.callers, parent)
            async with Pressure(self.callers.pids) as pressure, reference as known:
                if arrivals is not None:
                    calls = await self._open(arrivals, parent, words)
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
                [(self._each.key(n), self._each.call(n)) for n in numbers], self.callers, parent, len(calls),
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
            return Call(number, self._each.key(first + number), outcome, folder, due_ns)

        return await arrive(offsets_ns, play)


async def wave(
    plans: Sequence[tuple[SessionKey, SessionPlan]],
    callers: Callers,
    parent: Path,
    before: int,
    progress: Callable[[int], None] = _nothing,
) -> list[Call]:
    """Play these plans, each with its key, at once, each in its own folder below `parent`, numbered from `before`.

    `progress`: the calls ended, those before included.
    """
    done = 0

    async def play(k: int, key: SessionKey, plan: SessionPlan) -> Call:
        nonlocal done
        folder = parent / str(before + k)
        folder.mkdir()
        await asyncio.sleep(k * STAGGER_S)
        outcome = await callers.play(plan, folder, packed=False)
        done += 1
        progress(before + done)
        return Call(before + k, key, outcome, folder)

    return list(await asyncio.gather(*(play(k, key, plan) for k, (key, plan) in enumerate(plans))))


def next_callers(within: Mapping[int, bool], most: int = MOST) -> int | None:
    """The next number of callers, from the steps so far (callers → within bounds); None if the ceiling is known.

    They double until a step fails, and then halve the distance: a step costs minutes. A failed step is not tried again: the
    ceiling is what this machine could do at this hour, not the best of several tries.
    """
    best = max((callers for callers, met in within.items() if met), default=0)
    worst = min((callers for callers, met in within.items() if not met), default=None)
    if worst is None:
        following = min(best * 2 or FIRST, most)
        return following if following > best else None
    best = max((callers for callers, met in within.items() if met and callers < worst), default=0)
    if worst - best <= max(1, round(CLOSE * best)):
        return None
    return (best + worst) // 2


def rounds_for(callers: int) -> int:
    """The number of times to play a step so that it has a p95."""
    return -(-TURNS_FOR_P95 // callers)
