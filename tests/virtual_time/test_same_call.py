"""A call in virtual time is the same call as in real time, only sooner."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from harness.agents.connections import ConnectionSpec
from harness.caller import CallerProcess, CallerTurn, Greeting, Limits, SessionPlan
from harness.recording.files import load
from harness.recording.record import Recording
from tests.harness.conftest import PEERS, VIRTUAL_TIME

RATE_HZ: Final = 16_000
TONE: Final = (8_000 * np.sin(2 * np.pi * 200 * np.arange(RATE_HZ // 2) / RATE_HZ)).astype(np.int16)
QUICK: Final = Limits(quiet_s=0.4, no_reply_s=1.2, total_s=4.0)
TURN: Final = (CallerTurn(TONE),)
REPLIES: Final = [
    {"delay_ms": 340, "sound": [{"kind": "silence", "ms": 40}, {"kind": "voice", "ms": 900}], "text": "I hear you."}
]
GREETS: Final = [{"after": "start", "delay_ms": 300, "sound": [{"kind": "voice", "ms": 700}]}, *REPLIES]
SOCKET_MS: Final = 5
"""What two processes and a socket between them take in real time, and one loop does not."""
ROUNDS, AT_ONCE = 6, 4
"""A busy machine makes a real call late and never early: the least late of several says what was asked for."""


@asynccontextmanager
async def peer_at(wire: str, behaviour: str) -> AsyncIterator[str]:
    line = [sys.executable, str(PEERS / "agent.py"), "--wire", wire, "--behaviour", behaviour]
    process = await asyncio.create_subprocess_exec(*line, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield json.loads(await process.stdout.readline())["url"]
    finally:
        process.terminate()
        await process.wait()


async def played(plans: Sequence[SessionPlan], place: Path) -> list[tuple[str, Recording]]:
    """Each plan's end and recording, all played at once."""
    caller = CallerProcess(log_path=place.with_suffix(".log"))
    folders = [place / str(k) for k in range(len(plans))]
    for folder in folders:
        folder.mkdir(parents=True)
    try:
        outcomes = await asyncio.gather(*(caller.play(plan, folder) for plan, folder in zip(plans, folders, strict=True)))
    finally:
        await caller.stop()
    lost = [o.detail for o in outcomes if o.failure_kind in ("caller_died", "caller_error")]
    assert lost == [], place.with_suffix(".log").read_text()[-4_000:]
    return [(outcome.failure_kind or outcome.ended, load(folder)) for outcome, folder in zip(outcomes, folders, strict=True)]


def first_ms(recording: Recording) -> float | None:
    """From the caller's spoken end to the first arrival after it."""
    end_ns = recording.caller.t0_ns + recording.caller.speech_end_sample * 1e9 / RATE_HZ
    return min(((a.arrival_ns - end_ns) / 1e6 for a in recording.arrivals if a.arrival_ns > end_ns), default=None)


def apart_ms(one: Recording, other: Recording) -> float:
    """How far the first sounds of two calls lie apart; nothing where both are silent."""
    first, second = first_ms(one), first_ms(other)
    if first is None or second is None:
        return 0.0 if first is second else float("inf")
    return abs(first - second)


@pytest.mark.parametrize(
    "kind",
    ["scripted", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("greeting", "pipecat")), "raw-pcm", "never-answers"],
)
async def test_it_sounds_the_same_and_ends_the_same(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire, behaviour = (kind, "echo") if kind in ("raw-pcm", "pipecat") else ("raw-pcm", "never-answers")
    within_ms = SOCKET_MS if wire == kind else 1
    async with peer_at(wire, behaviour) as url:
        match kind:
            case "scripted" | "greeting":
                spec = ConnectionSpec("scripted", options={"replies": GREETS if kind == "greeting" else REPLIES})
            case _:
                spec = ConnectionSpec(wire, url)
        greeting = Greeting(wait_s=2.0) if kind == "greeting" else None
        plan = SessionPlan(spec, TURN, RATE_HZ, limits=QUICK, greeting=greeting, reply_ends_after_ms=300)
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", VIRTUAL_TIME["PYTHONPATH"])
            first, *others = await played([plan] * 3, tmp_path / "virtual")
        real: list[tuple[str, Recording]] = []
        for k in range(ROUNDS):
            real += await played([plan] * AT_ONCE, tmp_path / f"real{k}")
            if min(apart_ms(first[1], recording) for _, recording in real) < within_ms:
                break

    assert {ended for ended, _ in real} == {first[0]}
    assert min(apart_ms(first[1], recording) for _, recording in real) < within_ms
    assert any(np.array_equal(first[1].agent_pcm, recording.agent_pcm) for _, recording in real)
    assert [t.text for t in first[1].transcripts] == [t.text for t in real[0][1].transcripts]
    assert [m.name for m in first[1].marks] == [m.name for m in real[0][1].marks]
    for ended, recording in others:
        assert ended == first[0]
        assert apart_ms(first[1], recording) < 0.1
        assert np.array_equal(recording.caller.played, first[1].caller.played)
        assert np.array_equal(recording.agent_pcm, first[1].agent_pcm)


async def test_the_time_that_a_call_says_it_took_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", VIRTUAL_TIME["PYTHONPATH"])
    silent = SessionPlan(
        ConnectionSpec("scripted", options={"replies": []}), TURN, RATE_HZ, limits=Limits(no_reply_s=3_600, total_s=7_200)
    )
    begun = time.monotonic()
    ((ended, recording),) = await played([silent], tmp_path / "call")
    assert ended == "no_reply"
    assert recording.caller.departures_ns[-1] - recording.caller.t0_ns > 3_600e9
    assert time.monotonic() - begun < 600


async def test_a_call_to_somebody_else_takes_real_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that the loop does not host is met on the machine's own clock, by a caller in virtual time as by any other."""
    monkeypatch.setenv("PYTHONPATH", VIRTUAL_TIME["PYTHONPATH"])
    async with peer_at("raw-pcm", "hangs") as url:
        begun = time.monotonic()
        ((ended, recording),) = await played(
            [SessionPlan(ConnectionSpec("raw-pcm", url), TURN, RATE_HZ, limits=QUICK)], tmp_path / "call"
        )
        took_s = time.monotonic() - begun
    assert ended == "no_reply"
    assert took_s > (recording.caller.departures_ns[-1] - recording.caller.t0_ns) / 1e9
