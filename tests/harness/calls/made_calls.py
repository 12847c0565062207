"""Calls of two sides whose every instant is known before they are measured."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from harness.audio.pcm import Int16, to_float, to_int16
from harness.calibrate.voice import coloured_noise, synthetic_voice
from harness.calls.as_recording import TwoSides

RATE_HZ = 16_000
CALLER_HZ, AGENT_HZ = 110.0, 190.0
"""Pitches of the two voices."""
Spans = Sequence[tuple[float, float]]


def side(
    spoken: Spans, lasts_s: float, pitch_hz: float, *, rate_hz: int = RATE_HZ, noise_db: float | None = None, seed: int = 0
) -> NDArray[np.float64]:
    """One side of a call: a voice of −22 dB of full scale that speaks at these seconds, over noise or digital silence."""
    rng = np.random.default_rng(seed)
    sound = np.zeros(round(lasts_s * rate_hz))
    for start_s, end_s in spoken:
        start, end = round(start_s * rate_hz), round(end_s * rate_hz)
        sound[start:end] = synthetic_voice(end_s - start_s + 0.001, rate_hz, rng, pitch_hz)[: end - start] * 0.08
    if noise_db is not None:
        sound += coloured_noise(len(sound), noise_db, rng, "pink")
    return sound


def pcm(sound: NDArray[np.float64]) -> Int16:
    """As 16-bit samples."""
    return to_int16(sound)


def sides(caller: Spans, agent: Spans, lasts_s: float, *, noise_db: float | None = None, seed: int = 0) -> TwoSides:
    """A call; `noise_db`: of the caller's side."""
    return TwoSides(
        pcm(side(caller, lasts_s, CALLER_HZ, noise_db=noise_db, seed=seed)), RATE_HZ,
        pcm(side(agent, lasts_s, AGENT_HZ, seed=seed + 1)), RATE_HZ,
    )  # fmt: skip


def write_call(path: Path, call: TwoSides, **how: str) -> Path:
    """A file of two channels, the caller left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not as int16, which libsndfile would not scale for a file of floats.
    soundfile.write(path, to_float(np.stack([call.caller, call.agent], axis=1)), call.caller_rate_hz, **how)
    return path


def short_call(seed: int = 0, wait_s: float = 0.7) -> TwoSides:
    """A caller of two turns who is answered twice after `wait_s`, and says goodbye."""
    first, second = (1.0, 2.4), (5.0, 6.5)
    answers = (first[1] + wait_s, first[1] + wait_s + 1.2), (second[1] + wait_s, second[1] + wait_s + 1.2)
    return sides([first, second, (9.4, 10.4)], answers, 11.5, seed=seed)
