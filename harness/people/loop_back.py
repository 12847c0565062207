"""The latency of a seat's own sound: from a frame at which it is played to the frame at which the microphone has it.

What is played leaves the headphones late, and what is said reaches the page late; no browser reports either rightly. So their
sum is measured: before a sitting the headphones are held to the microphone, and short sweeps are played at known frames. A
matched filter finds them in noise that would hide a click, by its envelope, since a headphone may turn the sign. Gaps are
irregular and longer than any latency, so no rhythm in the room imitates them; where too little is heard there is no result.

Pure: no file, no clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.pcm import Int16, to_float, to_int16
from harness.people.track import RATE_HZ, Track

SWEEP_S: Final = 0.02
LOW_HZ: Final = 1_000.0
HIGH_HZ: Final = 8_000.0
"""The band: above the hum and rumble of rooms, within what the narrowest headset carries (16 kHz of rate)."""
PEAK: Final = 0.25
"""Peak of a sweep in full scale: −12 dB, no louder than the peaks of a caller who speaks at −26 dB, at the same volume."""
LEAD_S: Final = 0.5
GAPS_S: Final = (0.81, 1.03, 0.74, 0.95, 0.88, 1.10, 0.77, 0.99, 0.84, 1.06, 0.79)
"""Between one sweep and the next. Every gap is longer than `LONGEST_S` and no sums of neighbours repeat."""
LONGEST_S: Final = 0.7
"""Longest latency that is looked for: wireless headphones need up to 0.3 s, a large buffer of a browser as much again."""
LEAST_SHARE: Final = 2 / 3
"""Least share of the sweeps that must be heard."""
CLEAR: Final = 6.0
"""Least ratio of a peak to the RMS of the filter's output elsewhere in the window. In noise alone the highest of the about
5,000 independent values of a window is at 4, and above 6 once in 10,000 windows."""
APART_S: Final = 0.01
"""Greatest distance of a peak from the median latency: one farther away is another sound. 500 ppm of drift are 5 ms in 10 s."""
LAST: Final = 2
"""So many of the last sweeps that were heard must have the latency: it is the one that the sitting goes on with."""
_AROUND_S: Final = 0.005
"""Around a peak nothing counts as noise: its own flanks and the reflections in a cupped hand are there."""

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoopBack:
    """The measured latency. `error_p95_ms`: 95 % of the sweeps lie within it of the median; plus one sample.

    `drift_ppm`: how fast the latency grows, which is how much slower the microphone's clock is than the headphones'.
    """

    latency_samples: float
    error_p95_ms: float
    drift_ppm: float
    heard: int
    played: int


def sweep(rate_hz: int = RATE_HZ) -> Int16:
    """One sweep from 1 to 8 kHz in 20 ms, with soft edges."""
    at = np.arange(round(SWEEP_S * rate_hz)) / rate_hz
    phase = 2 * np.pi * (LOW_HZ * at + (HIGH_HZ - LOW_HZ) / (2 * SWEEP_S) * at**2)
    return to_int16(PEAK * np.sin(phase) * np.hanning(len(at)))


def places(rate_hz: int = RATE_HZ) -> tuple[int, ...]:
    """The first sample of each sweep in `sound`."""
    return tuple(round(rate_hz * (LEAD_S + sum(GAPS_S[:k]))) for k in range(len(GAPS_S) + 1))


def sound(rate_hz: int = RATE_HZ) -> Int16:
    """All sweeps of a trial with their gaps: what the browser plays, once. Silence follows, so that the last is heard too."""
    one, starts = sweep(rate_hz), places(rate_hz)
    out = np.zeros(starts[-1] + round((SWEEP_S + LONGEST_S) * rate_hz), np.int16)
    for start in starts:
        out[start : start + len(one)] = one
    return out


def loop_back(track: Track, played_frames: Sequence[int]) -> LoopBack | None:
    """The latency of the sweeps that were played at `played_frames`.

    None when too few of them were heard with one latency, or when it did not last to the end: a browser whose sound stuttered
    goes on with another one, and then the trial must be repeated.
    """
    clear = [(frame, late) for frame in played_frames if (late := _heard_after(track, frame)) is not None]
    if not clear:
        return None
    middle = float(np.median([late for _, late in clear]))
    found = [(frame, late) for frame, late in clear if abs(late - middle) <= APART_S * track.rate_hz]
    lasted = found[-LAST:] == clear[-LAST:] and not any(end > played_frames[-1] for _, end in track.lost)
    if len(found) < max(3, LEAST_SHARE * len(played_frames)) or not lasted:
        return None
    frames, late = np.array(found, np.float64).T
    latency = float(np.median(late))
    slope = np.polynomial.Polynomial.fit(frames, late, 1).convert().coef
    error = float(np.percentile(np.abs(late - latency), 95)) + 1
    return LoopBack(
        latency_samples=latency, error_p95_ms=error * 1_000 / track.rate_hz,
        drift_ppm=float(slope[1]) * 1e6 if len(slope) > 1 else 0.0, heard=len(found), played=len(played_frames),
    )  # fmt: skip


def _heard_after(track: Track, frame: int) -> float | None:
    """How many samples after `frame` its sweep is in the track; None when no peak is clear of the noise."""
    longest, one = round(LONGEST_S * track.rate_hz), to_float(sweep(track.rate_hz)).astype(np.float64)
    start = frame - track.first
    if start < 0 or start + longest + len(one) > len(track.samples):
        return None
    envelope = _filtered(to_float(track.samples[start : start + longest + len(one)]).astype(np.float64), one)[:longest]
    peak = int(np.argmax(envelope))
    around = round(_AROUND_S * track.rate_hz)
    elsewhere = np.concatenate([envelope[: max(0, peak - around)], envelope[peak + around :]])
    # The envelope of Gaussian noise has twice the power of the filter's output.
    noise = float(np.sqrt(np.mean(elsewhere**2) / 2))
    if envelope[peak] <= 0 or envelope[peak] < CLEAR * noise:
        return None
    return peak + _between(envelope, peak)


def _filtered(heard: Float64, one: Float64) -> Float64:
    """The envelope of the matched filter's output, from the first sample at which the sweep fits."""
    size = 1 << int(np.ceil(np.log2(len(heard) + len(one))))
    spectrum = np.fft.fft(heard, size) * np.conj(np.fft.fft(one, size))
    spectrum[size // 2 :] = 0
    out: Float64 = np.abs(2 * np.fft.ifft(spectrum))[: len(heard)]
    return out


def _between(envelope: Float64, peak: int) -> float:
    """How far the top lies from the highest sample, by the parabola through it and its neighbours."""
    if not 0 < peak < len(envelope) - 1:
        return 0.0
    before, top, after = envelope[peak - 1 : peak + 2]
    bend = before - 2 * top + after
    return float((before - after) / (2 * bend)) if bend else 0.0
