"""The check for addresses of this machine, and their ports.

An agent that is reached by an address shares the processor all the same where that address is this machine's own:
`localhost`, its name, or an address of one of its network interfaces. What a tunnel or a port-forward serves here counts as
here too, because an address does not show its real target.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator
from functools import cache
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import psutil

_ADDRESS: Final = re.compile(r"\b(?:[a-z]{2,6}://|sip:)[^\s\"'<>]+", re.IGNORECASE)
_SIP: Final = re.compile(r"^(sip):(?!//)([^;?]*).*", re.IGNORECASE | re.DOTALL)
"""A telephone's address has no slashes, and parameters behind its port."""
_USUAL: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443, "sip": 5060}


def free_port() -> int:
    """A port of this machine that nothing listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_this_machine(url: str) -> bool:
    """True where the host of an address is this machine; False also for a name that leads nowhere now."""
    try:
        host = _parts(url).hostname
    except ValueError:
        return False
    return host is not None and _is_here(host.rstrip(".").lower())


def local_ports(settings: Any) -> frozenset[int]:
    """The ports of this machine that appear in any address anywhere in a profile's settings: those it speaks to."""
    found: set[int] = set()
    for text in _texts(settings):
        for address in _ADDRESS.findall(text):
            try:
                parts = _parts(address)
                port = parts.port or _USUAL.get(parts.scheme.lower())
            except ValueError:  # a place to be filled in: ws://localhost:{port}/
                continue
            if port is not None and is_this_machine(address):
                found.add(port)
    return frozenset(found)


def _parts(address: str) -> SplitResult:
    return urlsplit(_SIP.sub(r"\1://\2", address))


@cache
def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost") or host in _own_names():
        return True
    try:
        return _is_own(host)
    except ValueError:
        pass
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return bool(addresses) and all(_is_own(address) for address in addresses)


def _is_own(address: str) -> bool:
    """True if a numeric address belongs to this machine.

    Raises:
        ValueError: it is no address in numbers.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    return found.is_loopback or found.is_unspecified or found in _own_addresses()


@cache
def _own_names() -> frozenset[str]:
    return frozenset(name.lower() for name in (socket.gethostname(),) if name)


@cache
def _own_addresses() -> frozenset[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    found = set()
    for addresses in psutil.net_if_addrs().values():
        for entry in addresses:
            if entry.family in (socket.AF_INET, socket.AF_INET6):
                found.add(ipaddress.ip_address(entry.address.partition("%")[0]))
    return frozenset(found)


def _texts(settings: Any) -> Iterator[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, dict):
        for value in settings.values():
            yield from _texts(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _texts(value)


def is_loopback(url: str) -> bool:
    """True for `localhost` and the loopback addresses, with any scheme.

    Proxies cannot reach these, and they can be probed before a run. Machines behind a company's proxy name it in the
    environment, and HTTP libraries obey, even for `localhost`.
    """
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
