"""The server of pages that people open: it runs one application on an opened socket until Ctrl-C."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect

from harness.reports.invited.address import Address, cannot_open, warnings
from harness.reports.invited.connections import Bounded, Gate, Visits
from harness.reports.invited.links import Links, moment

KEEP_ALIVE_S = 90
"""Keep-alive time: people think longer than the usual five seconds; a connection closed before would only be opened again."""
FAREWELL_S = 2
"""Shutdown time: with TLS the default for an idle browser is half a minute; answers are on disk before acknowledgement."""

_NOT_WORTH_SAYING: Final = ("Cancel ", "Invalid HTTP request", "Unsupported upgrade", "No supported WebSocket")


def server_of(app: Starlette, bound: socket.socket, address: Address) -> tuple[uvicorn.Server, socket.socket]:
    """The server of an application, and the socket that it must run on; both bound what strangers can do to it."""
    visits = Visits(KEEP_ALIVE_S, address.proxies)
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
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        proxy_headers=bool(address.proxies),
        forwarded_allow_ips=list(address.proxies),
    )
    logging.getLogger("uvicorn.error").addFilter(_worth_saying)
    return uvicorn.Server(config), Gate(bound, visits)


def serve_on(
    bound: socket.socket,
    address: Address,
    app: Starlette,
    links: Links,
    place: str,
    announce: Callable[[str], None],
    *,
    invited: Sequence[tuple[str, int, str]] = (),
    lifetime_s: float | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Give out links and serve an application until interrupted.

    Args:
        bound: the socket of the address; links are given out once it listens, or they would lead to another program.
        place: the name of the pages in output.
        invited: (role, number of links, path of the role's page), on a public server alone.
        lifetime_s: time that these links work; None: forever.
        notes: more sentences for the person who serves.

    Raises:
        UserError: the socket or the certificate cannot be used.
    """
    try:
        bound.listen()  # Two servers can be bound to a port, but only one can listen.
    except OSError as error:
        raise cannot_open(address, error) from error
    if address.public:
        expires_s = None if lifetime_s is None else time.time() + lifetime_s
        until = "" if expires_s is None else f"  (until {moment(expires_s)})"
        for role, count, page in invited:
            for link in links.invite(count, role, page, expires_s):
                announce(f"{role} {link.id}: {address.origin}{link.path}{until}")
    alone = " for holders of a link alone, those given out before among them." if address.public else ""
    for sentence in (f"{place} at {address.origin}/{alone}", *(warnings(address) if address.public else ()), *notes):
        announce(sentence)
    run_until_stopped(bound, address, app)


def run_until_stopped(bound: socket.socket, address: Address, app: Starlette) -> None:
    """Serve an application on a socket until Ctrl-C.

    Raises:
        UserError: the socket or the certificate cannot be used.
    """
    server, gate = server_of(app, bound, address)
    try:
        server.run(sockets=[gate])
    except KeyboardInterrupt:
        # uvicorn raises it again after it has closed all connections properly.
        pass
    except (SystemExit, OSError) as error:
        raise cannot_open(address, error) from error


def _worth_saying(record: logging.LogRecord) -> bool:
    """False for what is no error of the server: a browser that disconnected without closing, a request that never ended (its
    client left, or the server stops), and what a stranger sent, who could otherwise fill a disk with it."""
    _, error, _ = record.exc_info or (None, None, None)
    unfinished = isinstance(error, ClientDisconnect | asyncio.CancelledError)
    return not unfinished and not record.getMessage().startswith(_NOT_WORTH_SAYING)
