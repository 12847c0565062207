"""The cache of renderings: one FLAC per turn under the key of its content, which anyone can also listen to.

The pauses and the ends of stretches are in the file's comment, because one file cannot be incomplete. It
is written under another name and then renamed; an unreadable file is made again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile

from harness.audio.pcm import Int16
from harness.audio.sound_file import flac
from harness.files import own_folder, write_whole


@dataclass(frozen=True, slots=True)
class StretchEnd:
    """The end of a stretch of a turn: its sample, its kind, the speaker's intention to go on, and the cues."""

    at_sample: int
    kind: str
    """`mid_sentence`, `after_sentence` or `turn_end`."""
    holds: bool | None
    """True if the speaker shows that more follows; None in mid-sentence."""
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptRendering:
    """The contents of a file: samples, rate, the marked pauses in samples, the ends of stretches, and the spoken words."""

    samples: Int16
    rate_hz: int
    pauses: tuple[tuple[int, int], ...]
    ends: tuple[StretchEnd, ...]
    said: str


def load_rendering(folder: Path, key: str) -> KeptRendering | None:
    """The rendering under `key`; None if there is none or it cannot be read."""
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
    """Store a rendering under `key`."""
    own_folder(folder)
    note = {
        "samples": int(turn.samples.size),
        "pauses": turn.pauses,
        "ends": [asdict(end) for end in turn.ends],
        "said": turn.said,
    }
    write_whole(folder / f"{key}.flac", flac(turn.samples, turn.rate_hz, json.dumps(note)))
