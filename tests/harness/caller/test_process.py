"""The caller as a process of its own."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from harness.caller import CallerProcess, CallerTurn, Limits, SessionPlan
from harness.recording.files import load
from harness.timing.pacing import errors_ms, pacing
from tests.present import present

QUICK = Limits(quiet_s=0.4, no_reply_s=6.0, total_s=12.0)
"""Quick where all is well; a busy machine may hold up the caller's process for a second."""


def _folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


@pytest.fixture(params=["virtual", pytest.param("real", marks=[pytest.mark.long, pytest.mark.alone])])
def time_that_passes(request: pytest.FixtureRequest) -> None:
    """Both times; in real time it is the machine's own punctuality that is seen."""
    if request.param == "virtual":
        request.getfixturevalue("virtual_time")


@pytest.mark.usefixtures("time_that_passes")
async def test_sessions_are_played_side_by_side_on_time(tmp_path: Path, tone: NDArray[np.int16], scripted: Any) -> None:
    caller = CallerProcess(log_path=tmp_path / "caller.log")
    await caller.start()
    try:
        plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK, reply_ends_after_ms=300)
        folders = [_folder(tmp_path, str(k)) for k in range(4)]
        outcomes = await asyncio.gather(*(caller.play(plan, folder) for folder in folders))
        recordings = [load(folder) for folder in folders]
    finally:
        await caller.stop()
    assert [o.ended for o in outcomes] == ["quiet"] * 4
    assert caller.priority
    for recording in recordings:
        paced = pacing(recording.caller)
        assert paced is not None
        assert abs(present(paced.realtime_ratio) - 1) < 0.01
        assert (errors_ms(recording.caller) >= 0).all()
    phases = {recording.caller.t0_ns % 20_000_000 for recording in recordings}
    assert len(phases) == 4


async def test_audio_is_brought_to_the_rate_of_the_line(tmp_path: Path, tone: NDArray[np.int16], scripted: Any) -> None:
    caller = CallerProcess()
    try:
        plan = SessionPlan(scripted(input_rate_hz=8_000), (CallerTurn(tone),), 16_000, limits=QUICK, reply_ends_after_ms=300)
        await caller.play(plan, tmp_path)
    finally:
        await caller.stop()
    recording = load(tmp_path)
    assert recording.caller.rate_hz == 8_000
    assert recording.caller.speech_end_sample - recording.caller.speech_start_sample == len(tone) // 2


async def test_a_killed_caller_fails_its_session_by_name_and_is_started_again(
    tmp_path: Path, tone: NDArray[np.int16], scripted: Any
) -> None:
    caller = CallerProcess()
    await caller.start()
    try:
        plan = SessionPlan(scripted(), (CallerTurn(tone),), 16_000, limits=QUICK, reply_ends_after_ms=300)
        playing = asyncio.create_task(caller.play(plan, _folder(tmp_path, "killed")))
        await asyncio.sleep(0.5)
        assert caller.pid is not None
        os.kill(caller.pid, signal.SIGKILL)
        outcome = await playing
        again = await caller.play(plan, _folder(tmp_path, "again"))
    finally:
        await caller.stop()
    assert outcome.failure_kind == "caller_died"
    assert list((tmp_path / "killed").iterdir()) == []
    assert again.ended == "quiet"


async def test_the_caller_ends_with_the_run_that_owns_it(tmp_path: Path) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c",
        "import asyncio\n"
        "from harness.caller import CallerProcess\n"
        "async def main():\n"
        "    caller = CallerProcess()\n"
        "    await caller.start()\n"
        "    print(caller.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n",
        stdout=asyncio.subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    assert owner.stdout is not None
    pid = int(await owner.stdout.readline())
    assert psutil.pid_exists(pid)
    owner.kill()
    await owner.wait()
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError("the caller outlived its run")
