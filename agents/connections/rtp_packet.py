"""Packets of sound (RTP) and reports on them (RTCP) as aiortc reads and writes them, and the keys of a telephone.

Only the far end knows what arrived there. It reports this to whoever sends it sender reports, and from the stamp of one that it
returns follows the round trip. A key pressed is a run of packets with one timestamp (RFC 4733), the last of them sent three
times because any may be lost; it is noted once. Pure: no socket, no clock.
"""

import struct
from typing import Final

from aiortc import rtp

from harness.agents.connection import LineReport, Mark
from harness.agents.connections.rtp_stream import NS_PER_S, RtpPacket

_EVENT: Final = struct.Struct("!BBH")
_KEYS: Final = "0123456789*#ABCD"
KEYS_HZ: Final = 8_000
"""Clock of the durations of keys."""
_EPOCH_S: Final = 2_208_988_800
"""From 1900, where NTP counts from, to 1970."""
_NAME: Final = 1
"""RTCP's number of the item that names a source (CNAME)."""


def packed(payload_type: int, sequence: int, timestamp: int, source: int, payload: bytes, first: bool = False) -> bytes:
    """A packet as bytes. `first`: it begins a stretch of sound (the marker bit)."""
    return rtp.RtpPacket(payload_type, int(first), sequence & 0xFFFF, timestamp & 0xFFFFFFFF, source, payload).serialize()


def unpacked(data: bytes, arrival_ns: int) -> RtpPacket | None:
    """A packet from bytes; None if they are no RTP."""
    try:
        return None if rtp.is_rtcp(data) else stamped(rtp.RtpPacket.parse(data), arrival_ns)
    except ValueError:
        return None


def stamped(packet: rtp.RtpPacket, arrival_ns: int) -> RtpPacket:
    """aiortc's packet with its arrival."""
    return RtpPacket(
        packet.sequence_number, packet.timestamp, arrival_ns, bytes(packet.payload), packet.ssrc, packet.payload_type
    )


def sender_report(source: int, unix_ns: int, timestamp: int, packets: int, octets: int) -> bytes:
    """A sender's report with its name. `timestamp`: the media clock's at this time."""
    sent = rtp.RtcpSenderInfo(_ntp(unix_ns), timestamp & 0xFFFFFFFF, packets, octets & 0xFFFFFFFF)
    name = rtp.RtcpSdesPacket([rtp.RtcpSourceInfo(source, [(_NAME, b"caller")])])
    return bytes(rtp.RtcpSrPacket(source, sent)) + bytes(name)


def report_on(data: bytes, source: int, unix_ns: int, arrival_ns: int, clock_hz: int) -> LineReport | None:
    """The report on `source` in a packet that came at `unix_ns`; None if there is none."""
    try:
        parts = rtp.RtcpPacket.parse(data)
    except ValueError:
        return None
    for part in parts:
        for report in part.reports if isinstance(part, rtp.RtcpSrPacket | rtp.RtcpRrPacket) else ():
            if report.ssrc == source:
                return LineReport(
                    arrival_ns=arrival_ns,
                    round_trip_ms=_round_trip_ms(unix_ns, report.lsr, report.dlsr) if report.lsr else None,
                    sent_lost=max(0, report.packets_lost),
                    sent_jitter_ms=report.jitter * 1000 / clock_hz,
                )
    return None


def _ntp(unix_ns: int) -> int:
    """A time as NTP's 64 bits: seconds since 1900, and 32 bits of a second."""
    return (((unix_ns << 32) // NS_PER_S) + (_EPOCH_S << 32)) & 0xFFFFFFFFFFFFFFFF


def _round_trip_ms(unix_ns: int, stamp: int, since: int) -> float:
    """The time between two middle 32 bits of NTP's stamps, of which one second has 65,536."""
    parts = (_ntp(unix_ns) // 65_536 - stamp - since) & 0xFFFFFFFF
    return (parts - (1 << 32) if parts >= 1 << 31 else parts) * 1000 / 65_536


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
