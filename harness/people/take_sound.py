"""A recording as a WAV file, read from its parts while it is sent.

Many people may listen to their recordings at once, over slow lines. A file that is made in memory stays there until its last
byte has left; here a listener costs one part.
"""

import io
import wave
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.people.part_files import StoredPart, samples_of

BYTES_A_SAMPLE = 2


@dataclass(frozen=True, slots=True)
class WavStream:
    """The pieces of a WAV file, and its size in bytes."""

    size: int
    pieces: Iterator[bytes]


def wav_stream(parts: Iterable[StoredPart], rate_hz: int) -> WavStream:
    """A WAV file (one channel, 16 bits) of these parts, with silence where one is missing."""
    ordered = sorted(parts, key=lambda part: part.first)
    frames = max(part.end for part in ordered) - ordered[0].first
    header = _header(frames, rate_hz)
    return WavStream(len(header) + BYTES_A_SAMPLE * frames, _pieces(header, ordered))


def _pieces(header: bytes, ordered: Sequence[StoredPart]) -> Iterator[bytes]:
    yield header
    reached = ordered[0].first
    for part in ordered:
        if part.end <= reached:
            continue
        if part.first > reached:
            yield bytes(BYTES_A_SAMPLE * (part.first - reached))
        try:
            yield samples_of(part).tobytes()[BYTES_A_SAMPLE * max(0, reached - part.first) :]
        except FileNotFoundError:  # Its speaker has withdrawn meanwhile.
            yield bytes(BYTES_A_SAMPLE * (part.end - max(reached, part.first)))
        reached = part.end


def _header(frames: int, rate_hz: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, BYTES_A_SAMPLE, rate_hz, frames, "NONE", ""))
        file.writeframesraw(b"")
        return out.getvalue()
