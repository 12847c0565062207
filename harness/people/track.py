"""One recording from its parts, with the places at which sound was lost.

Waits are counted in frames, so a lost block that nobody notices would move everything after it. Each way to lose sound is
found by itself: frames are missing between two parts; the audio clock stood still while wall clock went on (the computer
slept or was too busy); or exact zeros are inside sound, which no microphone in a room gives.

Pure: no file, no clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.audio.pcm import Int16
from harness.recording import from_seat

RATE_HZ: Final = from_seat.RATE_HZ
LONGEST_S: Final = 180.0
"""Longest recording: the pages end a turn after two minutes, and a reply 90 s after its caller. Its 17 MB fill no
memory."""
LEAST_STALL_MS: Final = 10.0
"""Shortest standstill of the audio clock: half of what a sitting may be wrong (20 ms). 500 ppm of drift are 1.5 ms in 3 s."""
STALL_PAIRS: Final = 3
"""Pairs on either side from which the soonest is taken: a page that is busy for a second or two is only late."""
LEAST_ZEROS_S: Final = 0.0025
"""Shortest stretch of zeros that is a hole: just under one block (128 frames) of a browser."""
BESIDE_S: Final = 0.005
"""How much is examined on either side of zeros."""
LEAST_SOUNDING: Final = 0.5
"""Least share of non-zero samples beside a hole. Beside the zeros of a noise of one bit's size there are more zeros."""

Span = tuple[int, int]
"""(first, one past the last) frame of the audio clock."""
ClockPair = tuple[int, float]
"""(frame, wall clock in ms at which the page had it)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a recording without a gap. `first`: the frame of its first sample."""

    first: int
    samples: Int16


@dataclass(frozen=True, slots=True)
class Track:
    """A whole recording. `first`: the frame of its first sample; what is `lost` is zero, or its place is in doubt."""

    rate_hz: int
    first: int
    samples: Int16
    lost: tuple[Span, ...]

    @property
    def end(self) -> int:
        """One past the last frame."""
        return self.first + len(self.samples)


def track_of(parts: Iterable[Part], clock: Sequence[ClockPair] = (), rate_hz: int = RATE_HZ) -> Track:
    """The recording that `parts` make up, in any order; a part that came twice counts once.

    Raises `ValueError` when there is no sound in them, or when they span longer than any recording does.
    """
    ordered = sorted((p for p in parts if len(p.samples)), key=lambda p: p.first)
    if not ordered:
        raise ValueError("no part of the recording has any sound")
    first, end = ordered[0].first, max(p.first + len(p.samples) for p in ordered)
    if end - first > LONGEST_S * rate_hz:
        raise ValueError(f"the parts span {(end - first) / rate_hz:.0f} s, and a recording has at most {LONGEST_S:.0f}")
    samples = np.zeros(end - first, np.int16)
    missing: list[Span] = []
    reached = first
    for part in ordered:
        if part.first > reached:
            missing.append((reached, part.first))
        samples[part.first - first :][: len(part.samples)] = part.samples
        reached = max(reached, part.first + len(part.samples))
    found = [*missing, *_stalls(clock, rate_hz), *((first + a, first + b) for a, b in _holes(samples, rate_hz))]
    return Track(rate_hz, first, samples, _merged(found))


def _stalls(clock: Sequence[ClockPair], rate_hz: int) -> list[Span]:
    """Between which pairs the frames fell behind wall clock for good."""
    pairs = sorted(clock)
    late = [at_ms - frame * 1_000 / rate_hz for frame, at_ms in pairs]
    found: list[Span] = []
    since = 0
    for k in range(1, len(pairs)):
        before, after = min(late[max(since, k - STALL_PAIRS) : k]), min(late[k : k + STALL_PAIRS])
        if after - before >= LEAST_STALL_MS:
            found.append((pairs[k - 1][0], pairs[k][0]))
            since = k
    return found


def _holes(samples: Int16, rate_hz: int) -> list[Span]:
    """Stretches of exact zeros that have sound directly before and after them, as indices."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], samples == 0, [False]])))
    begins, ends = edges[::2], edges[1::2]
    long = ends - begins >= LEAST_ZEROS_S * rate_hz
    beside = round(BESIDE_S * rate_hz)
    return [
        (int(a), int(b))
        for a, b in zip(begins[long], ends[long], strict=True)
        if all(
            len(s) and np.count_nonzero(s) >= LEAST_SOUNDING * len(s)
            for s in (samples[max(0, a - beside) : a], samples[b : b + beside])
        )
    ]


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """`spans` in order, those that touch made one."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return tuple(found)
