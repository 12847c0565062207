"""The common part of all scripted servers: each hears its caller end, waits, answers with a known sound, and knows the truth.

A server is a process of its own (`python -m tests.vendors.NAME`), so that it and the caller do not wait for each other. Its
module gives `main` a session: what the vendor's wire does with a socket. The truth leaves it by standard output alone.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import numpy as np
import soxr
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from harness.calibrate.agent import LOUD, MESSAGE_S, PACE
from harness.calibrate.program import AGENT_HZ, draw, render
from harness.caller.pacer import precise_loop

CALL: Final = "X-Call"
"""Header with the number of a call, by which its truth is found."""
KEY: Final = "VENDOR_KEY"
"""The variable that holds the one key which a server takes; without it, it takes any."""
QUIET_NS: Final = 40_000_000
DROPS: Final = "drops"
"""The behaviour in which the line breaks after five pieces of the answer."""


@dataclass(slots=True)
class Truth:
    """The server's own stamp right before it sent its first sound, and where in that sound the voice begins."""

    sent_ns: int = 0
    onset_ms: float = 0.0


class Answer:
    """The answer of one call: PCM16LE mono at `rate_hz`, sent in messages of 40 ms, twice as fast as they play."""

    def __init__(self, seed: int, rate_hz: int) -> None:
        # No lead of silence or noise: a wire's own error is asked for, and calibration has that of the analyser.
        program = replace(draw(np.random.default_rng(seed)), lead_s=0.0, snr_db=None)
        samples, onset_ms = render(program)
        at_rate = soxr.resample(samples.astype(np.float64), AGENT_HZ, rate_hz, quality="VHQ")
        self.pcm = np.clip(at_rate, -32768, 32767).astype("<i2").tobytes()
        self.truth = Truth(onset_ms=onset_ms)
        self._rate_hz, self._delay_s = rate_hz, program.delay_s
        self._loud_ns = 0
        self._begun = False
        self.breaks: ServerConnection | None = None

    def hears(self, pcm: bytes) -> bool:
        """True once: when the caller, whose sound (PCM16LE) this is, has ended."""
        now_ns = time.monotonic_ns()
        if max(pcm[1::2], default=0) and np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max() > LOUD:
            self._loud_ns = now_ns
        elif self._loud_ns and not self._begun and now_ns - self._loud_ns > QUIET_NS:
            self._begun = True
            return True
        return False

    @property
    def due_s(self) -> float | None:
        """The time (of the loop) at which the sound is due; None while the caller has not ended."""
        return self._loud_ns / 1e9 + self._delay_s if self._begun else None

    async def pieces(self) -> AsyncIterator[bytes]:
        """The sound, each piece when it is due; the first is stamped as it leaves."""
        loop = asyncio.get_running_loop()
        due = max(self.due_s or 0.0, loop.time())
        size = round(self._rate_hz * MESSAGE_S) * 2
        for k, at in enumerate(range(0, len(self.pcm), size)):
            await asyncio.sleep(due + k * MESSAGE_S / PACE - loop.time())
            if k == 5 and self.breaks is not None:
                self.breaks.transport.abort()
                return
            if k == 0:
                self.truth.sent_ns = time.monotonic_ns()
            yield self.pcm[at : at + size]


def is_wrong(headers: Mapping[str, str], name: str, form: str = "{}") -> bool:
    """True if the header does not bring the server's key in this form."""
    return KEY in os.environ and headers.get(name) != form.format(os.environ[KEY])


def as_json(status: HTTPStatus, body: object) -> Response:
    """An answer to a handshake, with an object in its body."""
    content = json.dumps(body).encode()
    headers = Headers({"Content-Type": "application/json", "Content-Length": str(len(content)), "Connection": "close"})
    return Response(status.value, status.phrase, headers, content)


