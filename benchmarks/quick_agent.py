"""An agent that answers every caller after a fixed time and costs next to nothing: for `benchmarks/load.py`.

The metrology agent takes 130 µs for each frame of a caller, most of it in parsing messages and switching tasks, so two hundred
callers fill more than a core with it. To show where *callers* give way, an agent must have room. Frames of the harness's caller
are alike: one masked binary message each, of digital silence or not. Whether a frame is silent shows without unmasking it; its
answer is rendered and framed beforehand; nothing is a task. The handshake is the library's.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from harness.calibrate.agent import LOUD, MESSAGE_S, PACE
from harness.calibrate.program import AGENT_HZ, draw, render
from harness.caller.pacer import precise_loop

AFTER_S = 0.04
"""Silence after which the caller has ended, as for the metrology agent."""


class Agent:
    """The answer that all calls get, in messages, and the truth on each."""

    def __init__(self, seed: int, delay_s: float) -> None:
        samples, self.onset_ms = render(replace(draw(np.random.default_rng(seed)), lead_s=0.0, snr_db=None))
        self.delay_s = delay_s
        pcm, size = samples.astype("<i2").tobytes(), round(AGENT_HZ * MESSAGE_S) * 2
        self.hello = Frame(Opcode.TEXT, json.dumps({"type": "start", "sample_rate": AGENT_HZ}).encode()).serialize(mask=False)
        self.messages = [Frame(Opcode.BINARY, pcm[at : at + size]).serialize(mask=False) for at in range(0, len(pcm), size)]
        self.sent_ns: dict[str, int] = {}

    def truth(self) -> dict[str, Any]:
        """When each call's answer was sent, by its path, and where in it the voice begins."""
        return {path: {"sent_ns": at_ns, "onset_ms": self.onset_ms} for path, at_ns in self.sent_ns.items()}


class Call(asyncio.Protocol):
    """One call: it hears the caller end, waits, and answers."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._loop = asyncio.get_running_loop()
        self._handshake: ServerProtocol | None = ServerProtocol()
        self._data = b""
        self._path = ""
        self._loud_s: float | None = None
        self._next: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._next is not None:
            self._next.cancel()

    def data_received(self, data: bytes) -> None:
        if self._handshake is not None:
            self._shake(self._handshake, data)
            return
        self._data += data
        while (frame := _frame(self._data)) is not None:
            opcode, mask, payload, self._data = frame
            if opcode == Opcode.BINARY:
                self._hear(mask, payload)
            elif opcode == Opcode.CLOSE:
                self._transport.write(Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=False))
                self._transport.close()

    def _shake(self, handshake: ServerProtocol, data: bytes) -> None:
        handshake.receive_data(data)
        for event in handshake.events_received():
            assert isinstance(event, Request)
            handshake.send_response(handshake.accept(event))
            self._transport.write(b"".join(handshake.data_to_send()) + self._agent.hello)
            self._path, self._handshake = event.path, None

    def _hear(self, mask: bytes, payload: bytes) -> None:
        now_s = self._loop.time()
        silent = payload == mask * (len(payload) // 4)
        if not silent and _loudest(mask, payload) > LOUD:
            self._loud_s = now_s
        elif self._loud_s is not None and self._next is None and now_s - self._loud_s > AFTER_S:
            due_s = max(now_s, self._loud_s + self._agent.delay_s)
            self._next = self._loop.call_at(due_s, self._say, iter(self._agent.messages), due_s, True)

    def _say(self, messages: Iterator[bytes], due_s: float, first: bool) -> None:
        if first:
            self._agent.sent_ns[self._path] = time.monotonic_ns()
        message = next(messages, None)
        if message is not None:
            self._transport.write(message)
            due_s += MESSAGE_S / PACE
            self._next = self._loop.call_at(due_s, self._say, messages, due_s, False)


def _frame(data: bytes) -> tuple[int, bytes, bytes, bytes] | None:
    """Opcode, mask and masked payload of a client's first message (RFC 6455, 5.2), and the bytes after it; None until it is
    complete."""
    if len(data) < 6:
        return None
    size, at = data[1] & 127, 2
    if size == 126:
        size, at = int.from_bytes(data[2:4]), 4
    end = at + 4 + size
    return (data[0] & 15, data[at : at + 4], data[at + 4 : end], data[end:]) if len(data) >= end else None


def _loudest(mask: bytes, payload: bytes) -> int:
    size = len(payload) // 4 * 4
    samples = (np.frombuffer(payload[:size], "<u4") ^ np.frombuffer(mask, "<u4")).view("<i2").astype(np.int32)
    return int(np.abs(samples).max(initial=0))


async def _serve(host: str, seed: int, delay_ms: float) -> None:
    agent, loop = Agent(seed, delay_ms / 1000), asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    server = await loop.create_server(lambda: Call(agent), host, 0)
    print(json.dumps({"url": f"ws://{host}:{server.sockets[0].getsockname()[1]}"}), flush=True)
    while line := await reader.readline():
        if line.strip() == b"truth":
            print(json.dumps(agent.truth()), flush=True)
    server.close()


if __name__ == "__main__":
    # The same arguments as those of `harness.calibrate.agent`; how many calls come has no effect here.
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(_serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[5])))
