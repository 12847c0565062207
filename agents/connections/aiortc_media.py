"""The caller's side of a WebRTC call in aiortc's terms: a track that plays what it is given, Opus as the one codec, and
packets as they arrive.

It is separate from `harness.agents.connections.webrtc` because its import needs aiortc, which a reader of a profile may
not have.
"""

import asyncio
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from aiortc import RTCRtpSender
from aiortc.mediastreams import MediaStreamTrack
from aiortc.sdp import SessionDescription
from av import AudioFrame

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.opus import CLOCK_HZ
from harness.agents.connections.rtp_packet import stamped
from harness.agents.connections.rtp_stream import RtpPacket
from harness.installation import install_command


class Microphone(MediaStreamTrack):
    """A track that sends 20 ms frames as they come: the pace is the caller's."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._at = 0

    @property
    def waiting(self) -> int:
        """The number of frames that wait to be sent."""
        return self._frames.qsize()

    def say(self, pcm: bytes) -> None:
        """Send PCM16LE mono at 48 kHz."""
        self._frames.put_nowait(pcm)

    async def recv(self) -> AudioFrame:
        """The next frame, for aiortc."""
        samples = np.frombuffer(await self._frames.get(), "<i2")
        frame = AudioFrame.from_ndarray(samples[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = CLOCK_HZ, self._at, Fraction(1, CLOCK_HZ)
        self._at += len(samples)
        return frame


def opus_alone() -> list[Any]:
    """The codecs that the caller offers: Opus only, because every other one has a narrower band."""
    return [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType.lower() == "audio/opus"]


def opus_of(answer: str) -> int:
    """The payload type under which an answer (SDP) sends Opus.

    Raises:
        ConnectionFailed: it agrees to no sound, or to none in Opus.
    """
    try:
        media = [part for part in SessionDescription.parse(answer).media if part.kind == "audio"]
    except Exception as error:
        raise ConnectionFailed("the answer is no session description (SDP): is it a WebRTC address?", "garbage") from error
    if not media or media[0].port == 0:
        raise ConnectionFailed("it agrees to no sound at all: is audio switched on in its transport?", "codec")
    for codec in media[0].rtp.codecs:
        if codec.mimeType.lower() == "audio/opus" and codec.payloadType is not None:
            return codec.payloadType
    named = ", ".join(sorted({codec.name for codec in media[0].rtp.codecs})) or "none"
    raise ConnectionFailed(f"no codec in common: Opus was offered, and it answers with {named}", "codec")


_HANDLER: Final = "_handle_rtp_packet"
_BUFFER: Final = "_RTCRtpReceiver__jitter_buffer"


class _NoBuffer:
    """A buffer that accepts aiortc's packets but returns no frames, so that nothing is decoded twice."""

    def add(self, _: object) -> tuple[bool, None]:
        return False, None


def tap(receiver: Any, on_packet: Callable[[RtpPacket], None]) -> None:
    """Give every packet of a receiver to `on_packet`, stamped on the monotonic clock.

    They are taken before aiortc's own jitter buffer. aiortc hands out decoded frames four packets late and without the time
    at which they arrived, and waits for a lost packet until its buffer of sixteen is full: right for a video call, useless
    for measuring one. Everything else of it (ICE, DTLS, SRTP, RTCP) is used unchanged. The two names that are changed here are
    not public, so aiortc is pinned to one minor version.

    Raises:
        ConnectionFailed: this aiortc is not built as the one that was tested.
    """
    received = getattr(receiver, _HANDLER, None)
    if received is None or not hasattr(receiver, _BUFFER):
        raise ConnectionFailed(f"this version of aiortc is not known: {install_command('webrtc')}", "defect")

    async def handle(packet: Any, arrival_time_ms: int) -> None:
        on_packet(stamped(packet, time.monotonic_ns()))
        await received(packet, arrival_time_ms=arrival_time_ms)

    setattr(receiver, _HANDLER, handle)
    setattr(receiver, _BUFFER, _NoBuffer())
