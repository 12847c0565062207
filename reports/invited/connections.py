"""Bounds on the connections of a server that strangers can reach: their number, and their time.

A connection costs a stranger nothing and the server a file descriptor. So every one is counted when it is accepted, before
TLS and before any byte; whoever is slow to ask, or to take an answer, is cut by the total time, because one byte every five
seconds is slow too. A newcomer is never refused: where there is no room the oldest unfinished connection ends, of the address
that has most. So a stranger with a thousand connections loses their own. A named proxy speaks for many people, so no bound by
address is its own.
"""

import asyncio
import errno
import ipaddress
import resource
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Final

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.reports.invited.guard import household

MOST: Final = 1_000
"""Most connections: 160 browsers with the six that each opens, at some 100 kB each."""
MOST_OF_ONE: Final = 400
"""Most connections of one address: a room of 60 people behind one router."""
SHARE_OF_FILES: Final = 0.7
"""Largest share of this process's file descriptors that are connections; databases and sounds need the others."""
AT_ONCE: Final = 32
"""Connections that end together where there is no room: choosing them takes as long for one as for all."""
HEADERS_S: Final = 10.0
"""Longest time from a connection, or from the first byte of a later request, to the end of its headers, TLS included."""
BODY_S: Final = 20.0
LEAST_BYTES_S: Final = 8_000
"""A body may take 20 s, and one second more for each 8 kB that came: a part of a recording, 64 kB, is sent in every 0.7 s."""
READING_S: Final = 20.0
"""Longest time in which a reader takes nothing of an answer, while there is no room for more of it on the way."""
ENDING_S: Final = 5.0
"""Longest time for the rest of a request that is answered already (it was refused), and for a last answer to be taken."""
ON_THE_WAY_BYTES: Final = 256 * 1_024
"""The system's share of an answer on its way. Without a bound it takes four megabytes for each reader who does not read."""


@dataclass(eq=False, slots=True)
class Visit:
    """One connection. It is `asking` until a whole request is there, then `answering`, then `idle`."""

    socket: socket.socket
    group: str
    since_s: float
    stage: str = "asking"
    received: int = 0
    answered: bool = False
    """True after one whole request."""
    ending: bool = False
    protocol: "Bounded | None" = None

    @property
    def closed(self) -> bool:
        return self.socket.fileno() == -1

    def enter(self, stage: str) -> None:
        self.stage, self.since_s, self.received = stage, time.monotonic(), 0

    @property
    def worth(self) -> tuple[int, float]:
        """The order in which connections end for want of room: strangers before others, the oldest before the newest."""
        return (2 if self.stage == "answering" else int(self.answered), self.since_s)

    def allowed_s(self, keep_alive_s: float) -> float:
        """The longest time in this stage."""
        if self.stage == "idle":
            return keep_alive_s + ENDING_S
        if self.stage == "ending":
            return ENDING_S
        if self.stage == "answering":
            return READING_S if self.protocol is not None and self.protocol.flow.write_paused else float("inf")
        asks = self.protocol is None or self.protocol.conn.their_state is h11.IDLE
        return HEADERS_S if asks else BODY_S + self.received / LEAST_BYTES_S

    def end(self) -> None:
        """Cut the connection; the event loop closes it in its next rounds."""
        self.ending = True
        if self.protocol is not None:
            self.protocol.transport.abort()
            return
        with suppress(OSError):  # Its client was faster.
            self.socket.shutdown(socket.SHUT_RDWR)


