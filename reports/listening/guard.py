"""Who may ask, before anything is looked up: requests by this server's own name, changes from its own pages, and not too many.

A browser says where a request comes from (`Sec-Fetch-Site`, `Origin`), and no page can make it lie; so a change that another
site sends is refused whatever cookie comes with it. What says neither is no browser, and carries nobody's cookie unasked.
"""

import ipaddress
import threading
from collections import deque
from collections.abc import Mapping

WINDOW_S = 60.0
MOST_ADDRESSES = 10_000


def from_here(headers: Mapping[str, str], scheme: str, origin: str | None) -> bool:
    """Whether a request that changes something comes from a page of this server. `origin`: its own, where it is known."""
    site = headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    sender = headers.get("origin")
    return sender is None or sender.lower() == (origin or f"{scheme}://{headers.get('host', '')}").lower()


class Ceiling:
    """So many sessions begun per address and minute. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def admits(self, address: str, now_s: float) -> bool:
        """Whether one more may begin; counted when it may."""
        who = _household(address)
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


def _household(address: str) -> str:
    """One subscriber of IPv6 has at least a /64 of addresses, and could begin from each."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
