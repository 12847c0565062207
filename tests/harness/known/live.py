"""Calls to agents of known behaviour, placed by the harness and measured as any other, with the truth of each turn."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.agents.profile import parse_profile
from harness.audio.pcm import Int16, resample
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerProcess, CallerTurn, Limits, SessionPlan
from harness.caller.plan import Greeting
from harness.known.truth import TurnTruth, read_truth
from harness.recording.files import load
from harness.recording.record import Recording

CALLER_HZ = 16_000
STARTS_S = 300.0
"""To load it all, on a machine that many tests share."""
LIMITS = Limits(quiet_s=1.2, no_reply_s=5.0, total_s=20.0)


@asynccontextmanager
async def known_agent(wire: str, truth: Path, *more: str) -> AsyncIterator[str]:
    """The address of `harness known serve` in a process of its own; its truth is written as it ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness", "known", "serve", "--wire", wire, "--truth", str(truth), "--json", *more,
        stdout=asyncio.subprocess.PIPE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, limit=1 << 24,
    )  # fmt: skip
    assert process.stdout is not None
    lines = asyncio.create_task(process.stdout.readline())
    try:
        async with asyncio.timeout(STARTS_S):
            url = json.loads(await lines)["url"]
        reading = asyncio.create_task(process.stdout.read())
        yield url
        process.terminate()
        await reading
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def voice(seconds: float, seed: int) -> Int16:
    """A caller without pauses, which ends with its last sample."""
    sound = synthetic_voice(seconds, CALLER_HZ, np.random.default_rng(seed)) * 0.08 * 32_768
    return np.clip(sound, -32_768, 32_767).astype(np.int16)


def caller_of(behaviour: str, seed: int = 1) -> tuple[CallerTurn, ...]:
    """The turns by which a behaviour shows: one with a pause, one and an interruption, or one."""
    name = behaviour.rstrip("0123456789").rstrip("-")
    if name == "cut-pause":
        pause = np.zeros(round(0.6 * CALLER_HZ), np.int16)
        return (CallerTurn(np.concatenate([voice(0.9, seed), pause, voice(1.4, seed + 1)])),)
    if "yield" in name:
        return CallerTurn(voice(1.2, seed)), CallerTurn(voice(0.9, seed + 1), start="into_reply", offset_ms=770.0)
    if name == "cut-over":
        return (CallerTurn(voice(1.8, seed)),)
    return (CallerTurn(voice(1.2, seed)),)


@dataclass(frozen=True)
class Played:
    """A call as it was recorded, and the truth of its turns."""

    behaviour: str
    recording: Recording
    truths: Sequence[TurnTruth]


async def played(
    wire: str, behaviours: Sequence[str], folder: Path, *, at_once: int = 2, seed: int = 1, profile: str = ""
) -> list[Played]:
    """A call to each of the behaviours, named as often as they are to be called. `profile`: more of the agent's profile."""
    caller, lanes = CallerProcess(), asyncio.Semaphore(at_once)
    await caller.start()
    truth = folder / "truth.csv"
    try:
        async with known_agent(wire, truth, "--seed", str(seed)) as url:

            async def play(number: int, behaviour: str) -> Path:
                into = folder / str(number)
                into.mkdir(parents=True)
                at = address(url, behaviour, number)
                spec = parse_profile(f'url = "{at}"\nkind = "{wire}"\n{profile}\n', into / "agent.toml").connection(at)
                rate_hz = int(spec.options.get("input_rate_hz", CALLER_HZ))
                turns = [
                    CallerTurn(resample(turn.played, CALLER_HZ, rate_hz), start=turn.start, offset_ms=turn.offset_ms)
                    for turn in caller_of(behaviour, seed + number)
                ]
                greeting = Greeting(wait_s=3.0) if behaviour == "late-greeting" else None
                plan = SessionPlan(spec, tuple(turns), rate_hz, lead_in_ms=300.0, limits=LIMITS, greeting=greeting)
                async with lanes:
                    outcome = await caller.play(plan, into)
                allowed = {"hangs-up"} if outcome.failure_kind else ()
                assert outcome.failure_kind is None or behaviour in allowed, (
                    f"{behaviour}: {outcome.failure_kind} {outcome.detail}"
                )
                return into

            folders = await asyncio.gather(*(play(k, name) for k, name in enumerate(behaviours)))
    finally:
        await caller.stop()
    turns = read_truth(truth)
    return [
        Played(name, load(into), [turn for turn in turns if turn.call == into.name])
        for name, into in zip(behaviours, folders, strict=True)
    ]


def address(url: str, behaviour: str, number: int) -> str:
    """The address at which the numbered call gets this behaviour."""
    if url.startswith("sip:"):
        return url.replace("sip:", f"sip:{behaviour}.{number}@", 1)
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}/{behaviour}/{path}?call={number}"
