"""Sound of files that others give, read in blocks and never further than its purpose needs.

A few hundred kilobytes of FLAC can contain days of sound in eight channels, and the length, the rate and the channels in a
header are only its writer's claims. So the claims are compared with the purpose's bounds before a sample is decoded, and what
is decoded goes block by block into an array of the bounded size. Memory then follows from what the purpose allows, and never
from the file.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import soundfile

from harness.audio.pcm import Float32, Int16, to_int16
from harness.audio.unended_wav import unended_wav

BLOCK_FRAMES: Final = 65_536
"""Frames decoded at once: half a megabyte of two channels, and few enough calls that an hour is read at the decoder's speed."""
USUAL_HZ: Final = 48_000
"""The rate at which a bound on length is meant; a file of a higher rate may last correspondingly less."""
HIGHEST_HZ: Final = 192_000
"""Highest rate of converters that people record with; FLAC's headers can claim 655,350 Hz."""

CUT_OFF_S: Final = 1.0
"""Missing end from which a file is damaged. The length of an MP3 without a header is an estimate."""

_UNKNOWN: Final = (1 << 63) - 1
"""libsndfile's number of samples where the writer of a stream did not know its end."""

FaultKind = Literal["unreadable", "low_rate", "high_rate", "channels", "too_long", "damaged", "empty", "no_numbers"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The sound that a purpose takes."""

    longest_s: float
    most_channels: int = 2
    least_hz: int = 1
    at_hz: int = USUAL_HZ
    """The rate at which a file may be the longest."""

    @property
    def most_frames(self) -> int:
        """Most samples of a channel."""
        return int(self.longest_s * self.at_hz)


@dataclass(frozen=True, slots=True)
class _Claims:
    """What a file's header claims. `frames`: samples of a channel."""

    rate_hz: int
    channels: int
    frames: int
    kind: str


class SoundFault(ValueError):
    """A file that a purpose cannot take; the message is a clause without the file's name. `channels`: how many it claims, 0
    where it cannot be read."""

    def __init__(self, kind: FaultKind, why: str, channels: int = 0) -> None:
        super().__init__(why)
        self.kind = kind
        self.channels = channels


def read_int16(source: Path | bytes, bounds: Bounds) -> tuple[Int16, int]:
    """The samples, a row for each channel, and the rate. Floats are rounded, and clipped where they are beyond full scale.

    >>> samples, rate_hz = read_int16(flac(np.array([1, 2, 3], np.int16), 16_000), Bounds(longest_s=60))
    >>> samples.tolist(), rate_hz
    ([[1, 2, 3]], 16000)

    Raises:
        SoundFault: it is no sound, is damaged, or is outside the bounds.
    """
    return _read(source, bounds, "int16")


def read_float(source: Path | bytes, bounds: Bounds) -> tuple[Float32, int]:
    """The same as float32 in [-1, 1)."""
    return _read(source, bounds, "float32")


def flac(samples: Int16, rate_hz: int, comment: str = "") -> bytes:
    """A FLAC file of (frames,) or (frames, channels). In memory, because on a full disk libsndfile's own error ("System error")
    does not name the cause."""
    encoded = io.BytesIO()
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    with soundfile.SoundFile(encoded, "w", rate_hz, channels, format="FLAC", subtype="PCM_16") as file:
        if comment:
            file.comment = comment
        file.write(samples)
    return encoded.getvalue()


def _read(source: Path | bytes, bounds: Bounds, kind: Literal["int16", "float32"]) -> tuple[Any, int]:
    with _opened(source) as file:
        claims = _checked(file, bounds)
        # libsndfile would not scale a file of floats to integers, and truncates longer integers.
        decoded = kind if file.subtype == "PCM_16" else "float32"
        # Pages of an array that are not written take no memory, so that a claim of more than there is costs nothing.
        samples = np.empty((claims.channels, claims.frames), kind)
        done = 0
        try:
            while done < claims.frames:
                block = file.read(min(BLOCK_FRAMES, claims.frames - done), dtype=decoded, always_2d=True)
                if not len(block):
                    break
                if decoded == "float32" and not np.all(np.isfinite(block)):
                    raise SoundFault("no_numbers", "it has samples that are no numbers")
                samples[:, done : done + len(block)] = (block if decoded == kind else to_int16(block)).T
                done += len(block)
        except RuntimeError as error:  # libsndfile's own
            raise SoundFault("unreadable", "it is not audio that libsndfile reads") from error
    missing_s = (claims.frames - done) / claims.rate_hz
    if missing_s > CUT_OFF_S and claims.kind != "MP3":
        raise SoundFault("damaged", f"it is damaged: {missing_s:.1f} s of it cannot be read")
    if not done:
        raise SoundFault("empty", "it has no samples")
    return samples[:, :done], claims.rate_hz


def _opened(source: Path | bytes) -> soundfile.SoundFile:
    try:
        if (mended := unended_wav(source)) is not None:
            return soundfile.SoundFile(mended)
        # Of a path that is not UTF-8 the library cannot make bytes itself.
        return soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else os.fsencode(source))
    except (OSError, RuntimeError, TypeError, ValueError) as error:  # libsndfile's own, and those of a name without a format
        raise SoundFault("unreadable", "it is not audio that libsndfile reads") from error


def _checked(file: soundfile.SoundFile, bounds: Bounds) -> _Claims:
    claims = _Claims(int(file.samplerate), int(file.channels), int(file.frames), str(file.format))
    if claims.rate_hz < max(1, bounds.least_hz):
        raise SoundFault("low_rate", f"it is at {claims.rate_hz:,} Hz; speech needs {bounds.least_hz:,} Hz")
    if claims.rate_hz > HIGHEST_HZ:
        raise SoundFault("high_rate", f"it is at {claims.rate_hz:,} Hz; at most {HIGHEST_HZ:,} Hz are read")
    if claims.channels > bounds.most_channels:
        too_many = f"it has {claims.channels} channels; at most {bounds.most_channels} are read"
        raise SoundFault("channels", too_many, claims.channels)
    if claims.frames == _UNKNOWN:
        raise SoundFault("too_long", "its header does not say how long it is, as of a stream; write it anew as WAV or FLAC")
    if claims.frames > min(bounds.longest_s * claims.rate_hz, bounds.most_frames):
        raise SoundFault("too_long", _too_long(claims, bounds))
    return claims


def _too_long(claims: _Claims, bounds: Bounds) -> str:
    lasts_s = claims.frames / claims.rate_hz
    if lasts_s > bounds.longest_s:
        return f"it lasts {_length(lasts_s)}; at most {_length(bounds.longest_s)} are read"
    at_its_rate_s = bounds.most_frames / claims.rate_hz
    return f"it lasts {_length(lasts_s)} at {claims.rate_hz:,} Hz; at most {_length(at_its_rate_s)} are read at that rate"


def _length(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min" if seconds >= 120 else f"{seconds:,.1f} s"
