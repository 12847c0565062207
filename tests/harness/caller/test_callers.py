"""Callers are dealt to as many processes as they need."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from harness.caller import Callers, CallerTurn, Limits, SessionPlan
from harness.caller.callers import CALLERS_PER_PROCESS, FEWEST_PER_PROCESS
from harness.caller.exchange import take_raw
from harness.recording.record import FRAME_MS
from harness.timeline import NS_PER_MS

QUICK = Limits(quiet_s=0.4, no_reply_s=1.0, total_s=3.0)

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_more_callers_than_a_process_paces_are_dealt_evenly(
    tmp_path: Path, tone: NDArray[np.int16], scripted: Any
) -> None:
    callers = Callers(log_path=tmp_path / "caller.log")
    plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK, reply_ends_after_ms=300)
    folders = [tmp_path / str(k) for k in range(6)]
    for folder in folders:
        folder.mkdir()
    try:
        await callers.enough_for(CALLERS_PER_PROCESS + 1)
        assert len(set(callers.pids)) == 2
        assert callers.priority
        outcomes = await asyncio.gather(*(callers.play(plan, folder, packed=False) for folder in folders))
        pids = callers.pids
    finally:
        await callers.stop()
    assert [outcome.ended for outcome in outcomes] == ["quiet"] * 6
    assert all(outcome.begun_ns is not None for outcome in outcomes)
    # Each process gives its callers phases within the frame from the same series: dealt evenly, each phase comes twice.
    frame_ns = FRAME_MS * NS_PER_MS
    phases = Counter(take_raw(folder).caller.t0_ns % frame_ns for folder in folders)
    assert sorted(phases.values()) == [2, 2, 2]
    assert not any(psutil.pid_exists(pid) for pid in pids)


async def test_a_call_goes_to_the_process_that_has_the_fewest(tmp_path: Path, tone: NDArray[np.int16], scripted: Any) -> None:
    callers = Callers()
    plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK, reply_ends_after_ms=300)
    folders = [tmp_path / str(k) for k in range(4)]
    for folder in folders:
        folder.mkdir()
    try:
        await callers.enough_for(2 * CALLERS_PER_PROCESS)
        alone = [callers.play(plan, folder, packed=False, of=1) for folder in folders[:3]]
        busy = [asyncio.ensure_future(each) for each in alone]
        await asyncio.sleep(0)
        await asyncio.gather(callers.play(plan, folders[3], packed=False), *busy)
    finally:
        await callers.stop()
    first = [take_raw(folder).caller.t0_ns % (FRAME_MS * NS_PER_MS) for folder in folders]
    assert first[3] == 0, "the first call of its process has the first phase"
    assert len(set(first[:3])) == 3


async def test_callers_are_spread_until_their_processes_are_too_small_to_be_the_cause() -> None:
    callers = Callers()
    assert not callers.spread()
    try:
        await callers.enough_for(FEWEST_PER_PROCESS)
        before = callers.pids
        assert not callers.spread(), "no further process would take a caller of so few"
        sizes = [len(await callers.enough_for(30))]
        while callers.spread():
            sizes.append(len(await callers.enough_for(30)))
        assert sizes == [1, 2, 3], "each time there are more processes, of at least twelve callers"
        assert callers.pids[0] == before[0], "a process that runs is used again"
    finally:
        await callers.stop()
        await callers.stop()
