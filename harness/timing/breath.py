"""The breath before a word: the agent's first vocal sound, which no speech model detects as speech.

A listener who hears somebody draw breath knows that an answer comes, so a breath ends the wait; noise, a click or a line that
opens does not. A breath has no pitch, lasts a fifth of a second or so, swells and ebbs, ends in a short quiet, and a word
follows. It begins at 40 dB below the speech that follows. One that runs into its word without a dip counts as noise.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import EDGE_DB, WINDOW_S, block_power, islands, speech_power
from harness.audio.voicing import FRAME, HOP_S, VOICED, voicing
from harness.audio.voicing import RATE_HZ as PITCH_HZ
from harness.recording.playout import HEARD_RATE_HZ

SHORTEST_S: Final = 0.12
"""A hiss before a stop ("sp") lasts less."""
LONGEST_S: Final = 1.0
BEFORE_WORD_S: Final = 0.5
"""The quiet between breath and word is shorter; after a longer one the breath belongs to nothing."""
SWELL_DB: Final = 3.0
"""The first and the last sixth of a breath are quieter than its loudest part by this much."""
OVER_FLOOR_DB: Final = 10.0
MOST_PITCHED: Final = 0.2
_BLOCK_S: Final = 0.002
_JOIN_S: Final = 0.03
_SPEECH_S: Final = 1.5
_PITCH_WITHIN_S: Final = 0.7
_PITCH_RUN: Final = 4


@dataclass(frozen=True, slots=True)
class Breath:
    """A breath, in samples of the heard track. `word` is where the sound after the breath begins."""

    start: int
    end: int
    word: int


def breath_before(samples: NDArray[np.float32], onset: int, end: int, earliest: int) -> Breath | None:
    """The breath that leads into an utterance; nothing before `earliest` is examined. None without a breath."""
    voice = _first_pitch(samples, onset, end)
    if voice is None:
        return None
    block = round(HEARD_RATE_HZ * _BLOCK_S)
    begin = max(earliest, voice - round((LONGEST_S + BEFORE_WORD_S) * HEARD_RATE_HZ))
    power = block_power(samples[begin:voice], block)
    window = round(WINDOW_S / _BLOCK_S)
    if len(power) <= window:
        return None
    level = np.convolve(power, np.ones(window) / window)[: len(power)]
    speech = speech_power(samples[voice : min(end, voice + round(_SPEECH_S * HEARD_RATE_HZ))], HEARD_RATE_HZ)
    floor = float(np.percentile(level, 10)) * 10 ** (OVER_FLOOR_DB / 10)
    heard = islands(level >= max(speech * 10 ** (-EDGE_DB / 10), floor), round(_JOIN_S / _BLOCK_S))
    if len(heard) < 2 or heard[-1][1] < len(level) - window:
        return None
    (first, past), (word, _) = heard[-2:]
    quiet_s, length_s = (word - past) * _BLOCK_S, (past - first) * _BLOCK_S
    if quiet_s > BEFORE_WORD_S or not SHORTEST_S <= length_s <= LONGEST_S or not _swells(level[first:past]):
        return None
    found = Breath(begin + first * block, begin + past * block, begin + word * block)
    return None if _is_pitched(samples[found.start : found.end]) else found


def _first_pitch(samples: NDArray[np.float32], onset: int, end: int) -> int | None:
    narrow = samples[onset : min(end, onset + round(_PITCH_WITHIN_S * HEARD_RATE_HZ))]
    pitched = voicing(soxr.resample(narrow, HEARD_RATE_HZ, PITCH_HZ, quality="HQ").astype(np.float32)) >= VOICED
    if len(pitched) < _PITCH_RUN:
        # Broken off before a voiced sound could end.
        return None
    run = np.flatnonzero(np.convolve(pitched, np.ones(_PITCH_RUN), "valid") >= _PITCH_RUN - 0.5)
    if not len(run):
        return None
    # The last third of a frame alone may make it pitched.
    return onset + round((int(run[0]) * HOP_S + FRAME / PITCH_HZ) * HEARD_RATE_HZ)


def _is_pitched(samples: NDArray[np.float32]) -> bool:
    narrow = soxr.resample(samples, HEARD_RATE_HZ, PITCH_HZ, quality="HQ").astype(np.float32)
    frames = voicing(narrow)
    return bool(len(frames)) and float(np.mean(frames >= VOICED)) > MOST_PITCHED


def _swells(level: NDArray[np.float64]) -> bool:
    sixth = max(1, len(level) // 6)
    loudest = max(float(part.mean()) for part in np.array_split(level, 6))
    quieter = loudest * 10 ** (-SWELL_DB / 10)
    return float(level[:sixth].mean()) <= quieter and float(level[-sixth:].mean()) <= quieter
