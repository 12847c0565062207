"""The other side of a call in this side's channel: found, subtracted, and what remains of it blanked.

To a speech model a leak is speech; the difference is that the other side explains it, after the same delay each time. The delay
is sought where the other side is the louder, every frequency counting alike (the phase transform, Knapp and Carter 1976). A
short filter is fitted over those stretches and its output subtracted; a codec or a room leaves some of it, so 8 ms that are no
louder than the rest where only the other side speaks are blanked. Pure, for two signals at 16 kHz from the same instant.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import block_power, speech_power
from harness.audio.pcm import Float32

RATE_HZ: Final = 16_000
BLOCK: Final = 128
"""8 ms: as long as the shortest sounds of speech that can be distinguished."""
LONGEST_S: Final = 0.5
SEGMENT: Final = RATE_HZ
MOST_SEGMENTS: Final = 400
"""Segments of a second in which the delay is sought: more say nothing new, and an hour has thousands."""
BAND_HZ: Final = (300.0, 3_400.0)
HEARD: Final = 12.0
TAPS: Final = 256
BEFORE: Final = 32
MOST_BLOCKS: Final = 500
RIDGE: Final = 1e-4
LOUDER_DB: Final = 6.0
SPEAKING_DB: Final = 25.0
ALIKE_DB: Final = 6.0
SMOOTH: Final = 5
RELEASE_S: Final = 0.08
NOISE_PERCENTILE: Final = 5.0
OVER_NOISE_DB: Final = 10.0
LEAST_LEFT: Final = 0.05

Blocks = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Leak:
    """The other side in a channel. `own`: for each 8 ms of it, True if it is more than the leak."""

    delay_s: float
    gain_db: float
    """The leak over the speech of its own side, each channel against its own speech."""
    cleaned: Float32
    own: NDArray[np.bool_]


def find_leak(signal: Float32, other: Float32) -> Leak | None:
    """The leak of `other` in `signal`; None if there is none. Both without a constant offset.

    >>> rng = np.random.default_rng(0)
    >>> caller, agent = (rng.normal(0, 0.1, 8 * RATE_HZ) * np.repeat(on, 2 * RATE_HZ) for on in ([1, 0, 1, 0], [0, 1, 0, 1]))
    >>> leak = find_leak((caller + 0.1 * np.roll(agent, 800)).astype(np.float32), agent.astype(np.float32))
    >>> leak.delay_s, round(leak.gain_db)
    (0.05, -20)
    """
    size = min(signal.size, other.size)
    level, source = speech_power(signal, RATE_HZ), speech_power(other, RATE_HZ)
    if level <= 0 or source <= 0:
        return None
    mine, theirs = block_power(signal[:size], BLOCK) / level, block_power(other[:size], BLOCK) / source
    delay = _delay(signal[:size], other[:size], _alone(_held(theirs), mine))
    if delay is None:
        return None
    later = np.concatenate([np.zeros(max(0, round(delay / BLOCK)), np.float64), theirs])[: len(theirs)]
    expected = _smeared(later)
    alone = _like_the_leak(_alone(expected, mine), _smooth(mine) / np.maximum(_smooth(expected), 1e-12))
    if not alone.any():
        return None
    response, shift = _response(signal[:size], other[:size], alone, delay)
    cleaned = signal.copy()
    cleaned[:size] -= _delayed(np.convolve(other[:size], response).astype(np.float32), shift, size)
    left = block_power(cleaned[:size], BLOCK) / level
    own = _own(left, expected, alone)
    gain_db = 10 * np.log10(max(float(np.sum(mine[alone])) / max(float(np.sum(later[alone])), 1e-12), 1e-12))
    return Leak(delay / RATE_HZ, gain_db, cleaned, np.pad(own, (0, -(-signal.size // BLOCK) - len(own)), constant_values=True))


def _alone(theirs: Blocks, mine: Blocks) -> NDArray[np.bool_]:
    """True for blocks in which the other side speaks, and is the louder by far."""
    return np.asarray((theirs > 10 ** (-SPEAKING_DB / 10)) & (theirs > mine * 10 ** (LOUDER_DB / 10)))


def _like_the_leak(alone: NDArray[np.bool_], ratio: Blocks) -> NDArray[np.bool_]:
    """Of the blocks in which the other side is the louder, those in which this side is silent."""
    for _ in range(3):
        if not alone.any():
            return alone
        alone = alone & (ratio <= np.median(ratio[alone]) * 10 ** (ALIKE_DB / 10))
    return alone


def _smooth(power: Blocks) -> Blocks:
    smooth: Blocks = np.convolve(power, np.ones(SMOOTH) / SMOOTH, "same")
    return smooth


def _delayed(sound: Float32, shift: int, size: int) -> Float32:
    moved = np.pad(sound, (max(shift, 0), 0))[max(-shift, 0) :][:size]
    return np.pad(moved, (0, size - moved.size))


def _held(power: Blocks) -> Blocks:
    """The greatest power of the last `LONGEST_S`: while that lasts, the leak may sound."""
    from scipy.ndimage import maximum_filter1d

    span = round(LONGEST_S * RATE_HZ / BLOCK)
    held: Blocks = maximum_filter1d(power, span, origin=(span - 1) // 2, mode="constant")
    return held


def _delay(signal: Float32, other: Float32, alone: NDArray[np.bool_]) -> int | None:
    """The delay in samples at which `other` is in `signal` while it speaks alone."""
    size = 4 * SEGMENT
    frequencies = np.fft.rfftfreq(size, 1 / RATE_HZ)
    band = (frequencies > BAND_HZ[0]) & (frequencies < BAND_HZ[1])
    longest = round(LONGEST_S * RATE_HZ)
    heard = np.where(np.repeat(alone, BLOCK)[: signal.size], signal, np.float32(0))
    starts = [
        s
        for s in range(0, max(1, other.size - SEGMENT // 2), SEGMENT // 2)
        if alone[s // BLOCK :][: 2 * SEGMENT // BLOCK].mean() > 0.3
    ]
    summed = np.zeros(size)
    window = np.hanning(SEGMENT)
    for start in starts[:: max(1, len(starts) // MOST_SEGMENTS)]:
        said, answer = other[start : start + SEGMENT], heard[start : start + SEGMENT + longest]
        if said.size < SEGMENT:
            continue
        cross = np.fft.rfft(answer, size) * np.conj(np.fft.rfft(said * window, size))
        summed += np.fft.irfft(np.where(band, cross / np.maximum(np.abs(cross), 1e-12), 0), size)
    early = BEFORE // 2
    lags = np.abs(np.concatenate([summed[-early:], summed[:longest]]))
    spread = float(np.sqrt(np.mean(lags**2)))
    if spread == 0 or float(lags.max()) < HEARD * spread:
        return None
    return int(np.argmax(lags)) - early


def _response(signal: Float32, other: Float32, alone: NDArray[np.bool_], delay: int) -> tuple[NDArray[np.float64], int]:
    """The filter that makes the leak of the other side, by least squares over its loudest blocks, and its first tap's delay."""
    shift = delay - BEFORE
    moved = np.pad(_delayed(other, shift, signal.size), (TAPS - 1, 0))
    past = np.lib.stride_tricks.sliding_window_view(moved, TAPS)[:, ::-1]
    blocks = np.flatnonzero(alone[: signal.size // BLOCK])
    loudest = blocks[np.argsort(block_power(moved[TAPS - 1 :], BLOCK)[blocks])[::-1][:MOST_BLOCKS]]
    square, crossed = np.zeros((TAPS, TAPS)), np.zeros(TAPS)
    for some in np.array_split(np.sort(loudest), max(1, len(loudest) // 32)):
        at = (some[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        rows = past[at]
        square += rows.T @ rows
        crossed += rows.T @ signal[at]
    square[np.diag_indices(TAPS)] += RIDGE * np.trace(square) / TAPS + 1e-12
    return np.asarray(np.linalg.solve(square, crossed), np.float64), shift


def _smeared(power: Blocks) -> Blocks:
    """The other side's power, falling off slowly as in a room."""
    from scipy.signal import lfilter

    kept = np.exp(-BLOCK / RATE_HZ / RELEASE_S)
    smeared: Blocks = lfilter([1.0], [1.0, -kept], power)
    return smeared


def _own(left: Blocks, expected: Blocks, alone: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each block True if it holds more than what remains of the leak."""
    ratio = 10 * np.log10(np.maximum(left, 1e-12) / np.maximum(expected, 1e-12))
    # A leak under the noise leaves nothing, and how far noise is over it says nothing: an answer would seem to be of the leak.
    noise = float(np.percentile(left, NOISE_PERCENTILE)) * 10 ** (OVER_NOISE_DB / 10)
    known = ratio[alone & (left > max(noise, 1e-11))]
    if len(known) <= LEAST_LEFT * np.count_nonzero(alone):
        return np.ones(len(left), bool)
    middle, low = np.percentile(known, [50, 16])
    limit = middle + 2.5 * max(middle - low, 1.5)
    return np.asarray((ratio > limit) | (expected < 1e-9))
