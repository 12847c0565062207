"""The server of pages that people open: it runs one application on an opened socket until Ctrl-C."""

import logging
import socket

import uvicorn
from starlette.applications import Starlette

from harness.reports.listening.door import Door, cannot_open

KEEP_ALIVE_S = 90
"""Keep-alive time: people think longer than the usual five seconds; a connection closed before would only be opened again."""
FAREWELL_S = 2
"""Shutdown time: with TLS the default for an idle browser is half a minute; answers are on disk before acknowledgement."""


def listen_on(bound: socket.socket, door: Door) -> None:
    """Listen on the socket now: two servers can be bound to a port, but only one can listen.

    Raises:
        UserError: the port is in use.
    """
    try:
        bound.listen()
    except OSError as error:
        raise cannot_open(door, error) from error


def run_app(app: Starlette, bound: socket.socket, door: Door) -> None:
    """Serve an application until interrupted.

    Raises:
        UserError: the socket or the certificate cannot be used.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=FAREWELL_S,
        ssl_certfile=door.certificate,
        ssl_keyfile=door.key,
        proxy_headers=bool(door.proxies),
        forwarded_allow_ips=list(door.proxies),
    )
    logging.getLogger("uvicorn.error").addFilter(_worth_saying)
    try:
        uvicorn.Server(config).run(sockets=[bound])
    except KeyboardInterrupt:
        # uvicorn raises it again after it has closed all connections properly.
        pass
    except (SystemExit, OSError) as error:
        raise cannot_open(door, error) from error


def _worth_saying(record: logging.LogRecord) -> bool:
    """False for a browser that disconnected without closing: uvicorn logs an error, but it is none."""
    return not record.getMessage().startswith("Cancel 0 running")
