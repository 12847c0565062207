"""The sounds of a scripted agent: simple, exact to the sample, and of kinds that a detector must distinguish.

A timing method is wrong in ways that only such sounds show: a click or a tone is sound but not voice, silence before the
first word delays what is heard but not what arrives, and a true recording has a soft onset.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import soundfile
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from harness.agents.scripted_voice import voice
from harness.audio.pcm import FULL_SCALE, resample, to_int16

_NOISE_SEED = 20_260
"""Seed of the noise, so that every run of a script has the same."""


class Piece(BaseModel):
    """One stretch of sound. `level_db` is the RMS below full scale; a `file` is played as it is, made mono."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["silence", "tone", "noise", "click", "voice", "file"]
    ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0
    hz: Annotated[float, Field(gt=0, le=20_000)] = 160.0
    """Frequency of a tone, or the mean pitch of a voice (see `harness.agents.scripted_voice` for why 160)."""
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
    samples, file_rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    return resample(to_int16(samples.mean(axis=1)), file_rate_hz, rate_hz)
