"""Renderings on disk, one FLAC a turn under the key of its content, so that anyone can also listen to them.

Where the pauses lie, and how each stretch before them ends, stands in the file's comment: one file cannot be half there. It
is written aside and renamed into place; what cannot be read is made again.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile

from harness.audio.pcm import Int16


@dataclass(frozen=True, slots=True)
class StretchEnd:
    """How a stretch of a turn ends: where (sample), what kind of end, whether the speaker meant to go on, and by which cues."""

    at_sample: int
    kind: str
    """`mid_sentence`, `after_sentence` or `turn_end`."""
    holds: bool | None
    """None in mid-sentence, where nothing is shown."""
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptRendering:
    """What a file holds: samples, rate, the marked pauses in samples, how each stretch ends, and the words as said."""

    samples: Int16
    rate_hz: int
    pauses: tuple[tuple[int, int], ...]
    ends: tuple[StretchEnd, ...]
    said: str


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
        ends = tuple(
            StretchEnd(int(e["at_sample"]), str(e["kind"]), e["holds"], tuple(map(str, e["cues"]))) for e in note["ends"]
        )
        said = str(note["said"])
        if note["samples"] != samples.size or any(samples[start:end].any() for start, end in pauses):
            return None
    except (soundfile.LibsndfileError, RuntimeError, ValueError, KeyError, TypeError):
        return None
    return KeptRendering(samples, rate_hz, pauses, ends, said)


def save_rendering(folder: Path, key: str, turn: KeptRendering) -> None:
    """Keep a rendering under `key`."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{key[:16]}-", suffix=".flac", dir=folder)
    os.close(descriptor)
    aside = Path(name)
    try:
        with soundfile.SoundFile(aside, "w", samplerate=turn.rate_hz, channels=1, format="FLAC", subtype="PCM_16") as file:
            file.comment = json.dumps(
                {
                    "samples": int(turn.samples.size),
                    "pauses": turn.pauses,
                    "ends": [asdict(end) for end in turn.ends],
                    "said": turn.said,
                }
            )
            file.write(turn.samples)
        aside.replace(folder / f"{key}.flac")
    finally:
        aside.unlink(missing_ok=True)
