"""The error of TTFA over lines that carry RTP, against known agents: `python benchmarks/wires.py webrtc|sip [calls]`.

Everything is the real thing: the caller's process, the line, `harness known serve` in a process of its own (over SIP behind a
kamailio that stays in the call), the playout model and the analyser. The true TTFA is the known agent's own, from the packet
that brought the caller's end to the one that holds the answer's onset. What is left holds the line, the jitter model and the
onset.
"""

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.timing import measure
from tests.harness.known.live import played

PEERS = Path(__file__).parents[1] / "tests" / "peers"


@dataclass(frozen=True, slots=True)
class Errors:
    """The error of each call that gave a figure, the jitter of each line, and why other calls gave none."""

    ms: list[float]
    jitter_ms: list[float]
    lost: list[str]


async def errors_of(wire: str, calls: int) -> Errors:
    """Call known agents, one call after the other."""
    found = Errors([], [], [])
    with contextlib.ExitStack() as open_:
        proxy = f'proxy = "sip:{open_.enter_context(registrar())}"' if wire == "sip" else "rtvi = false"
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="wires-")))
        for call in await played(wire, ["fixed"] * calls, folder, at_once=1, profile=proxy):
            timing, true_ms = measure(call.recording), call.truths[0].speech_ms
            if timing.ttfa_ms is None or true_ms is None:
                found.lost.append(timing.discarded or "no answer measured")
                continue
            found.ms.append(timing.ttfa_ms - true_ms)
            if timing.line is not None and timing.line.jitter_ms is not None:
                found.jitter_ms.append(timing.line.jitter_ms)
    return found


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


def main() -> None:
    """Print the error's percentiles, the line's jitter, and what was discarded."""
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    found = asyncio.run(errors_of(sys.argv[1] if len(sys.argv) > 1 else "webrtc", calls))
    size, jitter_ms = np.abs(found.ms), np.median(found.jitter_ms)
    print(f"{len(found.ms)} of {calls} calls: bias {np.mean(found.ms):+.2f} ms, error p50 {np.percentile(size, 50):.2f}, "
          f"p95 {np.percentile(size, 95):.2f}, max {size.max():.2f} ms; jitter p50 {jitter_ms:.2f} ms")  # fmt: skip
    for why in sorted(set(found.lost)):
        print(f"  no figure ({found.lost.count(why)}): {why}")


if __name__ == "__main__":
    main()
