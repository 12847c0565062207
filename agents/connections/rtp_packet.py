"""Packets of RTP as bytes (RFC 3550), and the keys of a telephone among them (RFC 4733).

A key pressed is a run of packets with one timestamp, the last of them sent three times because any may be lost; it is noted
once. Pure: no socket, no clock.
"""

import struct
from typing import Final

from harness.agents.connection import Mark
from harness.agents.connections.rtp_stream import RtpPacket

_HEADER: Final = struct.Struct("!BBHII")
_EVENT: Final = struct.Struct("!BBH")
_VERSION: Final = 2
_KEYS: Final = "0123456789*#ABCD"
_RTCP: Final = range(64, 96)
"""Payload types that would be taken for RTCP on the same port (RFC 5761)."""
KEYS_HZ: Final = 8_000
"""Clock of the durations of keys."""


def packed(payload_type: int, sequence: int, timestamp: int, source: int, payload: bytes, first: bool = False) -> bytes:
    """A packet as bytes. `first`: it begins a stretch of sound (the marker bit)."""
    second = payload_type | (0x80 if first else 0)
    return _HEADER.pack(_VERSION << 6, second, sequence & 0xFFFF, timestamp & 0xFFFFFFFF, source) + payload


def unpacked(data: bytes, arrival_ns: int) -> RtpPacket | None:
    """A packet from bytes; None if they are no RTP."""
    if len(data) < _HEADER.size:
        return None
    flags, second, sequence, timestamp, source = _HEADER.unpack_from(data)
    if flags >> 6 != _VERSION or second & 0x7F in _RTCP:
        return None
    start = _HEADER.size + 4 * (flags & 0x0F)
    if flags & 0x10:
        if len(data) < start + 4:
            return None
        start += 4 + 4 * int.from_bytes(data[start + 2 : start + 4], "big")
    end = len(data) - (data[-1] if flags & 0x20 else 0)
    if not start <= end:
        return None
    return RtpPacket(sequence, timestamp, arrival_ns, data[start:end], source, second & 0x7F)


class Keypad:
    """The keys that the far end presses, each as one mark `sip.dtmf`."""

    def __init__(self) -> None:
        self._pressed: tuple[int, int] | None = None
        """Timestamp and number of the key whose packets come; None between keys."""
        self._noted: tuple[int, int] | None = None
        self._began_ns = 0
        self._arrival_ns = 0
        self._ticks = 0

    def take(self, packet: RtpPacket) -> list[Mark]:
        """Take a packet, in order; returns the key that ended with it, and one before it whose end was lost."""
        if len(packet.payload) < _EVENT.size:
            return []
        number, flags, ticks = _EVENT.unpack_from(packet.payload)
        key = (packet.timestamp, number)
        if key == self._noted:
            return []
        ended = self.flush() if key != self._pressed else []
        if key != self._pressed:
            self._pressed, self._began_ns = key, packet.arrival_ns
        self._ticks, self._arrival_ns = ticks, packet.arrival_ns
        return ended + self.flush() if flags & 0x80 else ended

    def flush(self) -> list[Mark]:
        """The key that is still pressed, because no more packets will come."""
        if self._pressed is None:
            return []
        self._noted, self._pressed = self._pressed, None
        number = self._noted[1]
        digit = _KEYS[number] if number < len(_KEYS) else f"event {number}"
        detail = {"digit": digit, "duration_ms": self._ticks * 1000 / KEYS_HZ, "stamped": "arrival"}
        return [Mark("sip.dtmf", self._began_ns, self._arrival_ns, detail)]
