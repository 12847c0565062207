"""Levels of a signal: short-time power, the level of its speech, and the first and last sample that belongs to it.

The edges of speech are found by 8 ms RMS within 40 dB of the speech level: 8 ms hold one period of nearly every voice, and 40
dB below speech is where a listener in a quiet room loses it. The window looks *into* the signal, so that an abrupt edge is
found to the sample. The level is gated as in ITU-T P.56: what lies more than 15.9 dB below it is pause and does not count
towards it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

WINDOW_S: Final = 0.008
EDGE_DB: Final = 40.0
GATE_DB: Final = 15.9
AUDIBLE_RMS: Final = 33.0
"""−60 dB of full scale, in steps of 16 bits: 20 dB under quiet speech, over the rounding noise of a silent synthesiser."""
SILENCE_DB: Final = -120.0
"""The value for digital silence, in dB of full scale: below every 16-bit signal."""

Samples = NDArray[np.floating] | NDArray[np.int16]


def power(samples: Samples) -> NDArray[np.float64]:
    """Instantaneous power relative to full scale; int16 counts as ±1."""
    scale = 32768.0 if samples.dtype == np.int16 else 1.0
    squared: NDArray[np.float64] = (samples.astype(np.float64) / scale) ** 2
    return squared


def decibels(mean_power: float) -> float:
    """A mean power in dB of full scale, not below `SILENCE_DB`.

    >>> decibels(0.01)
    -20.0
    """
    return float(max(10.0 * np.log10(max(mean_power, 1e-30)), SILENCE_DB))


def block_power(samples: Samples, block: int) -> NDArray[np.float64]:
    """Mean power of each whole block of `block` samples, and of the rest."""
    if not len(samples):
        return np.zeros(0)
    edges = np.arange(0, len(samples), block)
    sums = np.add.reduceat(power(samples), edges)
    means: NDArray[np.float64] = sums / np.diff(np.append(edges, len(samples)))
    return means


def speech_power(samples: Samples, rate_hz: int) -> float:
    """The mean power of speech without pauses (see the module's docstring); 0 for silence.

    >>> round(speech_power(np.concatenate([np.full(8_000, 0.1), np.zeros(8_000)]), 16_000), 4)
    0.0099
    """
    blocks = block_power(samples, max(1, round(rate_hz * WINDOW_S)))
    active = blocks[blocks > 0]
    while len(active):
        kept = active[active >= active.mean() * 10 ** (-GATE_DB / 10)]
        if len(kept) == len(active):
            return float(active.mean())
        active = kept
    return 0.0


def quiet_spans(samples: Samples, rate_hz: int, least_s: float, below_db: float = EDGE_DB) -> list[tuple[int, int]]:
    """The gaps inside speech of at least `least_s`, as (first, one past the last) sample.

    A gap begins after the last sample of the speech before it (by `last_sample`), and ends at the first sample of the speech
    after it (by `first_sample`). Silence before the first speech and after the last is not a gap.

    >>> quiet_spans(np.repeat([0.0, 0.1, 0.0, 0.1], 8_000), 16_000, least_s=0.2)
    [(16000, 24000)]
    """
    loud = _loud(samples, rate_hz, below_db)
    window = max(1, round(rate_hz * WINDOW_S))
    breaks = np.flatnonzero(np.diff(loud) > 1)
    # The window before a gap reaches `window` samples back from where it was last loud.
    spans = [(int(loud[k]) - window + 2, int(loud[k + 1])) for k in breaks]
    return [(start, end) for start, end in spans if end - start >= least_s * rate_hz]


def last_sample(samples: Samples, rate_hz: int, below_db: float = EDGE_DB) -> int | None:
    """Index of the last sample whose 8 ms RMS lies within `below_db` of the speech level; None for silence.

    >>> sound = np.repeat([0.0, 0.1, 0.0], 8_000)
    >>> first_sample(sound, 16_000), last_sample(sound, 16_000)
    (8000, 15999)
    """
    found = first_sample(samples[::-1], rate_hz, below_db)
    return None if found is None else len(samples) - 1 - found


def first_sample(samples: Samples, rate_hz: int, below_db: float = EDGE_DB) -> int | None:
    """Index of the first sample whose 8 ms RMS lies within `below_db` of the speech level; None for silence."""
    loud = _loud(samples, rate_hz, below_db)
    return int(loud[0]) if len(loud) else None


def _loud(samples: Samples, rate_hz: int, below_db: float) -> NDArray[np.intp]:
    """The samples that end a window of 8 ms whose RMS lies within `below_db` of the speech level; none in silence."""
    level = speech_power(samples, rate_hz)
    if level <= 0:
        return np.zeros(0, np.intp)
    window = max(1, round(rate_hz * WINDOW_S))
    total = np.concatenate([[0.0], np.cumsum(power(samples))])
    ends = np.arange(1, len(samples) + 1)
    mean = (total[ends] - total[np.maximum(ends - window, 0)]) / window
    return np.flatnonzero(mean >= level * 10 ** (-below_db / 10))


def islands(loud: NDArray[np.bool_], join: int) -> list[tuple[int, int]]:
    """Stretches of loud blocks, as (first, past the last), dips shorter than `join` blocks closed.

    >>> islands(np.array([1, 1, 0, 1, 0, 0, 1], bool), 2)
    [(0, 4), (6, 7)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(np.int8)))
    joined: list[tuple[int, int]] = []
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if joined and start - joined[-1][1] < join:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
