"""The sound on its way to the agent: a room, a faint or overdriven microphone, and the telephone's narrow band with G.711.

The direct sound keeps its place and level in a room, the telephone band is cut forwards and backwards (zero phase), and
resampling is delay-free: nothing is heard later than it was said. A real exchange adds a constant delay, which belongs to the
network and not to the agent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.audio.pcm import Float32, Law, decode, encode, resample_float, to_float, to_int16

TELEPHONE_RATE_HZ = 8_000
BAND_HZ = (300.0, 3_400.0)
"""ITU-T G.712's nominal band."""
BAND_ORDER = 4
"""Filter order of each pass; forwards and backwards it falls by 48 dB an octave, as exchange filters do within a few dB."""
DIRECT_TO_REVERBERANT_DB = 3.0
"""Ratio of direct to reverberant sound, as at about an arm's length from a speakerphone in a furnished room."""
FIRST_REFLECTION_S = 0.005
"""Way of the first reflection beyond the direct sound: 1.7 m, off a table or a wall."""
PEAK_OVER_SPEECH_DB = 12.0
"""The usual peak of speech over its level."""


@dataclass(frozen=True, slots=True)
class OnLine:
    """The input of a stage: samples, rate, the level of the dry caller's speech, and the stage's own random generator.

    A stage returns as many samples as it got, none of them shifted in time.
    """

    signal: Float32
    rate_hz: int
    speech_dbfs: float
    chance: np.random.Generator


def reverberate(line: OnLine, rt60_s: float) -> Float32:
    """A caller away from the microphone, in a room whose sound falls by 60 dB in `rt60_s`.

    The tail after the end of the signal is dropped: apply a condition to a track that includes the silence after the turn.
    """
    from scipy.signal import fftconvolve

    tail = room_tail(rt60_s, line.rate_hz, line.chance)
    return line.signal + np.asarray(fftconvolve(line.signal, tail)[: line.signal.size], dtype=np.float32)


def room_tail(rt60_s: float, rate_hz: int, chance: np.random.Generator) -> Float32:
    """The impulse response of a room without its direct sound: exponentially decaying noise (Polack's model)."""
    time_s = np.arange(round(rt60_s * rate_hz)) / rate_hz
    tail = chance.standard_normal(time_s.size) * 10 ** (-3 * time_s / rt60_s)
    tail[time_s < FIRST_REFLECTION_S] = 0.0
    energy = float(np.sum(tail**2))
    return np.asarray(tail * np.sqrt(10 ** (-DIRECT_TO_REVERBERANT_DB / 10) / max(energy, 1e-12)), dtype=np.float32)


def low_level(line: OnLine, fainter_db: float) -> Float32:
    """The caller and the background fainter by this many dB."""
    return np.asarray(line.signal * 10 ** (-fainter_db / 20), dtype=np.float32)


def clip(line: OnLine, cut_db: float) -> Float32:
    """Peaks cut `cut_db` below the usual peak of speech, as an overdriven input does."""
    ceiling = 10 ** ((line.speech_dbfs + PEAK_OVER_SPEECH_DB - cut_db) / 20)
    return np.clip(line.signal, -ceiling, ceiling).astype(np.float32)


def telephone(line: OnLine, law: Law) -> Float32:
    """The telephone: 300 to 3,400 Hz at 8 kHz through G.711, then back at the signal's rate."""
    from scipy.signal import butter, sosfiltfilt

    narrow = resample_float(line.signal, line.rate_hz, TELEPHONE_RATE_HZ)
    band = butter(BAND_ORDER, BAND_HZ, "bandpass", fs=TELEPHONE_RATE_HZ, output="sos")
    if narrow.size > 3 * (2 * BAND_ORDER + 1) * 2:
        narrow = np.asarray(sosfiltfilt(band, narrow), dtype=np.float32)
    heard = to_float(decode(encode(to_int16(narrow), law), law))
    wide = resample_float(heard, TELEPHONE_RATE_HZ, line.rate_hz)
    return np.pad(wide, (0, max(0, line.signal.size - wide.size)))[: line.signal.size].astype(np.float32)
