"""Sounds that are no voice, or a voice made hard to see: a breath, music on hold, a telephone codec.

Each is generated, so that it needs no licence and can be had at any length and level.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt

_CHORDS_HZ: Final = ((261.6, 329.6, 392.0), (220.0, 261.6, 329.6), (349.2, 440.0, 523.3), (392.0, 493.9, 587.3))
_PARTIALS: Final = ((1, 1.0), (2, 0.5), (3, 0.25), (4, 0.12))
_MU: Final = 255.0


def breath(seconds: float, db: float, rate_hz: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Air drawn in: noise between 400 Hz and 5 kHz that swells and ebbs, `db` of full scale where it is loudest."""
    n = round(seconds * rate_hz)
    air = sosfilt(butter(2, (400, 5_000), "bandpass", fs=rate_hz, output="sos"), rng.standard_normal(n))
    out: NDArray[np.float64] = air / np.sqrt(np.mean(air**2)) * np.sin(np.pi * np.arange(n) / n) ** 2 * 10 ** (db / 20)
    return out


def whispered(sound: NDArray[np.float64], rate_hz: int) -> NDArray[np.float64]:
    """The voice without its tone, by WORLD, and with little below the first formant (Ito et al. 2005: 10 to 20 dB less)."""
    import pyworld

    pitch, times = pyworld.harvest(sound, rate_hz)
    envelope = pyworld.cheaptrick(sound, pitch, times, rate_hz)
    hz = np.fft.rfftfreq((envelope.shape[1] - 1) * 2, 1 / rate_hz)
    envelope /= 1 + (500 / np.maximum(hz, 1)) ** 2
    out: NDArray[np.float64] = pyworld.synthesize(np.zeros_like(pitch), envelope, np.ones_like(envelope), rate_hz)
    return out


def music(seconds: float, db: float, rate_hz: int, rng: np.random.Generator, note_s: float = 0.5) -> NDArray[np.float64]:
    """Plucked chords, one after another, with an RMS of `db` of full scale."""
    sound = np.zeros(round(seconds * rate_hz))
    for k, at in enumerate(range(0, len(sound), round(note_s * rate_hz))):
        t = np.arange(min(round(note_s * rate_hz), len(sound) - at)) / rate_hz
        chord = _CHORDS_HZ[(k // 4) % len(_CHORDS_HZ)]
        for note in (*chord, 2 * chord[rng.integers(3)]):
            for partial, strength in _PARTIALS:
                tone = np.sin(2 * np.pi * note * partial * t) * np.exp(-3 * t) * (1 - np.exp(-200 * t))
                sound[at : at + len(t)] += strength * tone
    out: NDArray[np.float64] = sound / np.sqrt(np.mean(sound**2)) * 10 ** (db / 20)
    return out


def through_mu_law(sound: NDArray[np.float64]) -> NDArray[np.float64]:
    """What 8 bits of μ-law (ITU-T G.711) leave of a signal in ±1."""
    squeezed = np.sign(sound) * np.log1p(_MU * np.minimum(np.abs(sound), 1)) / np.log1p(_MU)
    coded = np.round(squeezed * 127) / 127
    back: NDArray[np.float64] = np.sign(coded) * np.expm1(np.abs(coded) * np.log1p(_MU)) / _MU
    return back
