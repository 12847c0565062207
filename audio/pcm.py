"""PCM as numbers: rates, word lengths and the two telephone codecs, with one convention for all rooms.

Signals inside are mono; int16 for sending and storing, float32 in [-1, 1) for computing. The scale is
32,768 both ways, which makes int16 → float → int16 the identity. Resampling (soxr) and the codecs (libsndfile) are taken
from libraries whose quality is known; resampling keeps the time of every sample: no delay is added, and the number of
samples is the nearest to `n · to / from`.
"""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

Int16 = NDArray[np.int16]
Float32 = NDArray[np.float32]

FULL_SCALE = 32_768.0
Law = Literal["ulaw", "alaw"]
_SUBTYPE: dict[Law, str] = {"ulaw": "ULAW", "alaw": "ALAW"}


def to_float(samples: Int16) -> Float32:
    """int16 to float32 in [-1, 1).

    >>> to_float(np.array([0, 16_384, -32_768], np.int16)).tolist()
    [0.0, 0.5, -1.0]
    """
    return (samples.astype(np.float32) / FULL_SCALE).astype(np.float32)


def to_int16(samples: NDArray[np.floating]) -> Int16:
    """Floating point in [-1, 1] to int16, rounded to nearest; values outside are clipped, as by a converter.

    >>> to_int16(np.array([0.5, 1.5])).tolist()
    [16384, 32767]
    """
    return np.clip(np.rint(np.asarray(samples, dtype=np.float64) * FULL_SCALE), -32_768, 32_767).astype(np.int16)


def resample(samples: Int16, from_hz: int, to_hz: int) -> Int16:
    """`samples` at another rate (soxr, HQ); unchanged if the rates are equal.

    >>> resample(np.zeros(16_000, np.int16), 16_000, 24_000).size
    24000

    Raises `ValueError` for a rate that is not positive.
    """
    if from_hz <= 0 or to_hz <= 0:
        raise ValueError(f"rates must be positive, not {from_hz} and {to_hz}")
    if from_hz == to_hz or samples.size == 0:
        return samples
    return to_int16(resample_float(to_float(samples), from_hz, to_hz))


def resample_float(samples: Float32, from_hz: int, to_hz: int) -> Float32:
    """`resample` for float32, without rounding or clipping."""
    if from_hz == to_hz or samples.size == 0:
        return samples
    return np.asarray(soxr.resample(samples, from_hz, to_hz), dtype=np.float32)


def encode(samples: Int16, law: Law) -> bytes:
    """G.711: one byte a sample (ITU-T G.711 μ-law or A-law).

    >>> decode(encode(np.array([0, 1_000, -20_000], np.int16), "ulaw"), "ulaw").tolist()
    [0, 988, -19836]
    """
    out = io.BytesIO()
    soundfile.write(out, samples, 8_000, format="RAW", subtype=_SUBTYPE[law])
    return out.getvalue()


def decode(data: bytes, law: Law) -> Int16:
    """The inverse of `encode`, within the precision of eight bits."""
    samples, _ = soundfile.read(
        io.BytesIO(data), samplerate=8_000, channels=1, format="RAW", subtype=_SUBTYPE[law], dtype="int16"
    )
    return np.asarray(samples, dtype=np.int16)