@dataclass(slots=True)
class Visits:
    """All connections of one server. `proxies`: addresses and networks that speak for many people."""

    keep_alive_s: float
    proxies: Sequence[str] = ()
    most: int = field(default_factory=lambda: most_connections())
    _by_peer: dict[Any, Visit] = field(default_factory=dict)
    _groups: dict[str, set[Visit]] = field(default_factory=dict)

    def of(self, peer: Any) -> Visit | None:
        """The connection from a peer's address and port."""
        return self._by_peer.get(peer)

    def room_for(self, error: OSError | None = None) -> bool:
        """True if one more connection has a place; else the least worth are ended, and there is room soon."""
        if error is None and len(self._by_peer) < self.most:
            return True
        self._forget_closed()
        if error is None and len(self._by_peer) < self.most:
            return True
        if not any(visit.ending for visit in self._by_peer.values()):
            self._end_some(max(self._groups.values(), key=len, default=set()))
        return False

    def add(self, accepted: socket.socket, peer: Any) -> None:
        """Count a connection, and end some of its address if these are too many."""
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ON_THE_WAY_BYTES)
        address = str(peer[0])
        visit = self._by_peer[peer] = Visit(accepted, household(address), time.monotonic())
        group = self._groups.setdefault(visit.group, set())
        group.add(visit)
        most = self.most if self._speaks_for_many(address) else min(MOST_OF_ONE, self.most)
        if len(group) > most and sum(not each.ending for each in group) > most:
            self._end_some(group)

    def gone(self, visit: Visit, peer: Any) -> None:
        """Forget a connection that is closed."""
        if self._by_peer.get(peer) is visit:
            del self._by_peer[peer]
        if (group := self._groups.get(visit.group)) is not None:
            group.discard(visit)
            if not group:
                del self._groups[visit.group]

    async def end_overdue(self) -> None:
        """End every connection whose time is over."""
        self._forget_closed()
        now_s = time.monotonic()
        for visit in list(self._by_peer.values()):
            if now_s - visit.since_s > visit.allowed_s(self.keep_alive_s):
                visit.end()

    def _forget_closed(self) -> None:
        for peer, visit in list(self._by_peer.items()):
            if visit.closed:
                self.gone(visit, peer)

    def _end_some(self, group: set[Visit]) -> None:
        staying = [visit for visit in group if not visit.ending]
        for visit in nsmallest(min(AT_ONCE, 1 + len(staying) // 2), staying, key=lambda visit: visit.worth):
            visit.end()

    def _speaks_for_many(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None) or found
        return any(mapped in ipaddress.ip_network(proxy) for proxy in self.proxies)


class Gate(socket.socket):
    """A listening socket that admits a connection only where there is room. Made of one that is bound, which it replaces."""

    def __init__(self, bound: socket.socket, visits: Visits) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        self._visits = visits

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; BlockingIOError, as if nobody came, until there is room for it."""
        if not self._visits.room_for():
            raise BlockingIOError
        try:
            accepted, peer = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._visits.room_for(error)
            raise BlockingIOError from error
        self._visits.add(accepted, peer)
        return accepted, peer


class Bounded(H11Protocol):
    """uvicorn's protocol, which says in which stage its connection is."""

    def __init__(self, visits: Visits, config: Config, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._visits = visits
        self._visit: Visit | None = None
        self._peer: Any = None
        """Noted while the connection is there: afterwards a TLS transport does not say."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = transport.get_extra_info("peername")
        self._visit = self._visits.of(self._peer)
        if self._visit is not None:
            self._visit.protocol = self

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._visit is not None:
            self._visits.gone(self._visit, self._peer)

    def data_received(self, data: bytes) -> None:
        visit = self._visit
        if visit is not None and visit.stage == "idle":
            visit.enter("asking")
        super().data_received(data)
        if visit is not None:
            visit.received += len(data)
            if visit.stage == "asking" and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                visit.enter("answering")

    def on_response_complete(self) -> None:
        whole = self.conn.their_state is not h11.SEND_BODY
        super().on_response_complete()
        if (visit := self._visit) is None:
            return
        visit.answered = visit.answered or whole
        if not whole or self.conn.our_state in (h11.CLOSED, h11.ERROR):
            visit.enter("ending")
        elif self.conn.their_state is h11.IDLE:
            visit.enter("asking" if self.conn.trailing_data[0] else "idle")
        else:
            visit.enter("asking" if self.conn.their_state is h11.SEND_BODY else "answering")

    def pause_writing(self) -> None:
        if self._visit is not None and self._visit.stage == "answering":
            self._visit.enter("answering")
        super().pause_writing()


def most_connections() -> int:
    """The bound on all connections, after the process took as many file descriptors as the system gives it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = round(MOST / SHARE_OF_FILES) if hard == resource.RLIM_INFINITY else min(hard, round(MOST / SHARE_OF_FILES))
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, int(soft * SHARE_OF_FILES))
