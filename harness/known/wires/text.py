"""Known agents in writing: OpenAI's chat completions, streamed.

A request is a call, and a whole turn of the caller, which ends as it arrives. The reply has the times of a spoken one as it is
heard: for each 20 ms of sound a letter, for silence an empty piece, and for a sound without words a thought.

Source: OpenAI's reference of chat completion chunks; server-sent events in chunks of HTTP/1.1 (RFC 9112, section 7.1).
"""

import asyncio
import contextlib
import json
from dataclasses import replace
from itertools import islice, repeat
from typing import Final

import numpy as np

from harness.clock import now_ns
from harness.known.server import CALL_HEADER, Calls, Ready
from harness.timeline import NS_PER_S, samples_to_ns

RATE_HZ: Final = 16_000
TEXT: Final = "It sounds as if a lot has changed for you this week. Do you want to tell me how it began?"
_STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_MODELS: Final = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n{"object":"list","data": []}'


async def serve(_wire: str, calls: Calls, host: str, port: int, ready: Ready) -> None:
    """Serve chat completions, below any address that ends in /v1."""

    async def line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled as the server stops, which asyncio would report as a fault of this line.
        stops = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*stops), contextlib.closing(writer):
            while True:
                first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in rest)}
                await reader.readexactly(int(headers.get("content-length", 0)))
                if not first.startswith("POST"):
                    writer.write(_MODELS)
                elif not await _complete(calls, first.split()[1], headers.get(CALL_HEADER.lower()), writer):
                    return

    async with await asyncio.start_server(line, host, port) as server:
        ready(f"http://{host}:{server.sockets[0].getsockname()[1]}/v1")
        await server.serve_forever()


async def _complete(calls: Calls, path: str, call: str | None, writer: asyncio.StreamWriter) -> bool:
    """False if the agent hung up within its answer to a request."""
    conduct = calls.begin(path, hears_hz=RATE_HZ, says_hz=RATE_HZ, call=call)
    conduct.hear(np.full(1, 32_767, np.int16), now_ns())
    conduct.behaviour = replace(conduct.behaviour, pace=min(1.0, conduct.behaviour.pace))
    words, kind = iter(TEXT), "sound"

    async def send(data: str) -> None:
        event = f"data: {data}\n\n".encode()
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()

    try:
        writer.write(_STREAM)
        async for message in conduct.messages(once=True):
            kind, at = message.marks[-1] if message.marks else (kind, 0)
            late_ns = samples_to_ns(at, RATE_HZ)
            await asyncio.sleep(late_ns / NS_PER_S)
            conduct.sent(message, now_ns() - late_ns)
            # A thought takes no letter of the words, or these could begin with a space.
            letters = repeat("m") if kind == "sound" else words
            said = "".join(islice(letters, 1 + len(message.samples) * 50 // (RATE_HZ + 1))) if message.samples.any() else ""
            delta = {"reasoning_content" if kind == "sound" else "content": said}
            await send(json.dumps({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}))
        if not conduct.over:
            await send("[DONE]")
            writer.write(b"0\r\n\r\n")
        return not conduct.over
    finally:
        calls.end(conduct)
