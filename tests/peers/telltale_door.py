"""Bots behind a door that repeat whatever their callers bring: headers, query and token, in transcripts, marks and goodbyes.

Prints one JSON line with its port. `/raw` speaks raw PCM, `/media` Twilio's Media Streams; `POST /start` gives a token for one
call, and says which on standard error, so that a test can look for it.
"""

import asyncio
import base64
import json
import secrets
import sys
import time
from typing import Any

from aiohttp import WSMsgType, web

LISTENS_FRAMES = 100
MOST_IN_REASON = 120
"""Bytes that a closing frame has room for."""


def brought(request: web.Request) -> str:
    private = [request.headers.get(name, "") for name in ("Authorization", "X-Room")]
    return " ".join([*private, request.query.get("token", ""), request.query_string])


async def start(request: web.Request) -> web.Response:
    token = f"one-time/{secrets.token_hex(8)}"
    print(f"token {token}", file=sys.stderr, flush=True)
    address = f"ws://127.0.0.1:{request.url.port}/media"
    return web.json_response({"wsUrl": address, "token": token, "asked": brought(request)})


async def hear(socket: web.WebSocketResponse) -> Any:
    """The first message, once the caller has spoken for a while."""
    first, frames = None, 0
    async for message in socket:
        if message.type is WSMsgType.TEXT and first is None:
            first = json.loads(message.data)
            if first.get("event") == "connected":
                first = None
        frames += 1
        if frames >= LISTENS_FRAMES:
            break
    return first


async def raw(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    said = brought(request)
    mark = {"type": "mark", "name": f"door {said}", "at_ns": time.monotonic_ns(), "detail": {"door": said}}
    await socket.send_str(json.dumps(mark))
    await hear(socket)
    for role in ("user", "assistant"):
        await socket.send_str(json.dumps({"type": "transcript", "role": role, "text": f"I was given {said}", "final": True}))
    await socket.send_bytes(bytes(3_200))
    await asyncio.sleep(0.2)
    await socket.close(code=1011, message=said.encode()[:MOST_IN_REASON])
    return socket


async def media(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    said = brought(request)
    begun = await hear(socket)
    stream = begun["streamSid"] if begun else ""
    await socket.send_str(json.dumps({"event": "mark", "streamSid": stream, "mark": {"name": f"door {said}"}}))
    silence = base64.b64encode(b"\xff" * 160).decode()
    await socket.send_str(json.dumps({"event": "media", "streamSid": stream, "media": {"payload": silence}}))
    await asyncio.sleep(0.2)
    await socket.close(code=1011, message=said.encode()[:MOST_IN_REASON])
    return socket


async def main() -> None:
    app = web.Application()
    app.router.add_post("/start", start)
    app.router.add_get("/raw", raw)
    app.router.add_get("/media", media)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
