"""The metrology agent: `python -m harness.calibrate.agent`, a process of its own that answers over a real socket.

It speaks raw PCM, hears the caller end by level, waits its programmed time, sends its programmed sound, and reveals the
truth only when standard input says `truth`: its own stamp right before the first message was written, where in that
audio the voice begins, and when each of the caller's frames arrived. It also serves as the echoing agent of load
measurements, where what matters is that it costs little and answers everybody alike.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np
from websockets.asyncio.server import ServerConnection, serve

from harness.calibrate.program import AGENT_HZ, Program, draw, render
from harness.caller.pacer import precise_loop

LOUD: Final = 200
"""A caller sample above this is speech; the calibration's caller is 30 dB louder and its silence is digital."""
MESSAGE_S: Final = 0.04
PACE: Final = 2.0
"""Messages follow twice as fast as they play, as pipecat's transport sends them."""


@dataclass(slots=True)
class Truth:
    """True times of one session, in ns of the machine's monotonic clock."""

    program: Program
    sent_ns: int = 0
    onset_ms: float = 0.0
    arrivals_ns: list[int] = field(default_factory=list)


class MetrologyAgent:
    """Agent that answers each connection by its own program."""

    def __init__(self, seed: int, keep_arrivals: bool, delay_ms: int | None = None) -> None:
        self._rng = np.random.default_rng(seed)
        self._delay_ms = delay_ms
        self._keep_arrivals = keep_arrivals
        self._ready: list[tuple[Program, bytes, float]] = []
        self.truths: dict[str, Truth] = {}

    def prepare(self, sessions: int) -> None:
        """Render the replies of this many sessions beforehand: an agent that computes would be late."""
        for _ in range(sessions):
            program = draw(self._rng)
            if self._delay_ms is not None:
                program = replace(program, delay_s=self._delay_ms / 1000, lead_s=0.0, snr_db=None)
            samples, onset_ms = render(program)
            self._ready.append((program, samples.astype("<i2").tobytes(), onset_ms))

    async def session(self, socket: ServerConnection) -> None:
        """Serve one caller."""
        assert socket.request is not None
        if not self._ready:
            self.prepare(1)
        program, reply, onset_ms = self._ready.pop()
        truth = self.truths[socket.request.path] = Truth(program, onset_ms=onset_ms)
        await socket.send(json.dumps({"type": "start", "sample_rate": AGENT_HZ}))
        answering: asyncio.Task[None] | None = None
        heard, loud_ns = False, 0
        async for message in socket:
            if not isinstance(message, bytes):
                continue
            now_ns = time.monotonic_ns()
            if self._keep_arrivals:
                truth.arrivals_ns.append(now_ns)
            if max(message[1::2], default=0) and np.abs(np.frombuffer(message, "<i2").astype(np.int32)).max() > LOUD:
                heard, loud_ns = True, now_ns
            elif heard and answering is None and now_ns - loud_ns > 40_000_000:
                answering = asyncio.create_task(self._answer(socket, truth, reply, loud_ns))
        if answering is not None:
            answering.cancel()

    async def _answer(self, socket: ServerConnection, truth: Truth, reply: bytes, loud_ns: int) -> None:
        loop = asyncio.get_running_loop()
        due = max(loud_ns / 1e9 + truth.program.delay_s, loop.time())
        size = round(AGENT_HZ * MESSAGE_S) * 2
        for k, at in enumerate(range(0, len(reply), size)):
            await asyncio.sleep(due + k * MESSAGE_S / PACE - loop.time())
            if k == 0:
                truth.sent_ns = time.monotonic_ns()
            await socket.send(reply[at : at + size])


async def _serve(seed: int, sessions: int, keep_arrivals: bool, delay_ms: int | None, host: str) -> None:
    agent = MetrologyAgent(seed, keep_arrivals, delay_ms)
    agent.prepare(sessions)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with serve(agent.session, host, 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        _tell({"url": f"ws://{host}:{port}"})
        while line := await reader.readline():
            if line.strip() == b"truth":
                _tell({path: asdict(truth) for path, truth in agent.truths.items()})


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    """Serve until standard input ends. Arguments: the address to listen at, seed, sessions to prepare, whether to store frame
    arrivals, and a fixed delay in ms if every reply shall have the same."""
    host = sys.argv[1]
    seed, sessions, keep = (int(argument) for argument in sys.argv[2:5])
    delay_ms = int(sys.argv[5]) if len(sys.argv) > 5 else None
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(_serve(seed, sessions, bool(keep), delay_ms, host))


if __name__ == "__main__":
    main()
