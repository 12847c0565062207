"""The start and end of speech in a clean signal, by level alone, and silences of exact length.

The harness defines the end of a caller's speech as the last sample whose 8 ms RMS lies within 40 dB of the speech level
(the dry signal is free of noise, so a level is enough). Renderings are cut by the same rule, so that a marked pause of
450 ms is 450 ms by the same measure that is later used for the agent.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from harness.audio.level import block_power
from harness.audio.pcm import Float32

WINDOW_MS = 8.0
SPEECH_RANGE_DB = 40.0
ACTIVE_RANGE_DB = 30.0
"""Windows for the speech level: within 30 dB of the loudest, similar to ITU-T P.56's activity margin."""

FADE_MS = 4.0
"""Length of a raised-cosine ramp: it makes the step of a cut 40 dB below speech inaudible and moves no edge."""

MOST_UNMARKED_MS = 190.0
"""Longest silence without a mark, below 200 ms, where the mix of marked pauses begins: so every pause that an agent
could take for the end of the turn is marked and counted."""

LEAST_GAP_MS = 56.0
"""Shortest gap: shorter silences are closures of plosives, part of a word, never stretched or cut."""


def level_db(signal: Float32, rate_hz: int) -> float:
    """Speech level in dB relative to full scale: RMS over the active 8 ms windows; -inf for digital silence.

    >>> tone = np.sin(np.arange(16_000) * 2 * np.pi * 1_000 / 16_000).astype(np.float32)
    >>> round(level_db(np.concatenate([tone, np.zeros(16_000, np.float32)]), 16_000), 2)
    -3.01
    """
    power = block_power(signal, window_samples(rate_hz))
    if power.size == 0 or power.max() <= 0:
        return -np.inf
    active = power[power >= power.max() * 10 ** (-ACTIVE_RANGE_DB / 10)]
    return float(10 * np.log10(active.mean()))


def window_samples(rate_hz: int) -> int:
    """Samples of an 8 ms window."""
    return max(1, round(rate_hz * WINDOW_MS / 1000))


def speaking(signal: Float32, rate_hz: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each 8 ms window, True if it is within 40 dB of the speech level."""
    power, level = block_power(signal, window_samples(rate_hz)), level_db(signal, rate_hz)
    if not np.isfinite(level):
        return np.zeros(power.size, dtype=np.bool_)
    return np.asarray(power >= 10 ** ((level - SPEECH_RANGE_DB) / 10), dtype=np.bool_)


def trim(signal: Float32, rate_hz: int) -> Float32:
    """The signal from its first to its last speech window, with short ramps at both ends; empty without speech."""
    active = np.flatnonzero(speaking(signal, rate_hz))
    if active.size == 0:
        return np.zeros(0, dtype=np.float32)
    width = window_samples(rate_hz)
    return _ramped(signal[active[0] * width : (active[-1] + 1) * width], rate_hz)


def scale_silences(signal: Float32, rate_hz: int, factor: float, most_ms: float) -> Float32:
    """The signal with each inner gap made `factor` times as long, but not longer than `most_ms`."""
    width = window_samples(rate_hz)
    pieces: list[Float32] = []
    taken_from = 0
    for start, end in silent_runs(signal, rate_hz):
        length = end - start
        if length * WINDOW_MS < LEAST_GAP_MS:
            continue
        wanted = max(1, int(min(length * factor, most_ms / WINDOW_MS)))
        kept = min(length, wanted)
        cut_from, cut_to = (start + kept // 2) * width, (end - (kept - kept // 2)) * width
        pieces += [_ramped(signal[taken_from:cut_from], rate_hz), np.zeros((wanted - kept) * width, dtype=np.float32)]
        taken_from = cut_to
    rest = signal[taken_from:]
    return np.concatenate([*pieces, _ramped(rest, rate_hz)]) if pieces else rest


def silent_runs(signal: Float32, rate_hz: int) -> list[tuple[int, int]]:
    """Runs of silent 8 ms windows between speaking ones, as (first, one past the last) window."""
    active = np.flatnonzero(speaking(signal, rate_hz))
    return [(int(a) + 1, int(b)) for a, b in pairwise(active) if b - a > 1]


def faded(signal: Float32, rate_hz: int, gain_db: float, over_s: float) -> Float32:
    """The signal with its last `over_s` seconds faded gradually to `gain_db`."""
    width = min(round(rate_hz * over_s), signal.size)
    if width == 0 or gain_db == 0:
        return signal
    out = signal.copy()
    out[-width:] *= (10 ** (gain_db / 20 * np.linspace(0, 1, width))).astype(np.float32)
    return out


def _ramped(signal: Float32, rate_hz: int) -> Float32:
    width = min(round(rate_hz * FADE_MS / 1000), signal.size // 2)
    if width == 0:
        return signal
    ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(width) + 0.5) / width)).astype(np.float32)
    out = signal.copy()
    out[:width] *= ramp
    out[-width:] *= ramp[::-1]
    return out
