"""The agent's server: pipecat's FastAPI WebSocket transport behind uvicorn, one pipeline per connection.

pipecat's own single-client server refuses a second caller; a web framework's route does not, and every connection gets a
pipeline of its own, so that sessions cannot touch one another.
"""

import asyncio
import contextlib
import gc
import itertools
import json
import signal
import socket
import sys
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI, WebSocket
from loguru import logger

from harness.agents.cascade.models import Models
from harness.agents.cascade.pipeline import Session
from harness.agents.cascade.settings import CascadeSettings
from harness.agents.cascade.wire import asked_for

_PATH = "/ws"
_EVAL_PATH = "/eval"
SESSION = "session"
"""The query parameter with the session's name, for the ranges of a profiler."""
_GRACE_S = 3
"""Time for open sessions to end after the agent was asked to stop."""


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: the agent must still stop its language model afterwards."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_app(settings: CascadeSettings, models: Models) -> FastAPI:
    """An ASGI app that runs one session for each WebSocket that connects to `/ws`, or to `/eval` over pipecat's own wire."""
    app = FastAPI(openapi_url=None)
    calls = itertools.count(1)

    @app.websocket(_PATH)
    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        name = websocket.query_params.get(SESSION) or f"call {next(calls)}"
        await Session(websocket, settings, models, name=name).run()
        _free_session()

    @app.websocket(_EVAL_PATH)
    async def be_evaluated(websocket: WebSocket) -> None:
        await websocket.accept()
        asked = await asked_for(websocket)
        if asked is None:
            await websocket.close(1002, "the first message must be pipecat's eval-connect")
            return
        await Session(websocket, settings, models, asked).run()
        _free_session()

    return app


def _free_session() -> None:
    """Free what a session has left.

    Its objects refer to one another, and Python looks for such ones too seldom, because it counts objects and not the models'
    memory: after 33 calls 1.4 GiB had not been freed.
    """
    gc.collect()


def listen(port: int) -> socket.socket:
    """A listening socket whose connections send at once.

    asyncio turns Nagle's algorithm off only on sockets that name their protocol; those of `create_server` do not. Left on,
    the first audio waited behind a mark until the caller's next frame acknowledged that: 15 ms, the median of 60 replies.
    """
    listener = socket.create_server(("127.0.0.1", port))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def serve(settings: CascadeSettings, models: Models, port: int) -> None:
    """Serve until SIGTERM or SIGINT; say on standard output, in one line of JSON, when and where callers may come."""
    listener = listen(port)
    config = uvicorn.Config(
        make_app(settings, models),
        log_config=None,
        # Compressing audio frames costs processor time that the models need.
        ws_per_message_deflate=False,
        # A busy machine answers a ping late; a session must not end for that.
        ws_ping_interval=None,
        timeout_graceful_shutdown=_GRACE_S,
        lifespan="off",
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, lambda: setattr(server, "should_exit", True))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    # uvicorn reports its start only by a flag.
    while not server.started and not serving.done():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    host, bound_port = listener.getsockname()[:2]
    metrics = {"metrics": models.server.metrics_url} if models.server is not None else {}
    print(json.dumps({"event": "ready", "url": f"ws://{host}:{bound_port}{_PATH}", **metrics}), flush=True)
    logger.info("ready on port {}", bound_port)
    sys.stdout.flush()
    await serving
