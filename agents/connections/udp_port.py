"""UDP ports that stamp what they read, and that learn when nothing listens at the other end.

The system is told when a packet reaches a closed port (ICMP), but passes that on to a socket without a fixed partner only if
it asks (Linux, `IP_RECVERR`). Without that, a wrong address would be a call that nobody answers, and an agent that died in a
call would be one that is silent.
"""

import asyncio
import contextlib
import ipaddress
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Self

Address = tuple[str, int]
Take = Callable[[bytes, Address, int], None]
"""Called with a packet, its sender, and its arrival in ns of the monotonic clock."""

_RECVERR: Final = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}
"""Linux's IP_RECVERR and IPV6_RECVERR, which Python 3.11 has no names for."""
_TRIES: Final = 50


class UdpPort(asyncio.DatagramProtocol):
    """One bound port."""

    def __init__(self, bound: socket.socket, take: Take, refused: Callable[[], None]) -> None:
        self._socket = bound
        self._take = take
        self._refused = refused
        self._transport: asyncio.BaseTransport | None = None

    @classmethod
    async def open(cls, bound: socket.socket, take: Take, refused: Callable[[], None] = lambda: None) -> Self:
        """A port on a bound socket. `refused` is called when nothing listens where a packet was sent."""
        port = cls(bound, take, refused)
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: port, sock=bound)
        return port

    @property
    def address(self) -> Address:
        """Its own address."""
        name = self._socket.getsockname()
        return str(name[0]), int(name[1])

    def send(self, data: bytes, to: Address) -> None:
        """Send a packet now. One that the system does not take is lost, as on the way."""
        for _ in range(2):
            try:
                self._socket.sendto(data, to)
            except BlockingIOError:
                return
            except OSError:
                # It may be the report on an earlier packet, in place of which this one was not sent.
                self._learn()
            else:
                return

    def close(self) -> None:
        """Close it. Safe to call twice."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        arrival_ns = time.monotonic_ns()
        self._take(data, (str(addr[0]), int(addr[1])), arrival_ns)

    def error_received(self, exc: Exception) -> None:
        del exc
        self._learn()

    def _learn(self) -> None:
        if sys.platform == "linux":
            # A report that is not taken from its queue would wake the loop for ever.
            with contextlib.suppress(OSError):
                while True:
                    self._socket.recvmsg(512, 512, socket.MSG_ERRQUEUE)
        self._refused()


def bound_socket(host: str, port: int = 0) -> socket.socket:
    """A socket bound to an address of this machine, for `UdpPort`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_DGRAM)
    try:
        made.setblocking(False)
        if sys.platform == "linux":
            made.setsockopt(*_RECVERR[family], 1)
        made.bind((host, port))
    except BaseException:
        made.close()
        raise
    return made


def bound_pair(host: str) -> tuple[socket.socket, socket.socket]:
    """Two sockets on neighbouring ports, the first even: for RTP and its RTCP."""
    for _ in range(_TRIES):
        first = bound_socket(host)
        port = first.getsockname()[1]
        if port % 2 == 0:
            with contextlib.suppress(OSError):
                return first, bound_socket(host, port + 1)
        first.close()
    raise OSError("no two neighbouring UDP ports are free")


async def resolved(host: str, port: int) -> Address:
    """The address of a name, in numbers; of several, one of IPv4.

    Raises:
        OSError: there is no machine of that name.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_DGRAM)
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    del family
    return str(address[0]), port


def own_address(towards: Address) -> str:
    """The address of this machine from which packets to the address given leave.

    Raises:
        OSError: no way leads there.
    """
    family = socket.AF_INET6 if ":" in towards[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(towards)
        return str(probe.getsockname()[0])


def way_to(said: Address, seen: Address) -> Address:
    """The address to send to: the one that the far end says, unless it is private and the one seen is not (NAT)."""
    try:
        hidden = ipaddress.ip_address(said[0]).is_private and not ipaddress.ip_address(seen[0]).is_private
    except ValueError:  # a name in place of an address
        return seen
    return seen if hidden else said
