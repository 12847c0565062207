"""WAV files whose recorder was killed, or never knew the end: the sizes in the header are 0, or the largest number.

A recorder writes the sizes when it closes the file, so a killed one leaves what it wrote at the start: 0, or 0xFFFFFFFF, which
also streams have. Every sample is there. Decoders believe the header and find none. So such a file is read with other sizes in
its header, up to its end; the file itself is not changed. Layout of the chunks: Multimedia Programming Interface and Data
Specifications 1.0 (IBM and Microsoft, 1991).
"""

import io
import os
import struct
from pathlib import Path
from typing import Final

HEADER_BYTES: Final = 1 << 16
"""Bytes in which the chunk of the samples begins: before it are the format and a few names."""
UNSAID: Final = (0, 0xFFFFFFFF)
_RIFF_BYTES: Final = 12
_CHUNK_BYTES: Final = 8


class UnendedWav(io.RawIOBase):
    """A WAV file, with the sizes in its header as they must be."""

    def __init__(self, source: Path | bytes, header: bytes) -> None:
        self._file = io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")  # noqa: SIM115 (closed in close)
        self._header = header

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: "memoryview | bytearray", /) -> int:  # type: ignore[override]
        at = self._file.tell()
        found = self._file.read(len(buffer))
        buffer[: len(found)] = self._header[at : at + len(found)] + found[max(0, len(self._header) - at) :]
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()


def unended_wav(source: Path | bytes) -> UnendedWav | None:
    """The file with its sizes mended; None for one that is no WAV, or whose header says how long its samples are."""
    if isinstance(source, bytes):
        start, size = source[:HEADER_BYTES], len(source)
    else:
        with open(source, "rb") as file:
            start, size = file.read(HEADER_BYTES), os.fstat(file.fileno()).st_size
    at = _samples_chunk(start)
    if at is None or struct.unpack_from("<I", start, at + 4)[0] not in UNSAID or size <= at + _CHUNK_BYTES:
        return None
    header = bytearray(start[: at + _CHUNK_BYTES])
    struct.pack_into("<I", header, 4, min(size - 8, 0xFFFFFFFE))
    struct.pack_into("<I", header, at + 4, min(size - at - _CHUNK_BYTES, 0xFFFFFFFE))
    return UnendedWav(source, bytes(header))


def _samples_chunk(start: bytes) -> int | None:
    """Where the chunk of the samples begins."""
    if start[:4] != b"RIFF" or start[8:_RIFF_BYTES] != b"WAVE":
        return None
    at = _RIFF_BYTES
    while at + _CHUNK_BYTES <= len(start):
        name, size = start[at : at + 4], struct.unpack_from("<I", start, at + 4)[0]
        if name == b"data":
            return at
        at += _CHUNK_BYTES + size + size % 2
    return None
