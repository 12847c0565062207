"""The metrology agent's program for one trial, drawn at random and hidden from the analyser until it has measured."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.audio.level import first_sample
from harness.calibrate.voice import attack, coloured_noise, synthetic_voice

AGENT_HZ = 24_000
REPLY_S = 0.9
_SNRS_DB = (None, None, 30.0, 20.0)
"""Half of the trials are clean; the others are no noisier than a synthesiser or a telephone line."""

NOISE_LEAD_S = 0.05
"""Noise that starts with the voice, or less than 25 ms before it, cannot be separated from it (docs/measurement.md)."""


@dataclass(frozen=True, slots=True)
class Program:
    """One programmed reply. Levels in dB of full scale."""

    delay_s: float
    lead_s: float
    level_db: float
    attack_s: float
    pitch_hz: float
    snr_db: float | None
    seed: int


def draw(rng: np.random.Generator) -> Program:
    """A program within the range of real agents."""
    snr_db = _SNRS_DB[int(rng.integers(len(_SNRS_DB)))]
    return Program(
        delay_s=float(rng.uniform(0.05, 1.5)),
        lead_s=float(rng.uniform(0.0 if snr_db is None else NOISE_LEAD_S, 0.25)),
        level_db=float(rng.uniform(-32, -14)),
        attack_s=float(rng.uniform(0.0, 0.02)),
        pitch_hz=float(rng.uniform(95, 205)),
        snr_db=snr_db,
        seed=int(rng.integers(2**31)),
    )


def render(program: Program) -> tuple[NDArray[np.int16], float]:
    """The reply as sent (24 kHz), and its true onset in ms: where its *dry* signal comes within 40 dB of its own level."""
    rng = np.random.default_rng(program.seed)
    voice = synthetic_voice(REPLY_S, AGENT_HZ, rng, program.pitch_hz) * 10 ** (program.level_db / 20)
    voice *= attack(len(voice), program.attack_s, AGENT_HZ)
    dry = np.concatenate([np.zeros(round(program.lead_s * AGENT_HZ)), voice])
    onset = first_sample(_int16(dry), AGENT_HZ)
    assert onset is not None
    sent = dry
    if program.snr_db is not None:
        sent = dry + coloured_noise(len(dry), program.level_db - program.snr_db, rng)
    return _int16(sent), onset / AGENT_HZ * 1000


def _int16(sound: NDArray[np.float64]) -> NDArray[np.int16]:
    return np.clip(np.round(sound * 32768), -32768, 32767).astype(np.int16)
