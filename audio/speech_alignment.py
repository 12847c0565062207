"""Where in a sound each stretch of its text ends, for voices that do not say: found with the help of a voice that does.

Services give out sound and no durations. The same words are said by a voice whose durations are known, and the two sounds are
laid upon each other by dynamic time warping of their spectra, the way text is aligned to audio books. Where the known voice
parts two stretches, the unknown one does too, within a few hundredths of a second; the cut is then moved to the quietest
instant nearby, which is where one word ends and the next has not begun. No recogniser is needed, and no word is guessed.

Sources: Sakoe and Chiba 1978 (dynamic time warping); how exact it is stands in docs/voices.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft
from scipy.spatial.distance import cdist

from audio.pcm import Float32, resample_float
from audio.speech_floor import Stretch
from audio.synthesis import Passage, Synthesiser

HOP_S = 0.01
WINDOW_S = 0.025
BANDS = 40
RATE_HZ = 16_000
NEARBY_S = 0.06
"""How far a cut may be moved to find the quietest instant; beyond it lies the next sound."""
BESIDE = 0.25
"""How far the two may drift apart, as a share of the longer one: voices pause at different commas."""

Float64 = NDArray[np.float64]


class Guide(Protocol):
    """A voice that knows where in its sound each stretch ends."""

    @property
    def rate_hz(self) -> int: ...

    def speak_turn(self, stretches: Sequence[Stretch], seed: int) -> list[Passage]: ...


class GuidedVoice:
    """A voice that cannot say where its stretches end, made an `AlignedVoice` by a guide that can."""

    def __init__(self, voice: Synthesiser, guide: Guide) -> None:
        self._voice = voice
        self._guide = guide

    @property
    def identity(self) -> str:
        return self._voice.identity

    @property
    def rate_hz(self) -> int:
        return self._voice.rate_hz

    def speak_turn(self, stretches: Sequence[Stretch], seed: int) -> list[Passage]:
        """See `audio.synthesis.AlignedVoice.speak_turn`. Stretches that are one sentence are asked for at once."""
        runs = _runs(stretches)
        texts = [" ".join(stretches[k].text for k in run) for run in runs]
        spoken = self._voice.speak(texts, seed)
        passages = []
        for run, sounds in zip(runs, spoken, strict=True):
            sound = np.concatenate(sounds) if sounds else np.zeros(0, dtype=np.float32)
            if len(run) == 1 or not sound.size:
                passages.append(Passage(sound, tuple((k, sound.size) for k in run)))
                continue
            known = _as_one(self._guide.speak_turn([stretches[k] for k in run], 0))
            ends = align(sound, self.rate_hz, known.samples, self._guide.rate_hz, [end for _, end in known.pieces[:-1]])
            pieces = zip(run, [*ends, sound.size], strict=True)
            passages.append(Passage(sound, tuple(pieces)))
        return passages


def align(sound: Float32, rate_hz: int, known: Float32, known_hz: int, ends: Sequence[int]) -> list[int]:
    """Samples of `sound` that answer to the samples `ends` of `known`, which says the same words; each at a quiet instant."""
    here, there = resample_float(sound, rate_hz, RATE_HZ), resample_float(known, known_hz, RATE_HZ)
    path = _path(_spectra(here), _spectra(there))
    found = []
    for end in ends:
        frame = end / known_hz / HOP_S
        at_s = float(np.interp(frame, path[:, 1], path[:, 0])) * HOP_S
        found.append(round(_quietest(here, at_s) * rate_hz))
    return found


def _runs(stretches: Sequence[Stretch]) -> list[list[int]]:
    """Stretches that are one sentence together."""
    marks = np.cumsum([0, *(stretch.closes for stretch in stretches[:-1])])
    return [[k for k, _ in group] for _, group in groupby(enumerate(marks), key=lambda found: found[1])]


def _as_one(passages: Sequence[Passage]) -> Passage:
    """Several sentences as one sound; a stretch ends where its last piece does."""
    ends: dict[int, int] = {}
    offset = 0
    for passage in passages:
        ends |= {stretch: offset + end for stretch, end in passage.pieces}
        offset += passage.samples.size
    return Passage(np.concatenate([p.samples for p in passages]), tuple(ends.items()))


def _spectra(signal: Float32) -> Float64:
    """Log spectra in mel bands every 10 ms, freed of what each voice has throughout, and loudness beside them."""
    width, hop = round(WINDOW_S * RATE_HZ), round(HOP_S * RATE_HZ)
    padded = np.pad(signal.astype(np.float64), (width // 2, width))
    frames = np.lib.stride_tricks.sliding_window_view(padded, width)[::hop] * np.hanning(width)
    power = np.abs(np.asarray(rfft(frames, 512, axis=1))) ** 2 @ _mel_bands(512).T
    level = np.log(np.maximum(power, power.max() * 1e-6))
    return np.asarray((level - level.mean(axis=0)) / level.std(axis=0).clip(1e-3), dtype=np.float64)


def _mel_bands(size: int) -> Float64:
    hz = np.fft.rfftfreq(size, 1 / RATE_HZ)
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 7_600 / 700), BANDS + 2) / 2595) - 1)
    rising = (hz - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - hz) / np.diff(edges)[1:, None]
    return np.asarray(np.maximum(0, np.minimum(rising, falling)), dtype=np.float64)


def _path(here: Float64, there: Float64) -> Float64:
    """Matching frames (here, there) of the cheapest way through both, each step one frame on in one or both."""
    cost = cdist(here, there, "euclidean")
    rows, columns = cost.shape
    beside = np.abs(np.arange(rows)[:, None] / rows - np.arange(columns)[None] / columns)
    cost[beside > BESIDE] = np.inf
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0
    for diagonal in range(rows + columns - 1):
        i = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        j = diagonal - i
        # Straight on costs both frames' share, so that detours are not cheaper than the way itself.
        total[i + 1, j + 1] = np.minimum(
            total[i, j] + 2 * cost[i, j], np.minimum(total[i, j + 1], total[i + 1, j]) + cost[i, j]
        )
    i, j = rows - 1, columns - 1
    steps = [(i, j)]
    while i or j:
        before = {
            (i - 1, j - 1): total[i, j] + 2 * cost[i, j],
            (i - 1, j): total[i, j + 1] + cost[i, j],
            (i, j - 1): total[i + 1, j] + cost[i, j],
        }
        i, j = min((at for at in before if at[0] >= 0 and at[1] >= 0), key=before.__getitem__)
        steps.append((i, j))
    return np.array(steps[::-1], dtype=np.float64)


def _quietest(signal: Float32, at_s: float) -> float:
    """The middle of the quietest 10 ms within `NEARBY_S` of an instant, in seconds."""
    width = round(0.01 * RATE_HZ)
    first = max(0, round((at_s - NEARBY_S) * RATE_HZ))
    near = signal[first : round((at_s + NEARBY_S) * RATE_HZ)].astype(np.float64) ** 2
    if near.size <= width:
        return at_s
    power = np.convolve(near, np.ones(width), "valid")
    return (first + int(np.argmin(power)) + width / 2) / RATE_HZ
