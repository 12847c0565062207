"""The sounds of known agents and their callers, each of which begins with its first sample.

The voices are synthesised sentences that ship (hibari; `tests/harness/known/render_voices.py` makes them), so that the kit
needs no model and sounds the same everywhere. The answers begin with a sound of each class, for a tool that is right about
vowels can be 40 ms late on a weak fricative. The beginning of a word is found in the sentence as synthesised, before level,
noise and line: its first millisecond within 30 dB of its speech level. All else is computed.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

import numpy as np
import soundfile
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt

from harness.audio.pcm import FULL_SCALE, Int16, resample, to_int16

VOICES_HZ: Final = 24_000
LEVEL_DB: Final = -24.0
"""Speech level of voices: a usual telephone level, 36 dB over the noise of a known agent's bed."""
Kind = Literal["sound", "speech", "answer"]
"""The figure that a sound begins: any sound; words; the words of the answer."""
_KINDS: Final[dict[str, Kind]] = {
    "click": "sound", "earcon": "sound", "breath": "sound", "music": "sound", "murmur": "sound",
    "filler": "speech", "cut": "speech", "greeting": "speech",
}  # fmt: skip
_SEED: Final = 60


@dataclass(frozen=True, slots=True)
class Sound:
    """One sound: int16 mono, which begins to be heard with its first sample, and the figure that it begins."""

    samples: Int16
    kind: Kind


@lru_cache(maxsize=256)
def sound(name: str, rate_hz: int, seed: int = 0) -> Sound:
    """The sound of a name at a rate. `seed` chooses among the voices of one name (`answer`, `caller`).

    Raises `KeyError` for a name that is none.
    """
    kind = _KINDS.get(name, "answer")
    if name in _MADE:
        return Sound(to_int16(_MADE[name](rate_hz)), kind)
    clips = _voices()[name]
    return Sound(resample(clips[seed % len(clips)], VOICES_HZ, rate_hz), kind)


def count(name: str) -> int:
    """The number of voices that have the name."""
    return len(_voices()[name])


@lru_cache(maxsize=1)
def _voices() -> dict[str, list[Int16]]:
    folder = files("harness.known")
    with (folder / "voices.flac").open("rb") as file:
        samples, _ = soundfile.read(file, dtype="int16")
    found: dict[str, list[Int16]] = {}
    for each in json.loads((folder / "voices.json").read_text(encoding="utf-8")):
        found.setdefault(each["name"], []).append(samples[each["start"] : each["end"]])
    return found


def noise(seconds: float, rate_hz: int, db: float, seed: int = _SEED) -> NDArray[np.float64]:
    """White noise of this level, in dB of full scale (RMS)."""
    return np.random.default_rng(seed).standard_normal(round(seconds * rate_hz)) * 10 ** (db / 20)


def _time_s(seconds: float, rate_hz: int) -> NDArray[np.float64]:
    return np.arange(1, round(seconds * rate_hz) + 1) / rate_hz


def _click(rate_hz: int) -> NDArray[np.float64]:
    """2 ms at once loud and decaying."""
    t = _time_s(0.002, rate_hz)
    return 0.4 * np.cos(2 * np.pi * 2_000 * t) * np.exp(-t / 0.0007)


def _earcon(rate_hz: int) -> NDArray[np.float64]:
    """Two notes, 30 dB under full scale; each begins within 2 ms."""
    t = _time_s(0.09, rate_hz)
    swell = np.minimum(1.0, t / 0.002) * np.exp(-t / 0.05)
    return np.concatenate([0.05 * np.sin(2 * np.pi * hz * t) * swell for hz in (660.0, 880.0)])


def _breath(rate_hz: int) -> NDArray[np.float64]:
    """300 ms of noise between 400 and 3,000 Hz, as an inhalation swells and ends; 24 dB under the voice."""
    shaped = sosfilt(butter(2, (400.0, 3_000.0), "band", fs=rate_hz, output="sos"), noise(0.3, rate_hz, LEVEL_DB - 18.0))
    # A square root begins at once, so that the first sample is the beginning also for a detector by level.
    return np.asarray(shaped * np.sqrt(np.sin(np.pi * np.linspace(0.02, 1.0, len(shaped)))))


def _music(rate_hz: int) -> NDArray[np.float64]:
    """2 s of plucked notes of three partials each, one every 250 ms."""
    t = _time_s(0.25, rate_hz)
    notes = [sum(np.sin(2 * np.pi * k * hz * t) / k for k in (1, 2, 3)) for hz in (262.0, 330.0, 392.0, 523.0)]
    swell = np.minimum(1.0, t / 0.003) * np.exp(-t / 0.15)
    return np.concatenate([0.06 * note * swell for note in notes * 2])


_MADE: Final = {"click": _click, "earcon": _earcon, "breath": _breath, "music": _music}


def dc(samples: int) -> Int16:
    """A constant offset of −24 dB of full scale."""
    return np.full(samples, round(FULL_SCALE * 10 ** (LEVEL_DB / 20)), np.int16)
