"""Recorded turns of the caller's seat beside the sound that an automatic speaker said: how far ends and pauses are off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve

from harness.audio.level import first_sample, last_sample
from harness.audio.pcm import Int16, to_float
from harness.people.track import RATE_HZ
from harness.recording.from_seat import CallerSound

SAME_PAUSE_S = 0.15
"""Pauses whose edges are all nearer than this are one."""


@dataclass(frozen=True)
class Errors:
    """Errors of one turn in ms. `missed` and `extra`: pauses that only the truth has, and only the recording."""

    start_ms: float
    end_ms: float
    edges_ms: tuple[float, ...]
    missed: int
    extra: int


def errors_of(track: Int16, said: CallerSound, start_s: float, end_s: float, pauses: Sequence[Sequence[float]]) -> Errors:
    """The errors of a turn that was found in a recording of this sound, which is placed in it by correlation."""
    heard, sound = to_float(track), to_float(said.samples)
    at = int(np.argmax(fftconvolve(heard, sound[::-1], mode="valid"))) if len(heard) > len(sound) else 0
    first, last = first_sample(said.samples, RATE_HZ), last_sample(said.samples, RATE_HZ)
    assert first is not None
    assert last is not None
    true = [((at + p.start_sample) / RATE_HZ, (at + p.end_sample) / RATE_HZ) for turn in said.turns for p in turn.pauses]
    matched = list(_matched(true, pauses))
    return Errors(
        start_ms=1_000 * (start_s - (at + first) / RATE_HZ),
        end_ms=1_000 * (end_s - (at + last + 1) / RATE_HZ),
        edges_ms=tuple(1_000 * (f - t) for found, truth in matched for f, t in zip(found, truth, strict=True)),
        missed=len(true) - len(matched),
        extra=len(pauses) - len(matched),
    )


def _matched(
    true: Sequence[Sequence[float]], found: Sequence[Sequence[float]]
) -> Iterator[tuple[Sequence[float], Sequence[float]]]:
    for truth in true:
        for pause in found:
            if max(abs(a - b) for a, b in zip(truth, pause, strict=True)) < SAME_PAUSE_S:
                yield pause, truth
                break
