"""Renderings on disk, one FLAC a turn under the key of its content, so that anyone can also listen to them.

Where the pauses lie stands in the file's comment: one file cannot be half there. It is written aside and renamed into
place; what cannot be read is made again.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from audio.pcm import Int16


@dataclass(frozen=True, slots=True)
class KeptRendering:
    """What a file holds: samples, rate and the marked pauses in samples."""

    samples: Int16
    rate_hz: int
    pauses: tuple[tuple[int, int], ...]


def load_rendering(folder: Path, key: str) -> KeptRendering | None:
    """The rendering under `key`, or None where there is none that can be read whole."""
    path = folder / f"{key}.flac"
    if not path.exists():
        return None
    try:
        with soundfile.SoundFile(path) as file:
            note = json.loads(file.comment)
            samples = np.asarray(file.read(dtype="int16"), dtype=np.int16)
            rate_hz = int(file.samplerate)
        pauses = tuple((int(start), int(end)) for start, end in note["pauses"])
        if note["samples"] != samples.size or any(samples[start:end].any() for start, end in pauses):
            return None
    except (soundfile.LibsndfileError, RuntimeError, ValueError, KeyError, TypeError):
        return None
    return KeptRendering(samples, rate_hz, pauses)


def save_rendering(folder: Path, key: str, samples: Int16, rate_hz: int, pauses: tuple[tuple[int, int], ...]) -> None:
    """Keep a rendering under `key`."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{key[:16]}-", suffix=".flac", dir=folder)
    os.close(descriptor)
    aside = Path(name)
    try:
        with soundfile.SoundFile(aside, "w", samplerate=rate_hz, channels=1, format="FLAC", subtype="PCM_16") as file:
            file.comment = json.dumps({"samples": int(samples.size), "pauses": pauses})
            file.write(samples)
        aside.replace(folder / f"{key}.flac")
    finally:
        aside.unlink(missing_ok=True)
