"""A stall of the agent's process in the middle of a reply, heard by a caller in a process of its own."""

import asyncio
import time
from pathlib import Path

import numpy as np
import pytest

from harness.agents.connections import ConnectionSpec
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerProcess, CallerTurn, Limits, SessionPlan
from harness.recording.files import load
from harness.timing import measure
from tests.agents.cascade import scripted_parts as scripted

CALLS = 3
STALL_S = 0.09
LIMITS = Limits(quiet_s=0.4, no_reply_s=10.0, total_s=20.0)


async def _stall_while_it_speaks(truth: scripted.Truth) -> None:
    while "first_audio" not in truth.at_ns:  # noqa: ASYNC110 stamped by another thread
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.4)
    time.sleep(STALL_S)  # noqa: ASYNC251 the agent is served by this very loop


@pytest.mark.parametrize(("send_ahead_ms", "heard"), [(0, True), (150, False)], ids=["pipecat's clock", "ahead"])
@pytest.mark.long
async def test_a_stall_is_heard_only_where_nothing_was_sent_ahead(tmp_path: Path, send_ahead_ms: float, heard: bool) -> None:
    voice = synthetic_voice(1.2, 16_000, np.random.default_rng(3)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    settings = {
        "stt": {"service": "streaming-whisper"},
        "endpoint": {"policy": "fixed", "silence_ms": 400},
        "tts": {"native_rate": True, "send_ahead_ms": send_ahead_ms},
    }
    truth = scripted.Truth()
    underruns = []
    caller = CallerProcess()
    await caller.start()
    try:
        async with scripted.cascade(truth, settings) as url:
            for k in range(CALLS):
                truth.at_ns.clear()
                folder = tmp_path / str(k)
                folder.mkdir()
                stall = asyncio.create_task(_stall_while_it_speaks(truth))
                await caller.play(SessionPlan(ConnectionSpec("pipecat", url), (turn,), 16_000, limits=LIMITS), folder)
                await stall
                timing = measure(load(folder))
                assert timing.ttfa_ms is not None
                underruns.append(timing.underruns)
    finally:
        await caller.stop()
    # A stall that the machine itself adds is heard in some calls; one that nothing covers, in every call.
    assert (min(underruns) > 0) == heard, underruns
