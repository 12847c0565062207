"""The sounds of a scripted agent: simple, exact to the sample, and of kinds that a detector must distinguish.

A timing method is wrong in ways that only such sounds show: a click or a tone is sound but not voice, silence before the
first word delays what is heard but not what arrives, and a true recording has a soft onset.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.signal import lfilter

from harness.audio.pcm import FULL_SCALE, resample, to_int16
from harness.audio.sound_file import Bounds, read_float

_NOISE_SEED = 20_260
"""Seed of the noise, so that every run of a script has the same."""

BOUNDS = Bounds(longest_s=600.0)
"""Longest file of a piece: ten times the longest piece of any other kind."""


class Piece(BaseModel):
    """One stretch of sound. `level_db` is the RMS below full scale; a `file` is played as it is, made mono."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["silence", "tone", "noise", "click", "voice", "file"]
    ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0
    hz: Annotated[float, Field(gt=0, le=20_000)] = 160.0
    """Frequency of a tone, or the mean pitch of a voice (see `voice` for why 160)."""
    level_db: Annotated[float, Field(ge=-90, le=-3)] = -20.0
    path: Path | None = None

    @model_validator(mode="after")
    def _file_has_a_path(self) -> "Piece":
        if (self.kind == "file") != (self.path is not None):
            raise ValueError("a piece of kind file has a path, and no other has")
        return self


def render(pieces: Sequence[Piece], rate_hz: int) -> NDArray[np.int16]:
    """The pieces one after another, int16 mono at `rate_hz`; each lasts its `ms` to the nearest sample."""
    parts = [_render(piece, rate_hz) for piece in pieces]
    return np.concatenate(parts) if parts else np.zeros(0, np.int16)


def _render(piece: Piece, rate_hz: int) -> NDArray[np.int16]:
    if piece.kind == "file":
        assert piece.path is not None
        return _from_file(piece.path, rate_hz)
    count = round(piece.ms * rate_hz / 1e3)
    rms = FULL_SCALE * 10 ** (piece.level_db / 20)
    signal = np.zeros(count)
    if piece.kind == "tone":
        signal = rms * np.sqrt(2) * np.sin(2 * np.pi * piece.hz * np.arange(1, count + 1) / rate_hz)
    elif piece.kind == "noise":
        signal = rms * np.random.default_rng(_NOISE_SEED).standard_normal(count)
    elif piece.kind == "voice":
        signal = rms * voice(piece.ms / 1e3, rate_hz, piece.hz)
    elif piece.kind == "click" and count:
        signal[0] = FULL_SCALE - 1
    return to_int16(signal / FULL_SCALE)


def _from_file(path: Path, rate_hz: int) -> NDArray[np.int16]:
    channels, file_rate_hz = read_float(path, BOUNDS)
    return resample(to_int16(channels.mean(axis=0)), file_rate_hz, rate_hz)


_VOWELS_HZ = ((730, 1_090, 2_440), (270, 2_290, 3_010), (570, 840, 2_410))
"""Formants of the vowels of *father*, *see* and *saw* (Peterson and Barney, 1952, men)."""
_BANDWIDTHS_HZ = (80, 100, 120)
_VOWEL_S = 0.07
_EDGE_S = 0.02
"""Time in which a syllable swells and fades."""
_BREATH = 0.003
_SEED = 1_952


def voice(duration_s: float, rate_hz: int, pitch_hz: float) -> NDArray[np.float64]:
    """`duration_s` of babble at `rate_hz` with an RMS of 1, beginning on a pulse.

    A timing method counts vocal sound only, so silence, tones and noise cannot stand for an answer. This is a source-filter
    voice (a pulse train through three formants, babbling through three vowels), *detected as voice* without a model or
    recording, and the same to the sample wherever it is made. Settings were searched with silero as the listener: at a pitch
    of 160 Hz it takes every 32 ms window for voice, the first with 0.74 and the next seven with at least 0.91; slower
    syllables (180 ms) fall to 0.02 there, because a vowel that is held is taken for a hum.
    """
    count = round(duration_s * rate_hz)
    if count == 0:
        return np.zeros(0)
    time_s = np.arange(count) / rate_hz
    pitch = pitch_hz * (1 + 0.06 * np.sin(2 * np.pi * 2.1 * time_s) + 0.02 * np.sin(2 * np.pi * 5.3 * time_s))
    pulses = np.diff(np.floor(np.cumsum(pitch) / rate_hz), prepend=-1)
    source = lfilter([1], [1, -0.96], pulses) + _BREATH * np.random.default_rng(_SEED).standard_normal(count)
    syllable = round(_VOWEL_S * rate_hz)
    syllables = [
        _shaped(source[at : at + syllable], _VOWELS_HZ[number % len(_VOWELS_HZ)], rate_hz)
        for number, at in enumerate(range(0, count, syllable))
    ]
    radiated = np.diff(np.concatenate(syllables), prepend=0)
    loudness = float(np.sqrt(np.mean(radiated**2)))
    return np.asarray(radiated / loudness if loudness else radiated)


def _shaped(source: NDArray[np.float64], formants_hz: tuple[int, ...], rate_hz: int) -> NDArray[np.float64]:
    sound = source
    for formant_hz, bandwidth_hz in zip(formants_hz, _BANDWIDTHS_HZ, strict=True):
        radius = np.exp(-np.pi * bandwidth_hz / rate_hz)
        poles = [1.0, -2 * radius * np.cos(2 * np.pi * formant_hz / rate_hz), radius**2]
        sound = lfilter([sum(poles)], poles, sound)
    position = np.arange(source.size)
    swell = np.minimum(1.0, np.minimum(position, position[::-1]) / (_EDGE_S * rate_hz))
    return np.asarray(sound * (0.3 + 0.7 * swell))
