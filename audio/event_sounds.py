"""A cough and a door, synthesised from a seed: sounds during speech that need no reaction.

Computed, so that they involve no licence, no person and no room. A cough is a burst of noise and a longer, duller tail (Van
Hirtum 2002, doi 10.1118/1.1525012); a door is a dull thud that rings at a few low resonances, and the click of its latch. All
lengths, bands and levels are choices of ours for "short, loud and no voice": neither sound has the pitch of a voice.
"""

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt

from harness.audio.pcm import Int16, to_int16

EventSound = Literal["cough", "door"]
PEAK: Final = 0.5
"""Peak of a sound, −6 dB of full scale: a cough at the microphone is about as loud as the loudest speech."""
COUGHS: Final = 2
"""Number of coughs: they come in small bouts; two last as long as a short word."""
BURST_S: Final = (0.03, 0.06)
TAIL_S: Final = (0.15, 0.25)
BETWEEN_S: Final = (0.1, 0.2)
THUD_HZ: Final = (70.0, 120.0, 190.0, 310.0)
"""First bending modes of a light inner door, in round figures: a choice, not a measurement."""
THUD_DECAY_S: Final = 0.07
DOOR_S: Final = 0.45
LATCH_S: Final = 0.06
"""Time from the click of the latch to the thud of the leaf."""


def event_sound(kind: EventSound, rate_hz: int, seed: int) -> Int16:
    """One sound, int16 mono at `rate_hz`, its peak at `PEAK`; the same samples for the same three arguments.

    >>> sound = event_sound("cough", 16_000, seed=1)
    >>> sound.dtype.name, 0.3 < sound.size / 16_000 < 1.0
    ('int16', True)

    Raises `ValueError` for another kind, or a rate under 8 kHz.
    """
    if rate_hz < 8_000:
        raise ValueError(f"an event needs a rate of 8,000 Hz and more, not {rate_hz}")
    rng = np.random.default_rng(seed)
    if kind == "cough":
        sound = _bout(rate_hz, rng)
    elif kind == "door":
        sound = _door(rate_hz, rng)
    else:
        raise ValueError(f"no sound is called {kind!r}: take cough or door")
    return to_int16(sound * PEAK / np.max(np.abs(sound)))


def _bout(rate_hz: int, rng: np.random.Generator) -> NDArray[np.float64]:
    parts = []
    for _ in range(COUGHS):
        burst = _noise(rng.uniform(*BURST_S), 300, 3_600, rate_hz, rng)
        tail = 0.4 * _noise(rng.uniform(*TAIL_S), 300, 1_800, rate_hz, rng)
        tail *= np.exp(-4 * np.arange(len(tail)) / len(tail))
        parts += [burst, tail, np.zeros(round(rng.uniform(*BETWEEN_S) * rate_hz))]
    return np.concatenate(parts[:-1])


def _door(rate_hz: int, rng: np.random.Generator) -> NDArray[np.float64]:
    t = np.arange(round(DOOR_S * rate_hz)) / rate_hz
    ring = np.zeros(len(t))
    for mode_hz in THUD_HZ:
        pitch_hz, phase = mode_hz * rng.uniform(0.9, 1.1), rng.uniform(0, 2 * np.pi)
        ring += np.sin(2 * np.pi * pitch_hz * t + phase) * 100 / mode_hz
    thud = (ring + _noise(DOOR_S, 60, 800, rate_hz, rng)) * np.exp(-t / THUD_DECAY_S)
    click = 0.3 * _noise(0.01, 1_500, 3_600, rate_hz, rng)
    sound = np.concatenate([np.zeros(round(LATCH_S * rate_hz)), thud])
    sound[: len(click)] += click
    return sound


def _noise(seconds: float, low_hz: float, high_hz: float, rate_hz: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise between two frequencies with an RMS of 1."""
    shape = butter(2, (low_hz, high_hz), "bandpass", fs=rate_hz, output="sos")
    made: NDArray[np.float64] = sosfilt(shape, rng.standard_normal(round(seconds * rate_hz)))
    normal: NDArray[np.float64] = made / np.sqrt(np.mean(made**2))
    return normal
