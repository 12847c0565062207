"""The error of TTFA over lines that carry RTP, against an agent of known delay: `python benchmarks/wires.py webrtc|sip
[calls]`.

Everything is the real thing: the caller's process, the line, an agent in a process of its own
(`tests/peers/webrtc_agent.py`, `tests/peers/sip_agent.py` behind a kamailio that stays in the call), the playout model and
the analyser; caller and agent go before other programs where the system allows it. The true TTFA is the instant at which
the agent hands the packet that holds the onset to the socket, plus where in it the voice begins, plus what the codec states
as its own delay, less the caller's spoken end. What is left holds the line, the jitter model and the onset.
"""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
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
OPUS_MS = 6.5
"""What Opus adds by itself: the encoder looks 312 samples ahead (libopus, all applications but low delay). G.711 adds none."""
PEERS = Path(__file__).parents[1] / "tests" / "peers"
LIMITS = Limits(quiet_s=0.4, no_reply_s=4.0, total_s=8.0)


@dataclass(frozen=True, slots=True)
class Peer:
    """An agent of known delay that runs. `truths`: what every call so far really was."""

    spec: ConnectionSpec
    delay_ms: float
    truths: Callable[[], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Errors:
    """The error of each call that gave a figure, the jitter of each line, and why other calls gave none."""

    ms: list[float]
    jitter_ms: list[float]
    lost: list[str]


async def errors_of(peer: Peer, calls: int) -> Errors:
    """Call a peer, one call after the other."""
    voice = synthetic_voice(1.2, RATE_HZ, np.random.default_rng(3)) * 0.08 * 32768
    turn = CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))
    found = Errors([], [], [])
    caller = CallerProcess()
    await caller.start()
    try:
        for _ in range(calls):
            with tempfile.TemporaryDirectory(prefix="wires-") as folder:
                outcome = await caller.play(SessionPlan(peer.spec, (turn,), RATE_HZ, limits=LIMITS), Path(folder))
                if outcome.failure_kind is not None:
                    found.lost.append(f"{outcome.failure_kind}: {outcome.detail}")
                    continue
                recording = load(Path(folder))
            timing, truth = measure(recording), peer.truths()[-1]
            if timing.ttfa_ms is None or "sent_ns" not in truth:
                found.lost.append(timing.discarded or "no answer measured")
                continue
            track = recording.caller
            spoken_end_ns = track.t0_ns + samples_to_ns(track.speech_end_sample, track.rate_hz)
            true_ms = (truth["sent_ns"] - spoken_end_ns) / NS_PER_MS + truth["onset_ms"] % FRAME_MS + peer.delay_ms
            found.ms.append(timing.ttfa_ms - true_ms)
            if timing.line is not None and timing.line.jitter_ms is not None:
                found.jitter_ms.append(timing.line.jitter_ms)
    finally:
        await caller.stop()
    return found


@contextlib.contextmanager
def started(*command: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An agent's address, and what it says from then on."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        output = agent.stdout
        said: list[dict[str, Any]] = []
        try:
            url = json.loads(output.readline())["url"]
            Thread(target=lambda: said.extend(map(json.loads, output)), daemon=True).start()
            yield url, said
        finally:
            agent.kill()


@contextlib.contextmanager
def webrtc_peer() -> Iterator[Peer]:
    """An aiortc peer."""
    with started(str(PEERS / "webrtc_agent.py"), "--seed", "5", "--first") as (url, _):

        def truths() -> list[dict[str, Any]]:
            with urllib.request.urlopen(url.replace("/api/offer", "/truth"), timeout=5) as answer:
                return list(json.load(answer))

        yield Peer(ConnectionSpec("webrtc", url, {"rtvi": False}), OPUS_MS, truths)


@contextlib.contextmanager
def registrar() -> Iterator[str]:
    """The address (HOST:PORT) of a kamailio that runs on a free port."""
    program = shutil.which("kamailio", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        raise FileNotFoundError("kamailio is not installed (apt-get install kamailio)")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory(prefix="kamailio-") as folder:
        command = [program, "-f", str(PEERS / "sip" / "kamailio.cfg"), "-l", f"udp:{place}", "-DD", "-E", "-m", "16", "-M", "2"]
        with subprocess.Popen(
            [*command, "-Y", folder, "-w", folder], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as it:
            try:
                _wait_for(place)
                yield place
            finally:
                it.terminate()


def _wait_for(place: str) -> None:
    """Ask a SIP server for itself until it replies."""
    host, _, port = place.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        probe.settimeout(0.2)
        own = f"{host}:{probe.getsockname()[1]}"
        asked = (
            f"OPTIONS sip:{place} SIP/2.0\r\nVia: SIP/2.0/UDP {own};branch=z9hG4bKprobe\r\nFrom: <sip:probe@{own}>;tag=1\r\n"
            f"To: <sip:{place}>\r\nCall-ID: probe\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 5\r\nContent-Length: 0\r\n\r\n"
        )
        for _ in range(100):
            with contextlib.suppress(OSError):
                probe.send(asked.encode())
                if probe.recv(4096):
                    return
            time.sleep(0.05)
    raise TimeoutError(f"no SIP server replies at {place}")


@contextlib.contextmanager
def sip_peer() -> Iterator[Peer]:
    """A telephone agent behind a registrar, in whose calls the registrar's proxy stays."""
    with registrar() as place:
        peer = (str(PEERS / "sip_agent.py"), "--seed", "5", "--first", "--register", place)
        with started(*peer) as (_, said):
            spec = ConnectionSpec("sip", f"sip:answers@{place}", {"codecs": ["pcmu"]})
            yield Peer(spec, 0.0, lambda: [{}, *(line for line in said if line["event"] == "truth")])


PEERS_OF = {"webrtc": webrtc_peer, "sip": sip_peer}


def main() -> None:
    """Print the error's percentiles, the line's jitter, and what was discarded."""
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    with PEERS_OF[sys.argv[1] if len(sys.argv) > 1 else "webrtc"]() as peer:
        found = asyncio.run(errors_of(peer, calls))
    size, jitter_ms = np.abs(found.ms), np.median(found.jitter_ms)
    print(f"{len(found.ms)} of {calls} calls: bias {np.mean(found.ms):+.2f} ms, error p50 {np.percentile(size, 50):.2f}, "
          f"p95 {np.percentile(size, 95):.2f}, max {size.max():.2f} ms; jitter p50 {jitter_ms:.2f} ms")  # fmt: skip
    for why in sorted(set(found.lost)):
        print(f"  no figure ({found.lost.count(why)}): {why}")


if __name__ == "__main__":
    main()
