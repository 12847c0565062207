"""A recording prepared for playout: its channels at the caller's rate, and notes on its faults, one line each.

Another rate is converted, without relevant loss and with a note. Clipping cannot be repaired: the lost signal would have to
be invented. Nor can a file without samples or below the rate of a telephone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from harness.audio.level import islands
from harness.audio.pcm import Float32, resample_float
from harness.audio.sound_file import Bounds, SoundFault, read_float
from harness.audio.speech import MOST_PEAK, RATE_HZ
from harness.errors import UserError

LEAST_HZ: Final = 8_000
"""The rate of telephone speech; below it consonants that mark an end are lost."""
BOUNDS: Final = Bounds(longest_s=3 * 3600.0, most_channels=2, least_hz=LEAST_HZ, at_hz=RATE_HZ)
"""Three hours at the caller's rate, and an hour at 48 kHz: a day's talks are several files."""
FULL_SCALE: Final = 0.99
CLIPPED_RUN: Final = 3
"""Consecutive samples at full scale that make a flat top, which no microphone produces itself."""
MOST_CLIPPED_RUNS: Final = 3
"""Most flat tops: one or two are an inaudible plosive and are noted. More have changed the voice."""
ONE_SIGNAL: Final = 0.9
"""Least correlation of two channels of one microphone; those of two people on a telephone line are near 0."""


class Clipped(UserError):
    """The sound has lost the tops of its signal."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file's channels at 16 kHz, with notes on its conversion."""

    name: str
    channels: tuple[Float32, ...]
    notes: tuple[str, ...]

    @property
    def lasts_s(self) -> float:
        """Its length."""
        return self.channels[0].size / RATE_HZ

    @property
    def mixed(self) -> Float32:
        """The mean of all channels."""
        return np.asarray(np.mean(self.channels, axis=0), dtype=np.float32)

    @property
    def is_one_signal(self) -> bool:
        """True if all channels are the same signal, as many recorders write a single microphone."""
        one, *others = self.channels
        return all(np.any(one) and np.any(other) and float(np.corrcoef(one, other)[0, 1]) > ONE_SIGNAL for other in others)


def read_sound(source: Path | bytes, name: str) -> Recorded:
    channels, rate_hz = read_channels(source, name)
    return checked(channels, rate_hz, name)


def read_channels(source: Path | bytes, name: str) -> tuple[Float32, int]:
    """A file's channels, a row for each, and their rate, unchanged. Raises UserError."""
    try:
        return read_float(source, BOUNDS)
    except SoundFault as fault:
        raise UserError(f"{name}: {fault}") from None


def checked(channels: Float32, rate_hz: int, name: str) -> Recorded:
    """The channels at 16 kHz, with notes on corrected faults. Raises UserError for others."""
    if channels.size == 0 or not np.all(np.isfinite(channels)):
        raise UserError(f"{name}: has no samples, or some that are not numbers")
    if rate_hz < LEAST_HZ:
        raise UserError(f"{name}: is sampled at {rate_hz:,} Hz; speech needs {LEAST_HZ:,} Hz")
    notes = []
    tops = flat_tops(channels)
    if len(tops) > MOST_CLIPPED_RUNS:
        raise Clipped(
            f"{name} at {tops[0] / rate_hz:.3f} s: clipped ({len(tops)} flat tops); the lost signal cannot be restored; "
            "record it more quietly"
        )
    if tops:
        notes.append(f"{name} at {tops[0] / rate_hz:.3f} s: touches full scale ({len(tops)}×); played as it is")
    if rate_hz != RATE_HZ:
        notes.append(f"{name}: resampled from {rate_hz:,} to {RATE_HZ:,} Hz")
    if not np.any(channels):
        raise UserError(f"{name}: is completely silent")
    converted = tuple(resample_float(np.ascontiguousarray(channel), rate_hz, RATE_HZ) for channel in channels)
    peak = max(float(max(channel.max(), -channel.min())) for channel in converted)
    gain = np.float32(min(1.0, MOST_PEAK / peak))
    return Recorded(name, tuple(np.asarray(channel * gain, dtype=np.float32) for channel in converted), tuple(notes))


def flat_tops(channels: Float32) -> list[int]:
    """The starts of runs of samples at full scale, in any channel."""
    found: list[int] = []
    for channel in channels:
        found += [begin for begin, end in islands(np.abs(channel) >= FULL_SCALE, 1) if end - begin >= CLIPPED_RUN]
    return sorted(found)
