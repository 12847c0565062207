"""Effects of microphone and telephone: faint callers, overdriven inputs, and the narrow band with G.711.

The telephone band is cut forwards and backwards (zero phase), and resampling is delay-free, so that nothing is heard later
than it was said; a real exchange adds a constant delay, which belongs to the network and not to the agent.
"""

from __future__ import annotations

import numpy as np

from harness.audio.conditions.stage import OnLine, Stage
from harness.audio.pcm import Float32, Law, decode, encode, resample_float, to_float, to_int16

TELEPHONE_RATE_HZ = 8_000
BAND_HZ = (300.0, 3_400.0)
"""ITU-T G.712's nominal band."""

BAND_ORDER = 4
"""Filter order of each pass; forwards and backwards it falls by 48 dB an octave, as exchange filters do within a few dB."""


def low_level(fainter_db: float) -> Stage:
    """A stage that makes the caller and the background fainter by this many dB."""

    def stage(line: OnLine) -> Float32:
        return np.asarray(line.signal * 10 ** (-fainter_db / 20), dtype=np.float32)

    return stage


def clip(cut_db: float) -> Stage:
    """A stage that cuts peaks `cut_db` below the usual peak of speech (12 dB over its level), as an overdriven input does."""

    def stage(line: OnLine) -> Float32:
        ceiling = 10 ** ((line.speech_dbfs + 12.0 - cut_db) / 20)
        return np.clip(line.signal, -ceiling, ceiling).astype(np.float32)

    return stage


def telephone(law: Law) -> Stage:
    """A stage for the telephone: 300 to 3,400 Hz at 8 kHz through G.711, then back at the signal's rate."""

    def stage(line: OnLine) -> Float32:
        from scipy.signal import butter, sosfiltfilt

        narrow = resample_float(line.signal, line.rate_hz, TELEPHONE_RATE_HZ)
        band = butter(BAND_ORDER, BAND_HZ, "bandpass", fs=TELEPHONE_RATE_HZ, output="sos")
        if narrow.size > 3 * (2 * BAND_ORDER + 1) * 2:
            narrow = np.asarray(sosfiltfilt(band, narrow), dtype=np.float32)
        heard = to_float(decode(encode(to_int16(narrow), law), law))
        wide = resample_float(heard, TELEPHONE_RATE_HZ, line.rate_hz)
        return np.pad(wide, (0, max(0, line.signal.size - wide.size)))[: line.signal.size].astype(np.float32)

    return stage
