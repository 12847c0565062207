"""Calls to a scripted server: it is started and ended here, and the TTFA of each call is compared with the server's truth."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import ConnectionSpec, make
from harness.agents.message import Message
from harness.agents.profile import parse_profile
from harness.audio.pcm import resample
from harness.calibrate.run import LIMITS, caller_turn
from harness.caller import CallerProcess, CallerTurn, SessionPlan
from harness.recording.files import load
from harness.recording.record import Recording
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing import measure
from tests.vendors.answering import CALL

ROOT = Path(__file__).parents[2]
CALLER_HZ = 16_000
PAST: Final = (Message("user", "I cannot sleep."), Message("assistant", "What keeps you awake?"))
SECRET: Final = "a-key-that-nobody-may-read-0123456789"
PROFILES: Final = {
    "raw_pcm": 'kind = "raw-pcm"\ngreets = false\n',
    "genesys": 'kind = "genesys"\ngreets = false\n',
    "openai_realtime": 'kind = "openai-realtime"\ngreets = false\nmodel = "gpt-realtime-2"\n',
    "openai_live": 'kind = "openai-live"\ngreets = false\n',
    "gemini_live": 'kind = "gemini-live"\nmodel = "m"\ngreets = false\n',
    "elevenlabs": 'kind = "elevenlabs"\nagent_id = "agent_1"\ngreets = false\n',
    "deepgram_agent": """kind = "deepgram-agent"
greets = false
think = { type = "open_ai", model = "gpt-4o-mini", temperature = 0.7 }
listen = { type = "deepgram", model = "nova-3" }
speak = { type = "deepgram", model = "aura-2-thalia-en" }
""",
    "ultravox": 'kind = "ultravox"\nmodel = "ultravox-v0.7"\nvoice = "Mark"\ntemperature = 0.4\n',
    "vapi": 'kind = "vapi"\nagent_id = "b0e0"\ngreets = false\n',
}
"""By the scripted server that each is for."""
TOOL: Final = """
[[tools]]
name = "look_up"
description = "The weather in a city."
answer = "8 hours"
parameters = { type = "object", properties = { city = { type = "string" } }, required = ["city"] }
"""


@dataclass(frozen=True)
class Server:
    """A scripted server that runs."""

    url: str
    process: asyncio.subprocess.Process

    async def told(self, word: str) -> Any:
        """Its answer to a word on its standard input."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n".encode())
        while isinstance(said := json.loads(await self.process.stdout.readline()), dict) and "note" in said:
            pass
        return said

    async def note(self) -> Any:
        """The next line that a session of its own prints: `{"note": …}`."""
        assert self.process.stdout is not None
        async with asyncio.timeout(20):
            return json.loads(await self.process.stdout.readline())["note"]


@asynccontextmanager
async def server(name: str, behaviour: str = "answers", **environment: str) -> AsyncIterator[Server]:
    """The scripted server `tests.vendors.NAME` in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"tests.vendors.{name}", "--behaviour", behaviour, cwd=ROOT, limit=1 << 24,
        env={**os.environ, **environment}, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async with asyncio.timeout(240):  # a busy machine takes long to import a vendor's types
            said = await process.stdout.readline()
        yield Server(str(json.loads(said)["url"]), process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def spec_of(profile: str, url: str) -> ConnectionSpec:
    """The connection of a profile's text, at the server's address."""
    return parse_profile(f'url = "{url}"\n{profile}\n', ROOT / "tests" / "peers" / "vendor.toml").connection(url)


async def one_call(name: str, folder: Path, behaviour: str = "answers", more: str = "") -> Recording:
    """The recording of a call by the server's own profile and what is added to it; a call that fails is an AssertionError."""
    async with server(name, behaviour) as running:
        return (await played(spec_of(PROFILES[name] + more, running.url), folder, 1))["0"]


async def refused(spec: ConnectionSpec) -> ConnectionFailed:
    """The failure of a call that is not taken."""
    line = make(spec)
    with pytest.raises(ConnectionFailed) as caught:
        await line.open(())
    await line.close()
    return caught.value


Numbered = Callable[[ConnectionSpec, str], ConnectionSpec]
"""A connection that tells the server its number."""


def in_a_header(spec: ConnectionSpec, number: str) -> ConnectionSpec:
    """The connection with its number in the header that scripted servers read."""
    return replace(spec, options={**spec.options, "headers": {**spec.options.get("headers", {}), CALL: number}})


async def ttfa_errors_ms(
    name: str, profile: str, tmp_path: Path, calls: int = 40, at_once: int = 4, numbered: Numbered = in_a_header
) -> list[float]:
    """The errors of TTFA in ms, one for each call that was measured."""
    found = []
    async with server(name) as running:
        await running.told("prepare")
        spec = spec_of(profile, running.url)
        recordings = await played(spec, tmp_path, calls, at_once, numbered)
        truths = await running.told("truth")
    for number, recording in recordings.items():
        sent_ns, onset_ms = truths[number]
        caller = recording.caller
        spoken_end_ns = caller.t0_ns + samples_to_ns(caller.speech_end_sample, caller.rate_hz)
        measured_ms = measure(recording).ttfa_ms
        assert measured_ms is not None, f"call {number} has no TTFA"
        found.append(measured_ms - ((sent_ns - spoken_end_ns) / NS_PER_MS + onset_ms))
    return found


async def played(
    spec: ConnectionSpec, folder: Path, calls: int, at_once: int = 4, numbered: Numbered = in_a_header
) -> Mapping[str, Recording]:
    """The recording of each call, by its number. Every call must end well."""
    rate_hz = int(spec.options.get("input_rate_hz", CALLER_HZ))
    turn = CallerTurn(resample(caller_turn(1).played, CALLER_HZ, rate_hz))
    lanes = asyncio.Semaphore(at_once)
    caller = CallerProcess()
    await caller.start()

    async def play(number: int) -> tuple[str, Recording]:
        into = folder / str(number)
        into.mkdir(parents=True)
        one = numbered(spec, str(number))
        async with lanes:
            outcome = await caller.play(SessionPlan(one, (turn,), rate_hz, lead_in_ms=300.0, limits=LIMITS), into)
        assert outcome.failure_kind is None, f"call {number}: {outcome.failure_kind}: {outcome.detail}"
        return str(number), load(into)

    try:
        return dict(await asyncio.gather(*(play(k) for k in range(calls))))
    finally:
        await caller.stop()


def assert_nowhere(secret: str, folder: Path) -> None:
    """No file of the folder holds the secret."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if secret.encode() in file.read_bytes()]


def p95_ms(errors_ms: list[float]) -> float:
    """The 95th percentile of their sizes."""
    return float(np.percentile(np.abs(errors_ms), 95))
