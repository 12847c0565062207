"""Parts of a cascade that do what a script says and stamp when: the truth that the cascade's own marks are held against.

The language model is an OpenAI-compatible server behind a real socket, in a thread and an event loop of its own, so that
what delays the cascade does not delay the stamps. The voice and the recogniser stand where Piper and Whisper stand.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray

from harness.agents.cascade.llm import Endpoint
from harness.agents.cascade.models import Models
from harness.agents.cascade.recogniser import Heard
from harness.agents.cascade.server import make_app
from harness.agents.cascade.settings import CascadeSettings
from harness.calibrate.voice import synthetic_voice

RATE_HZ = 16_000
REPLY = "I hear you, and that sounds hard. Tell me more about it."
_INTO_THE_SECOND = REPLY.split(" ").index("Tell")
"""The word that shows a pipeline that the first sentence is over."""


@dataclass(slots=True)
class Truth:
    """When things really happened, in ns of the monotonic clock, by name and in order."""

    at_ns: dict[str, list[int]] = field(default_factory=dict)

    def note(self, name: str) -> None:
        self.at_ns.setdefault(name, []).append(time.monotonic_ns())


class ScriptedModel:
    """Streams `REPLY` word by word. Use as `with ScriptedModel(truth) as base_url`."""

    def __init__(self, truth: Truth, first_token_s: float = 0.06, between_s: float = 0.01, stall_s: float = 0.0) -> None:
        """Make a model. `stall_s`: how long it waits at the begin of its second sentence."""
        self._truth = truth
        self._first_token_s, self._between_s, self._stall_s = first_token_s, between_s, stall_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = starting.result(10)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            self._truth.note("request")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            await self._say(writer, {"role": "assistant", "content": ""})
            await asyncio.sleep(self._first_token_s)
            for k, word in enumerate(REPLY.split(" ")):
                if k == 0:
                    self._truth.note("first_token")
                await self._say(writer, {"content": word if k == 0 else f" {word}"})
                await asyncio.sleep(self._between_s + (self._stall_s if k == _INTO_THE_SECOND else 0))
            await self._say(writer, {}, "stop")
            writer.write(b"data: [DONE]\n\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _say(self, writer: asyncio.StreamWriter, delta: dict[str, str], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
        writer.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await writer.drain()


class ScriptedVoice:
    """Takes its time, then speaks vowels that any speech detector believes."""

    config = SimpleNamespace(sample_rate=24_000)

    def __init__(self, truth: Truth, takes_s: float = 0.05) -> None:
        self._truth, self._takes_s = truth, takes_s
        sound = synthetic_voice(0.8, 24_000, np.random.default_rng(4)) * 0.1 * 32768
        self._pcm = np.clip(sound, -32768, 32767).astype(np.int16).tobytes()

    def synthesize(self, text: str) -> Iterator[Any]:
        self._truth.note("synthesis")
        return self._pieces(text)

    def _pieces(self, _text: str) -> Iterator[Any]:
        time.sleep(self._takes_s)
        self._truth.note("first_audio")
        yield SimpleNamespace(audio_int16_bytes=self._pcm)


class WithoutTokens:
    """A recogniser that cannot continue a transcript, as Whisper here."""

    piece_from_s = 4.0
    stretch_most_s = 24.0

    def text_of(self, _tokens: Sequence[int]) -> str:
        return ""

    def agreed(self, _one: Sequence[int], _other: Sequence[int]) -> tuple[int, ...]:
        return ()


class ScriptedRecogniser(WithoutTokens):
    """Hears the same words in anything."""

    def __init__(self, truth: Truth, takes_s: float = 0.04) -> None:
        self._truth, self._takes_s = truth, takes_s

    def transcribe(self, _samples: NDArray[np.float32], *_: Any) -> Heard:
        self._truth.note("recognition")
        time.sleep(self._takes_s)
        self._truth.note("recognised")
        return Heard("I lost my job last week.", 0)


class Waits:
    """When this run waited for the processor, asked all the time: one byte goes through a socket to a thread with a loop of
    its own and back, the same hops that lie between a mark and the part that it is of.

    Use as `async with Waits() as waits`.
    """

    _EVERY_NS = 2_000_000
    _MOST_HOPS = 3
    """To connect, to send and to be read: no mark lies further from its part."""

    def __init__(self) -> None:
        self._rounds: list[tuple[int, int]] = []
        """Due, and answered."""
        self._near, self._far = socket.socketpair()
        self._thread = threading.Thread(target=asyncio.run, args=(self._answer(),), daemon=True)

    async def __aenter__(self) -> "Waits":
        self._near.setblocking(False)
        self._far.setblocking(False)
        self._thread.start()
        self._asking = asyncio.create_task(self._ask())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._asking.cancel()
        await asyncio.gather(self._asking, return_exceptions=True)
        self._near.close()
        await asyncio.to_thread(self._thread.join, 10)
        self._far.close()

    def between_ms(self, one_ns: int, other_ns: int) -> float:
        """How much of the time between these two moments, in either order, was waiting.

        Never more than the run's usual waits: work that holds up the loop at one place of every call is no waiting.
        """
        start_ns, end_ns = sorted((one_ns, other_ns))
        here_ms = sum(max(0, min(end_ns, done) - max(start_ns, due)) for due, done in self._rounds) / 1e6
        usual_ms = float(np.percentile([done - due for due, done in self._rounds], 95)) / 1e6
        return min(here_ms, self._MOST_HOPS * usual_ms)

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_ns = time.monotonic_ns() + self._EVERY_NS
            await asyncio.sleep(self._EVERY_NS / 1e9)
            await loop.sock_sendall(self._near, b".")
            await loop.sock_recv(self._near, 1)
            self._rounds.append((due_ns, time.monotonic_ns()))

    async def _answer(self) -> None:
        loop = asyncio.get_running_loop()
        # The asker leaves with an answer unread as often as not, which is no orderly end of the pair.
        with suppress(ConnectionError):
            while data := await loop.sock_recv(self._far, 1):
                await loop.sock_sendall(self._far, data)


@asynccontextmanager
async def cascade(
    truth: Truth, settings: dict[str, Any], first_token_s: float = 0.06, stall_s: float = 0.0
) -> AsyncIterator[str]:
    """The address of a cascade with these parts, served in this process."""
    with ScriptedModel(truth, first_token_s, stall_s=stall_s) as base_url:
        models = Models(ScriptedRecogniser(truth), ScriptedVoice(truth), Endpoint(base_url, "scripted"), None)
        app = make_app(CascadeSettings.model_validate(settings), models)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", ws_ping_interval=None))
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        yield f"ws://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/ws"
        server.should_exit = True
        await serving
