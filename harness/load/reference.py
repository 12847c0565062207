"""The caller's own error during a step: TTFA of an agent whose answers are known to the microsecond.

Where every core is busy, a late TTFA may be the agent's or the caller's, and pacing shows only when frames left. So one more
caller speaks to the metrology agent (`harness.calibrate`) during the step; the error under exactly this load is in its row.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Final

from harness.agents.connections import ConnectionSpec
from harness.audio.vocal import VocalDetector
from harness.calibrate.agent_process import RunningAgent
from harness.calibrate.run import LEAD_IN_MS, LIMITS, RATE_HZ, caller_turn, true_ttfa_ms
from harness.caller import Callers, SessionPlan
from harness.caller.exchange import take_raw
from harness.load.caller_error import caller_error
from harness.store.load_part import CallerError
from harness.timing import measure

DELAY_MS: Final = 300
"""Delay of each answer: about what the quickest agents take."""


class Reference:
    """The reference agent and the calls to it during one load test."""

    def __init__(self, agent: RunningAgent) -> None:
        self._agent = agent
        self._turn = caller_turn(seed=1)
        self._numbers = count()

    @asynccontextmanager
    async def calling(self, callers: Callers, parent: Path) -> AsyncIterator[list[Path]]:
        """Call during the block; the folders of the calls, complete after it."""
        played: list[Path] = []
        ending = asyncio.Event()
        lane = asyncio.create_task(self._lane(callers, parent, played, ending))
        try:
            yield played
        except BaseException:
            lane.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await lane
            raise
        ending.set()
        await lane

    async def error(self, folders: Sequence[Path], vocal: VocalDetector | None) -> CallerError | None:
        """The error of these calls; None if none of them was answered."""
        truths = await self._agent.truth()
        found = []
        for folder in folders:
            recording = await asyncio.to_thread(take_raw, folder)
            timing = await asyncio.to_thread(measure, recording, vocal)
            if timing.ttfa_ms is not None:
                found.append(timing.ttfa_ms - true_ttfa_ms(recording, truths[f"/{folder.name}"]))
        return caller_error(found)

    async def _lane(self, callers: Callers, parent: Path, played: list[Path], ending: asyncio.Event) -> None:
        while not ending.is_set():
            number = next(self._numbers)
            folder = parent / f"reference-{number}"
            folder.mkdir()
            spec = ConnectionSpec("raw-pcm", f"{self._agent.url}/{folder.name}")
            plan = SessionPlan(spec, (self._turn,), RATE_HZ, lead_in_ms=LEAD_IN_MS, limits=LIMITS)
            outcome = await callers.play(plan, folder, packed=False, of=number)
            if outcome.failure_kind is None:
                played.append(folder)
            else:
                # An agent that is gone must not be dialled in a tight loop.
                await asyncio.sleep(1.0)
