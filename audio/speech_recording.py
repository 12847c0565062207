"""A recorded turn in the form of a rendered one: one channel, the caller's rate and level, trimmed edges.

A rendering's pauses are known; those of a recording are detected: inner silences of 200 ms and more, by the same 40 dB rule
that finds the end of speech. That rule needs a quiet room: in a recording whose noise is less than 40 dB below the voice
nothing is silent, no pause is found, and speech ends with the file. There the pauses can be given: the sound in
them (a room, a breath) stays and is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.audio.pcm import resample_float, to_int16
from harness.audio.sound_file import Bounds, SoundFault, read_float
from harness.audio.speech import MOST_PEAK, RATE_HZ, SPEECH_LEVEL_DBFS, RenderedTurn
from harness.audio.speech_edges import WINDOW_MS, level_db, silent_runs, speaking, trim, window_samples

LEAST_PAUSE_MS = 200.0
BOUNDS = Bounds(longest_s=120.0)
"""The longest turn of a pack (`harness.scenarios.recorded`)."""


class RecordingError(ValueError):
    """A recording that cannot be used; the message is one line."""


def load_turn(
    path: Path, text: str, loudness_db: float = 0.0, pauses_s: Sequence[tuple[float, float]] | None = None
) -> RenderedTurn:
    """The recording at `path` (any format libsndfile reads) as a turn that says `text`.

    `pauses_s`: its pauses in seconds of the file if they are known; None: they are detected.

    Raises `RecordingError` for a file that cannot be read or is silent.
    """
    try:
        channels, recorded_hz = read_float(path, BOUNDS)
    except SoundFault as fault:
        raise RecordingError(f"{path}: {fault}") from fault
    mono = np.asarray(channels.mean(axis=0), dtype=np.float32)
    whole = resample_float(mono, recorded_hz, RATE_HZ)
    signal = trim(whole, RATE_HZ)
    if signal.size == 0:
        raise RecordingError(f"{path} holds no sound")
    gain = 10 ** ((SPEECH_LEVEL_DBFS + loudness_db - level_db(signal, RATE_HZ)) / 20)
    gain = min(gain, MOST_PEAK / float(np.abs(signal).max()))
    width = window_samples(RATE_HZ)
    if pauses_s is None:
        pauses = tuple(
            (start * width, end * width)
            for start, end in silent_runs(signal, RATE_HZ)
            if (end - start) * WINDOW_MS >= LEAST_PAUSE_MS
        )
    else:
        cut = int(np.flatnonzero(speaking(whole, RATE_HZ))[0]) * width
        pauses = _within(pauses_s, cut, signal.size)
    return RenderedTurn(to_int16(signal * gain), RATE_HZ, pauses, text)


def _within(pauses_s: Sequence[tuple[float, float]], cut: int, size: int) -> tuple[tuple[int, int], ...]:
    """The given pauses in samples of the trimmed turn; parts beyond its edges are silence of the line, not of the speaker."""
    moved = [(round(start * RATE_HZ) - cut, round(end * RATE_HZ) - cut) for start, end in pauses_s]
    return tuple((start, end) for start, end in moved if start > 0 and end < size)
