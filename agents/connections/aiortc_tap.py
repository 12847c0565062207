"""Packets of sound as aiortc receives them, before its own jitter buffer.

aiortc hands out decoded frames four packets late and without the time at which they arrived, and waits for a lost packet
until its buffer of sixteen is full: right for a video call, useless for measuring one. Everything else of it (ICE, DTLS, SRTP,
RTCP) is used unchanged. The two names that are changed here are not public, so aiortc is pinned to one minor version.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.rtp_stream import RtpPacket

_HANDLER: Final = "_handle_rtp_packet"
_BUFFER: Final = "_RTCRtpReceiver__jitter_buffer"

OnPacket = Callable[[int, RtpPacket], None]
"""Called with the payload type and the packet."""


class _NoBuffer:
    """A buffer that accepts aiortc's packets but returns no frames, so that nothing is decoded twice."""

    def add(self, _: object) -> tuple[bool, None]:
        return False, None


def tap(receiver: Any, on_packet: OnPacket) -> None:
    """Give every packet of a receiver to `on_packet`, stamped on the monotonic clock.

    Raises:
        ConnectionFailed: this aiortc is not built as the one that was tested.
    """
    received = getattr(receiver, _HANDLER, None)
    if received is None or not hasattr(receiver, _BUFFER):
        raise ConnectionFailed("this version of aiortc is not known: pip install 'heart-voice-harness[webrtc]'", "defect")

    async def handle(packet: Any, arrival_time_ms: int) -> None:
        arrival_ns = time.monotonic_ns()
        read = RtpPacket(packet.sequence_number, packet.timestamp, arrival_ns, bytes(packet.payload), packet.ssrc)
        on_packet(packet.payload_type, read)
        await received(packet, arrival_time_ms=arrival_time_ms)

    setattr(receiver, _HANDLER, handle)
    setattr(receiver, _BUFFER, _NoBuffer())
