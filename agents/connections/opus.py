"""Opus as lines of calls carry it (RFC 6716, RFC 7587): packets to samples.

Decoded by libopus through PyAV. A lost packet is silence and not a guess of what it held, because what a listener's player
would invent differs from player to player, and a measurement must not hear what was not sent.
"""

from typing import Any, Final

CLOCK_HZ: Final = 48_000
"""Of the media clock, whatever the rate of the sound (RFC 7587, section 4.1)."""
MAX_GARBAGE: Final = 50
"""Packets in a row that are no Opus: a second of them is no accident of the line."""


class OpusDecoder:
    """One stream, mono at 48 kHz."""

    def __init__(self) -> None:
        from av import CodecContext

        self._codec: Any = CodecContext.create("libopus", "r")
        self._codec.format = "s16"
        self._codec.layout = "mono"
        self._codec.sample_rate = CLOCK_HZ
        self._garbage = 0

    @property
    def hopeless(self) -> bool:
        """Whether what comes is no Opus at all."""
        return self._garbage >= MAX_GARBAGE

    def decode(self, payload: bytes) -> bytes | None:
        """A packet as PCM16LE; None where it is no Opus."""
        from av import FFmpegError, Packet

        try:
            frames = self._codec.decode(Packet(payload))
        except (FFmpegError, ValueError):
            self._garbage += 1
            return None
        self._garbage = 0
        return b"".join(frame.to_ndarray().astype("<i2").tobytes() for frame in frames)
