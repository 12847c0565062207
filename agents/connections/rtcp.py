"""The far end's report on the packets that it receives (RTCP, RFC 3550): the round trip, and what it missed of the caller.

Only the far end knows what arrived there. It reports this to whoever sends it sender reports, and from the stamp of one that it
returns follows the round trip. Pure: no socket, no clock.
"""

import struct
from typing import Final

from harness.agents.connection import LineReport

_SENDER: Final = 200
_RECEIVER: Final = 201
_NAMES: Final = 202
_BLOCK: Final = struct.Struct("!IIIIII")
_HEAD: Final = struct.Struct("!BBHI")
_SENT: Final = struct.Struct("!IIIII")
_EPOCH_S: Final = 2_208_988_800
"""From 1900, where NTP counts from, to 1970."""
_SHORT: Final = 65_536
"""Parts of a second in the middle 32 bits of a stamp."""


def sender_report(source: int, unix_ns: int, timestamp: int, packets: int, octets: int) -> bytes:
    """A sender's report with its name. `timestamp`: the media clock's at this time."""
    seconds, rest_ns = divmod(unix_ns, 1_000_000_000)
    head = _HEAD.pack(0x80, _SENDER, 6, source)
    sent = _SENT.pack(
        (seconds + _EPOCH_S) & 0xFFFFFFFF,
        (rest_ns << 32) // 1_000_000_000,
        timestamp & 0xFFFFFFFF,
        packets,
        octets & 0xFFFFFFFF,
    )
    name = b"caller"
    item = bytes((1, len(name))) + name
    item += bytes(4 - len(item) % 4)
    return head + sent + _HEAD.pack(0x81, _NAMES, 1 + len(item) // 4, source) + item


def report_on(data: bytes, source: int, unix_ns: int, arrival_ns: int, clock_hz: int) -> LineReport | None:
    """The report on `source` in a packet that came at `unix_ns`; None if there is none."""
    at = 0
    while at + 8 <= len(data):
        flags, kind, words, _ = _HEAD.unpack_from(data, at)
        end = at + 4 * (words + 1)
        if flags >> 6 != 2 or end > len(data):
            return None
        start = at + 8 + (_SENT.size if kind == _SENDER else 0)
        blocks = range(start, min(end, start + _BLOCK.size * (flags & 0x1F)) - _BLOCK.size + 1, _BLOCK.size)
        for block in blocks if kind in (_SENDER, _RECEIVER) else ():
            about, lost, _, jitter, stamp, since = _BLOCK.unpack_from(data, block)
            if about == source:
                missed = lost & 0xFFFFFF
                return LineReport(
                    arrival_ns=arrival_ns,
                    round_trip_ms=_round_trip_ms(unix_ns, stamp, since) if stamp else None,
                    sent_lost=0 if missed & 0x800000 else missed,
                    sent_jitter_ms=jitter * 1000 / clock_hz,
                )
        at = end
    return None


def _round_trip_ms(unix_ns: int, stamp: int, since: int) -> float:
    now = (unix_ns * _SHORT // 1_000_000_000 + _EPOCH_S * _SHORT) & 0xFFFFFFFF
    parts = (now - stamp - since) & 0xFFFFFFFF
    return (parts - (1 << 32) if parts >= 1 << 31 else parts) * 1000 / _SHORT
