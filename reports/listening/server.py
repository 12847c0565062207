"""The server of pages that people open: it runs one application on an opened socket until Ctrl-C."""

import asyncio
import logging
import socket
from functools import partial
from typing import Final, cast

import uvicorn
from starlette.applications import Starlette

from harness.reports.listening.connections import Bounded, Gate, Visits
from harness.reports.listening.door import Door, cannot_open

KEEP_ALIVE_S = 90
"""Keep-alive time: people think longer than the usual five seconds; a connection closed before would only be opened again."""
FAREWELL_S = 2
"""Shutdown time: with TLS the default for an idle browser is half a minute; answers are on disk before acknowledgement."""

_NOT_WORTH_SAYING: Final = ("Cancel 0 running", "Invalid HTTP request", "Unsupported upgrade", "No supported WebSocket")


def listen_on(bound: socket.socket, door: Door) -> None:
    """Listen on the socket now: two servers can be bound to a port, but only one can listen.

    Raises:
        UserError: the port is in use.
    """
    try:
        bound.listen()
    except OSError as error:
        raise cannot_open(door, error) from error


def server_of(app: Starlette, bound: socket.socket, door: Door) -> tuple[uvicorn.Server, socket.socket]:
    """The server of an application, and the socket that it must run on; both bound what strangers can do to it."""
    visits = Visits(KEEP_ALIVE_S, door.proxies)
    config = uvicorn.Config(
        app,
        # The type asks for a class, and is called as a function.
        http=cast("type[asyncio.Protocol]", partial(Bounded, visits)),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=FAREWELL_S,
        callback_notify=visits.end_overdue,
        timeout_notify=1,
        ssl_certfile=door.certificate,
        ssl_keyfile=door.key,
        proxy_headers=bool(door.proxies),
        forwarded_allow_ips=list(door.proxies),
    )
    logging.getLogger("uvicorn.error").addFilter(_worth_saying)
    return uvicorn.Server(config), Gate(bound, visits)


def run_app(app: Starlette, bound: socket.socket, door: Door) -> None:
    """Serve an application until interrupted.

    Raises:
        UserError: the socket or the certificate cannot be used.
    """
    server, gate = server_of(app, bound, door)
    try:
        server.run(sockets=[gate])
    except KeyboardInterrupt:
        # uvicorn raises it again after it has closed all connections properly.
        pass
    except (SystemExit, OSError) as error:
        raise cannot_open(door, error) from error


def _worth_saying(record: logging.LogRecord) -> bool:
    """False for what is no error of the server: a browser that disconnected without closing, and what a stranger sent, who
    could otherwise fill a disk with it."""
    return not record.getMessage().startswith(_NOT_WORTH_SAYING)
