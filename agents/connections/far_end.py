"""The sender of a call's sound: whose packets are taken, and where the caller's own are sent.

A port for sound is open to every program that can reach it, so packets count only if they come from the machine that was
dialled: from the address in its description, or from that of its signalling. Of its ports the first to send is followed, for
NAT and agents without symmetric RTP use another than they describe, until a packet comes from the described one, which is
final. Where the described address is private and the signalling's is not, the agent is behind NAT and what its packets will
bear is not known; then the first public sender is followed. Reports (RTCP) have ports of their own, so for them the machine
counts alone, and they name this call's random source. Pure: no socket, no clock.
"""

import ipaddress
from typing import Final

from harness.agents.connections.udp_port import Address, way_to

_NOWHERE: Final = ("0.0.0.0", "::")
"""The address of a call on hold, in older descriptions."""


class FarEnd:
    """The far end of one call. `said`: the address in its description; `signalled_from`: the IP address of its signalling."""

    def __init__(self, said: Address, signalled_from: str) -> None:
        self._signalled_from = _plain(signalled_from)
        self._followed: Address | None = None
        self._final = False
        self.strangers = 0
        """Packets that came from elsewhere, and were not taken."""
        self.move(said)

    def move(self, said: Address) -> None:
        """It has described another address; nobody is followed yet, unless it is the one of a call on hold."""
        self._said = said
        self.to = said
        if said[0] not in _NOWHERE and self._followed is not None and _same(self._followed) != _same(said):
            self._followed, self._final = None, False

    def takes(self, sender: Address) -> bool:
        """True if a packet of sound from this sender belongs to the call; others are counted."""
        exact = _same(sender) == _same(self._said)
        if exact and not self._final:
            self._followed, self._final = sender, True
        if self._followed is None and self._is_its_machine(sender):
            self._followed = sender
        if self._followed is None or _same(sender) != _same(self._followed):
            self.strangers += 1
            return False
        self.to = way_to(self.to, sender)
        return True

    def takes_report(self, sender: Address) -> bool:
        """True if a report from this sender may belong to the call."""
        followed = self._followed is not None and _plain(sender[0]) == _plain(self._followed[0])
        return followed or self._is_its_machine(sender)

    def _is_its_machine(self, sender: Address) -> bool:
        host = _plain(sender[0])
        hidden = _is_private(self._said[0]) and not _is_private(self._signalled_from)
        return host in (_plain(self._said[0]), self._signalled_from) or (hidden and not _is_private(host))


def _same(address: Address) -> Address:
    return _plain(address[0]), address[1]


def _plain(host: str) -> str:
    """An IP address in one spelling, without the zone of a link."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(_plain(host)).is_private
    except ValueError:
        return False
