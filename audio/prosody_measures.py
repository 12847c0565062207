"""Five measures of audible emotion, taken from the finished sound and not from the settings of the rendering.

They are the ones on which reviews of vocal emotion report directions: mean and range of F0, energy, speaking rate, and the
share of pauses. F0 is Praat's, on the rendered signal. Marked pauses are left out of rate and pauses: they are the pack's
choice and the same in every emotion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.audio.pcm import to_float
from harness.audio.prosody import f0_track
from harness.audio.prosody_emotions import MEASURES, Measure, rendered_emotion
from harness.audio.speech import RenderedTurn
from harness.audio.speech_edges import LEAST_GAP_MS, WINDOW_MS, level_db, silent_runs, window_samples

_VOWELS = re.compile(r"[aeiouy]+")
F0_RANGE_PERCENTILES = (10, 90)
"""Percentiles of the F0 range, robust against octave errors in a few frames of any tracker."""


@dataclass(frozen=True, slots=True)
class ProsodyMeasures:
    """F0 mean in semitones over 1 Hz, F0 range (10th to 90th percentile) in semitones, speech level in dBFS, syllables a
    second of sounding speech, and the share of unmarked silence (56 ms and longer) in the time without marked pauses."""

    f0_mean: float
    f0_range: float
    energy: float
    rate: float
    pause_share: float

    def value(self, measure: Measure) -> float:
        return float(getattr(self, measure))


def measure_prosody(turn: RenderedTurn) -> ProsodyMeasures:
    """The five measures of a rendered turn.

    Raises `harness.audio.synthesis.VoiceError` if Praat's package is missing.
    """
    signal = to_float(turn.samples)
    track = f0_track(signal, turn.rate_hz)
    semitones = 12 * np.log2(track[track > 0])
    low, high = np.percentile(semitones, F0_RANGE_PERCENTILES) if semitones.size else (0.0, 0.0)
    marked_s = sum(end - start for start, end in turn.pauses) / turn.rate_hz
    own_silence_s = _own_silence_s(turn)
    spoken_s = turn.duration_s - marked_s
    return ProsodyMeasures(
        f0_mean=float(semitones.mean()) if semitones.size else 0.0,
        f0_range=float(high - low),
        energy=level_db(signal, turn.rate_hz),
        rate=syllables(turn.text) / max(spoken_s - own_silence_s, 1e-3),
        pause_share=own_silence_s / max(spoken_s, 1e-3),
    )


def syllables(text: str) -> int:
    """The number of syllables, estimated as groups of vowel letters without a silent final e; compared only for one text.

    >>> syllables("nearly an accountant")
    6
    """
    words = re.findall(r"[a-z']+", text.lower())
    return sum(max(1, len(_VOWELS.findall(re.sub(r"(?<=[^aeiouy])e$", "", word)))) for word in words)


def _own_silence_s(turn: RenderedTurn) -> float:
    width = window_samples(turn.rate_hz)
    total = 0
    for start, end in silent_runs(to_float(turn.samples), turn.rate_hz):
        marked = any(start * width < pause_end and pause_start < end * width for pause_start, pause_end in turn.pauses)
        if not marked and (end - start) * WINDOW_MS >= LEAST_GAP_MS:
            total += (end - start) * width
    return total / turn.rate_hz


@dataclass(frozen=True, slots=True)
class EmotionCheck:
    """Mean differences from neutral over the turns of one emotion, and those that agree with the literature."""

    emotion: str
    turns: int
    differences: Mapping[Measure, float]
    as_expected: tuple[Measure, ...]
    expected: int

    @property
    def audible(self) -> bool:
        """True if three of the five measures differ from neutral in the direction in the literature."""
        return len(self.as_expected) >= 3


def check_emotion(emotion: str, pairs: Sequence[tuple[ProsodyMeasures, ProsodyMeasures]]) -> EmotionCheck:
    """The comparison of turns with the neutral rendering of the same words; `pairs` are (emotional, neutral).

    Raises `harness.audio.prosody_emotions.UnknownEmotion`, and `ValueError` without a pair.
    """
    if not pairs:
        raise ValueError("no turns to compare")
    expected = rendered_emotion(emotion).expected
    differences: dict[Measure, float] = {
        measure: float(np.mean([rendered.value(measure) - plain.value(measure) for rendered, plain in pairs]))
        for measure in MEASURES
    }
    hits = tuple(measure for measure in MEASURES if expected.get(measure, 0) * differences[measure] > 0)
    return EmotionCheck(emotion, len(pairs), differences, hits, len(expected))