Session = Callable[[ServerConnection, Answer, str], Awaitable[None]]
"""A call on a vendor's wire: its socket, its answer, and the behaviour that the server was started with."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that places a call. `address`: where the call of this request is to be dialled."""

    path: str
    headers: dict[str, str]
    """By their names in small letters."""
    body: dict[str, Any]
    behaviour: str
    address: str


Places = Callable[[Asked], tuple[int, dict[str, Any]]]
"""What a vendor answers to such a request: an HTTP status and an object."""


def main(
    session: Session,
    rate_hz: int,
    behaviours: tuple[str, ...],
    gate: Callable[[ServerConnection, Request, str], Response | None] = lambda _socket, _request, _behaviour: None,
    path: str = "/",
    places: Places | None = None,
) -> None:
    """Serve until standard input ends; `truth` on it prints the truth of every call.

    `gate` may refuse a handshake, for example for its key (`socket.respond(status, words)`).
    `path`: the route that the printed address has; with `places` that of the requests which place calls, over HTTP.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--behaviour", choices=("answers", *behaviours), default="answers")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(_serve(session, Calls(arguments.seed, rate_hz), arguments.behaviour, gate, path, places))


class Calls:
    """The answers of a server's calls, by the calls' numbers, and what the test asks of them on standard input."""

    def __init__(self, seed: int, rate_hz: int) -> None:
        self._seed, self._rate_hz = seed, rate_hz
        self._ready = [Answer(seed + k, rate_hz) for k in range(4)]
        self._truths: dict[str, Truth] = {}

    def answer(self, number: str | None) -> Answer:
        """The answer of a call that begins."""
        found = self._ready.pop() if self._ready else Answer(self._seed + 100 + len(self._truths), self._rate_hz)
        self._truths[number or str(len(self._truths))] = found.truth
        return found

    async def serve(self, url: str) -> None:
        """Print the address, then do what is asked until standard input ends."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        print(json.dumps({"event": "ready", "url": url}), flush=True)
        while line := await reader.readline():
            if line.strip() == b"prepare":
                self._ready.extend(Answer(self._seed + 10 + len(self._ready), self._rate_hz) for _ in range(48))
                print("{}", flush=True)
            if line.strip() == b"truth":
                print(json.dumps({number: [one.sent_ns, one.onset_ms] for number, one in self._truths.items()}), flush=True)


async def _serve(
    session: Session,
    calls: Calls,
    behaviour: str,
    gate: Callable[[ServerConnection, Request, str], Response | None],
    path: str,
    places: Places | None,
) -> None:
    async def called(socket: ServerConnection) -> None:
        assert socket.request is not None
        named = parse_qs(urlsplit(socket.request.path).query).get("call", [None])
        answer = calls.answer(socket.request.headers.get(CALL, named[0]))
        answer.breaks = socket if behaviour == DROPS else None
        with contextlib.suppress(ConnectionClosed):
            await session(socket, answer, behaviour)

    async def handshake(socket: ServerConnection, request: Request) -> Response | None:
        return gate(socket, request, behaviour)

    async with serve(called, "127.0.0.1", 0, compression=None, process_request=handshake, close_timeout=0.2) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{port}{path}"
        if places is None:
            await calls.serve(url)
            return
        async with await _requests(places, behaviour, f"ws://127.0.0.1:{port}/call") as requests:
            await calls.serve(f"http://127.0.0.1:{requests.sockets[0].getsockname()[1]}{path}")


async def _requests(places: Places, behaviour: str, address: str) -> asyncio.Server:
    """The server of the requests that place calls."""
    count = 0

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            # A caller that was refused asks the port if it speaks TLS.
            writer.close()
            return
        first, *lines = head.decode().rstrip().split("\r\n")
        headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in lines)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        number = headers.get(CALL.lower(), str(count))
        count += 1
        status, answer = places(Asked(first.split(" ")[1], headers, body, behaviour, f"{address}?call={number}"))
        said = json.dumps(answer).encode()
        top = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\nConnection: close"
        writer.write(f"{top}\r\n\r\n".encode() + said)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(take, "127.0.0.1", 0)
