"""The error of TTFA over lines that carry RTP, against an agent of known delay: `python benchmarks/wires.py webrtc [calls]`.

Everything is the real thing: the caller's process, the line, an agent in a process of its own (`tests/peers/webrtc_agent.py`),
the playout model and the analyser; caller and agent go before other programs where the system allows
it. The true TTFA is the instant at which the agent hands the packet that holds the onset to the socket, plus where in it the
voice begins, plus what the codec states as its own delay, less the caller's spoken end. What is left holds the line, the
jitter model and the onset.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from harness.agents.connections import ConnectionSpec
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerProcess, CallerTurn, Limits, SessionPlan
from harness.recording.files import load
from harness.recording.record import FRAME_MS
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing import measure

RATE_HZ = 16_000
DELAY_MS = 6.5
"""What Opus adds by itself: the encoder looks 312 samples ahead (libopus, all applications but low delay)."""
PEERS = Path(__file__).parents[1] / "tests" / "peers"
LIMITS = Limits(quiet_s=0.4, no_reply_s=4.0, total_s=8.0)


async def errors_ms(url: str, calls: int) -> tuple[list[float], list[float], list[str]]:
    """The error of each call that gave a figure, its jitter, and why others gave none."""
    voice = synthetic_voice(1.2, RATE_HZ, np.random.default_rng(3)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    found: list[float] = []
    jitter: list[float] = []
    lost: list[str] = []
    caller = CallerProcess()
    await caller.start()
    try:
        for _ in range(calls):
            with tempfile.TemporaryDirectory(prefix="wires-") as folder:
                spec = ConnectionSpec("webrtc", url, {"rtvi": False})
                outcome = await caller.play(SessionPlan(spec, (turn,), RATE_HZ, limits=LIMITS), Path(folder))
                if outcome.failure_kind is not None:
                    lost.append(f"{outcome.failure_kind}: {outcome.detail}")
                    continue
                recording = load(Path(folder))
            timing, truth = measure(recording), truths(url)[-1]
            if timing.ttfa_ms is None or "sent_ns" not in truth:
                lost.append(timing.discarded or "no answer measured")
                continue
            track = recording.caller
            spoken_end_ns = track.t0_ns + samples_to_ns(track.speech_end_sample, track.rate_hz)
            true_ms = (truth["sent_ns"] - spoken_end_ns) / NS_PER_MS + truth["onset_ms"] % FRAME_MS + DELAY_MS
            found.append(timing.ttfa_ms - true_ms)
            if timing.line is not None and timing.line.jitter_ms is not None:
                jitter.append(timing.line.jitter_ms)
    finally:
        await caller.stop()
    return found, jitter, lost


def truths(url: str) -> list[dict[str, Any]]:
    """What every call so far really was."""
    with urllib.request.urlopen(url.replace("/api/offer", "/truth"), timeout=5) as answer:
        return list(json.load(answer))


def main() -> None:
    """Print the error's percentiles, the line's jitter, and what was discarded."""
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    with subprocess.Popen(
        [sys.executable, str(PEERS / "webrtc_agent.py"), "--seed", "5", "--first"], stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdout is not None
        try:
            url = json.loads(agent.stdout.readline())["url"]
            found, jitter, lost = asyncio.run(errors_ms(url, calls))
        finally:
            agent.kill()
    size = np.abs(found)
    print(f"{len(found)} of {calls} calls: bias {np.mean(found):+.2f} ms, error p50 {np.percentile(size, 50):.2f}, "
          f"p95 {np.percentile(size, 95):.2f}, max {size.max():.2f} ms; jitter p50 {np.median(jitter):.2f} ms")  # fmt: skip
    for why in sorted(set(lost)):
        print(f"  no figure ({lost.count(why)}): {why}")


if __name__ == "__main__":
    main()
