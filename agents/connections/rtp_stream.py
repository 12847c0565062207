"""Sound packets in the order of sending, with their position on the sender's clock (RTP, RFC 3550).

The network may swap packets, repeat them, or lose them. They are put in order here, and no more: when each would be *heard*
is a model of a listener's player and belongs to `harness.recording.playout`, which is given what happened (arrivals, media
clock, losses), so that a better model can be applied to an old recording. So waiting for a missing packet delays nobody's
figures; it only delays when the caller's own logic learns of the sound. Whatever numbers the far end gives, a packet costs the
same: those that wait are few, and in a heap. Pure: no socket, no clock.
"""

import heapq
from dataclasses import dataclass
from typing import Final

NS_PER_S: Final = 1_000_000_000
HOLD_NS: Final = 60_000_000
"""Longest wait of packets for a missing one before them: three of the usual 20 ms, about what adaptive jitter buffers begin
with (NetEQ starts at 80 ms and shrinks)."""
MOST_HELD: Final = 512
"""Most packets that wait for a missing one: over a second of the shortest usual ones (2.5 ms, Opus), twenty times `HOLD_NS`."""
JUMP_S: Final = 5.0
"""Largest jump of a media clock; after a larger one it was restarted (a new source, a transfer)."""
_SEQUENCES: Final = 1 << 16
_TIMESTAMPS: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One packet as it came: `timestamp` counts samples of the media clock, modulo 2**32; `sequence` modulo 2**16."""

    sequence: int
    timestamp: int
    arrival_ns: int
    payload: bytes
    source: int = 0
    payload_type: int = 0
    """The agreed number of its codec, where a stream may hold more than one kind of packet."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """A packet in order: its position on the media clock, and the number of lost packets before it."""

    packet: RtpPacket
    media_ns: int
    lost_before: int


class RtpStream:
    """One direction of a call."""

    def __init__(self, clock_hz: int) -> None:
        self._clock_hz = clock_hz
        self._source: int | None = None
        self._next: int | None = None
        """Extended sequence number of the next packet."""
        self._held: dict[int, RtpPacket] = {}
        self._order: list[int] = []
        """Their numbers, as a heap."""
        self._newest_ns = 0
        """Latest arrival of those that are not late."""
        self._last_timestamp = 0
        self._media_ns = 0
        self._last_arrival_ns = 0
        self.late = 0
        """Packets that came too late or twice."""

    def add(self, packet: RtpPacket) -> list[Ordered]:
        """Take a packet; returns those that are now in order."""
        released: list[Ordered] = []
        if packet.source != self._source and self._source is not None:
            released = self.flush()
            self._next = None
        self._source = packet.source
        if self._next is None:
            self._next = packet.sequence + _SEQUENCES
        number = self._next + _nearest(packet.sequence - self._next, _SEQUENCES)
        if number < self._next or number in self._held:
            self.late += 1
            return released
        self._held[number] = packet
        heapq.heappush(self._order, number)
        self._newest_ns = max(self._newest_ns, packet.arrival_ns)
        while self._order and self._is_due(self._order[0]):
            released.append(self._release())
        return released

    def flush(self) -> list[Ordered]:
        """All waiting packets, because no more will come."""
        return [self._release() for _ in range(len(self._order))]

    def _is_due(self, first: int) -> bool:
        waited_ns = self._newest_ns - self._held[first].arrival_ns
        return first == self._next or waited_ns >= HOLD_NS or len(self._order) > MOST_HELD

    def _release(self) -> Ordered:
        assert self._next is not None
        number = heapq.heappop(self._order)
        packet = self._held.pop(number)
        lost, self._next = number - self._next, number + 1
        return Ordered(packet, self._place(packet), lost)

    def _place(self, packet: RtpPacket) -> int:
        if self._last_arrival_ns:
            step = _nearest(packet.timestamp - self._last_timestamp, _TIMESTAMPS)
            if abs(step) > JUMP_S * self._clock_hz:
                self._media_ns += max(0, packet.arrival_ns - self._last_arrival_ns)
            else:
                self._media_ns += round(step * NS_PER_S / self._clock_hz)
        self._last_timestamp, self._last_arrival_ns = packet.timestamp, packet.arrival_ns
        return self._media_ns


def _nearest(difference: int, modulus: int) -> int:
    """A difference of two counters that wrap, as the shorter way round."""
    return (difference + modulus // 2) % modulus - modulus // 2
