"""Opus as used in calls (RFC 6716, RFC 7587): packets to samples, and 20 ms of samples to a packet.

Both by libopus through PyAV. A lost packet is silence and not a guess of its content, because what a listener's player
would invent differs from player to player, and a measurement must not hear what was not sent.
"""

from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

CLOCK_HZ: Final = 48_000
"""Rate of the media clock, for any rate of the sound (RFC 7587, section 4.1)."""
MAX_GARBAGE: Final = 50
"""Most packets in a row that are not Opus: a second of them is not an accident."""


def _codec(direction: Literal["r", "w"], rate_hz: int) -> Any:
    from av import CodecContext

    codec: Any = CodecContext.create("libopus", direction)
    codec.format, codec.layout, codec.sample_rate = "s16", "mono", rate_hz
    return codec


class OpusDecoder:
    """One stream, mono at 48 kHz."""

    def __init__(self) -> None:
        self._decoder = _codec("r", CLOCK_HZ)
        self._garbage = 0

    @property
    def hopeless(self) -> bool:
        """True if the packets are not Opus at all."""
        return self._garbage >= MAX_GARBAGE

    def decode(self, payload: bytes) -> bytes | None:
        """A packet as PCM16LE; None if it is not Opus."""
        from av import FFmpegError, Packet

        try:
            frames = self._decoder.decode(Packet(payload))
        except (FFmpegError, ValueError):
            self._garbage += 1
            return None
        self._garbage = 0
        return b"".join(frame.to_ndarray().astype("<i2").tobytes() for frame in frames)


class OpusVoice(OpusDecoder):
    """Both directions, mono; 20 ms are a packet, which holds the sound up to 6.5 ms before its end (libopus looks ahead)."""

    def __init__(self, rate_hz: int) -> None:
        """Make a voice. `rate_hz`: rate of the frames, one that Opus codes (8, 12, 16, 24 or 48 kHz)."""
        super().__init__()
        self._rate_hz = rate_hz
        self._at = 0
        self._encoder = _codec("w", rate_hz)
        self._encoder.time_base = Fraction(1, rate_hz)
        self._encoder.options = {"application": "voip"}

    def encode(self, pcm: bytes) -> bytes:
        """A packet for 20 ms of PCM16LE."""
        from av import AudioFrame

        samples = np.frombuffer(pcm, "<i2")
        frame = AudioFrame.from_ndarray(samples[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = self._rate_hz, self._at, Fraction(1, self._rate_hz)
        self._at += len(samples)
        return b"".join(bytes(packet) for packet in self._encoder.encode(frame))
