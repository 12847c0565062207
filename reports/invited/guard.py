"""First checks of a request: this server's own name, changes only from its own pages, and a limited rate.

A browser reports the origin of a request (`Sec-Fetch-Site`, `Origin`), and no page can falsify it; so a change that another
site sends is refused whatever its cookie. A client that reports neither is not a browser, and sends nobody's cookie unasked.
"""

import ipaddress
import threading
from collections import deque
from collections.abc import Mapping

WINDOW_S = 60.0
MOST_ADDRESSES = 10_000


def from_here(headers: Mapping[str, str], scheme: str, origin: str | None) -> bool:
    """True if a request that changes something comes from a page of this server. `origin`: its own, if known."""
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    sender = headers.get("origin")
    return sender is None or sender.lower() == (origin or f"{scheme}://{headers.get('host', '')}").lower()


class Ceiling:
    """A limit for sessions begun per address and minute. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def admits(self, address: str, now_s: float) -> bool:
        """True if one more may begin, which is then counted."""
        who = household(address)
        with self._lock:
            if len(self._begun) >= MOST_ADDRESSES:
                self._begun = {known: times for known, times in self._begun.items() if times[-1] > now_s - WINDOW_S}
            times = self._begun.setdefault(who, deque())
            while times and times[0] <= now_s - WINDOW_S:
                times.popleft()
            if len(times) >= self._most:
                return False
            times.append(now_s)
            return True


def household(address: str) -> str:
    """The network of one subscriber: with IPv6 at least a /64, because all its addresses belong to one person."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
