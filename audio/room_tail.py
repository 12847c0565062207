"""The end of speech in a room: where the speech stops, and not where its sound has died away.

A room's sound falls in a straight line of decibels, so a threshold 40 dB under the speech ends a turn two thirds of the
reverberation time late. *Is it a room?* The last 25 dB of every fall are fitted with a line; in rooms the lines are straight
and alike (of 8 made calls in 4 rooms and 44 without: 32 of 32 of 0.4 s and more are found, none of the others). *Where does the
line begin?* The level is straightened by the room's slope, and the end is the most likely change point from the back; what the
tail hides of a voice's own last fade is given back as `HIDDEN` of its time. The level is the mean of six bands in decibels,
because one band's own beats (4 dB) would hide the change.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.pcm import Float32

RATE_HZ: Final = 16_000
WINDOW: Final = 512
HOP: Final = 128
HOP_S: Final = HOP / RATE_HZ
EDGES_HZ: Final = (100, 400, 800, 1_500, 2_500, 4_000, 7_600)
FALL_DB: Final = 25.0
LEAST_FALL_DB: Final = 12.0
STRAIGHT_DB: Final = 1.1
MOST_OFF_DB: Final = 1.5
LEAST_STRAIGHT: Final = 0.3
ALIKE: Final = 0.3
"""A fall is straight within 1.1 dB; in a room at least three tenths of them are, their times are alike within three tenths, and
half of all falls are within 1.5 dB of a line (rooms of 0.4 to 0.8 s over noise at -60 dB: 0.5 to 1.5; no room: 1.5 to 7)."""
LEAST_FALLS: Final = 3
SHORTEST_S: Final = 0.25
LONGEST_S: Final = 2.0
TAIL_DB: Final = 1.0
SPEECH_DB: Final = 5.0
MOST_EVIDENCE: Final = 4.0
PLATEAU: Final = 40
HIDDEN: Final = 0.17
HIDDEN_FROM_S: Final = 0.1
LOOK_BACK_S: Final = 0.25
FALLS: Final = 55.0
FLOOR_PERCENTILE: Final = 5.0

Span = tuple[float, float]
Levels = NDArray[np.float64]


def without_tails(signal: Float32, speech: Sequence[Span]) -> tuple[tuple[Span, ...], float | None]:
    """The stretches of speech without the room's tails, and the room's reverberation time in seconds, None where no room is
    heard, and nothing is changed. `signal`: one channel at 16 kHz."""
    level = _levels(signal)
    falls = [_fall(level, span) for span in speech]
    straight = [60 / slope for slope, off_db in filter(None, falls) if off_db < STRAIGHT_DB and slope > 0]
    if len(straight) < max(LEAST_FALLS, LEAST_STRAIGHT * len(speech)):
        return tuple(speech), None
    low, rt60_s, high = (float(q) for q in np.percentile(straight, [25, 50, 75]))
    off_db = float(np.median([fall[1] for fall in falls if fall is not None]))
    if off_db > MOST_OFF_DB or high - low > ALIKE * rt60_s or not SHORTEST_S <= rt60_s <= LONGEST_S:
        return tuple(speech), None
    return tuple((start, _knee(level, start, end, rt60_s)) for start, end in speech), rt60_s


def _levels(signal: Float32) -> Levels:
    """The level of each hop: the mean over the bands, in decibels over their noise."""
    from scipy.signal import get_window

    window = get_window("hann", WINDOW).astype(np.float32)
    frequencies = np.fft.rfftfreq(WINDOW, 1 / RATE_HZ)
    bands = [(frequencies >= low) & (frequencies < high) for low, high in pairwise(EDGES_HZ)]
    padded = np.pad(signal, (WINDOW // 2, WINDOW))
    count = signal.size // HOP + 1
    powers = np.empty((len(bands), count))
    for first in range(0, count, 4_096):
        part = padded[first * HOP :][: 4_095 * HOP + WINDOW]
        frames = np.lib.stride_tricks.sliding_window_view(part, WINDOW)[::HOP][: count - first]
        spectrum = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
        for band, row in zip(bands, powers, strict=True):
            row[first : first + len(spectrum)] = spectrum[:, band].sum(axis=1)
    floor = np.percentile(powers, FLOOR_PERCENTILE, axis=1, keepdims=True)
    level = 10 * np.log10(np.maximum(powers - floor, 0.2 * floor) + 1e-12).mean(axis=0)
    smooth: Levels = np.convolve(level, np.ones(3) / 3, "same")
    return smooth


def _fall(level: Levels, span: Span) -> tuple[float, float] | None:
    """The slope of a stretch's last fall (dB/s) and how far the level is from a line (dB); None where it does not fall."""
    past = min(len(level), round(span[1] / HOP_S))
    least = max(round(span[0] / HOP_S), past - 150)
    first = past - 1
    while first > least and level[first] < level[past - 1] + FALL_DB:
        first -= 1
    if past - first < 6 or level[first] < level[past - 1] + LEAST_FALL_DB:
        return None
    at = np.arange(past - first) * HOP_S
    slope, start = np.polyfit(at, level[first:past], 1)
    return -float(slope), float(np.std(level[first:past] - slope * at - start))


def _knee(level: Levels, start: float, end: float, rt60_s: float) -> float:
    """The instant at which a stretch of speech becomes the room's tail."""
    past = min(len(level), round(end / HOP_S))
    first = round(max(start, end - LOOK_BACK_S - FALLS * rt60_s / 60) / HOP_S)
    flat = level[first:past] + 60 / rt60_s * HOP_S * np.arange(past - first)
    if len(flat) < 6:
        return end
    evidence = np.empty(len(flat))
    for k, here in enumerate(flat):
        after = flat[k + 1 : k + 1 + PLATEAU]
        off_db = here - float(np.median(after if len(after) >= 4 else flat[-5:]))
        evidence[k] = np.log(SPEECH_DB / TAIL_DB) - (off_db / TAIL_DB) ** 2 / 2 + (off_db / SPEECH_DB) ** 2 / 2
    behind = np.cumsum(np.clip(evidence, -MOST_EVIDENCE, MOST_EVIDENCE)[::-1])[::-1]
    knee = (first + int(np.argmax(behind))) * HOP_S + HIDDEN * (rt60_s - HIDDEN_FROM_S)
    return min(end, max(knee, start + 2 * HOP_S))
