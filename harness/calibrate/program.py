"""The metrology agent's program for one trial, drawn at random and hidden from the analyser until it has measured."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.calibrate.first_sounds import RATE_HZ, SENTENCES, sentence, voices
from harness.calibrate.voice import coloured_noise

AGENT_HZ = RATE_HZ
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
    voice: str
    first_sound: str
    text: str
    snr_db: float | None
    seed: int


def draw(rng: np.random.Generator) -> Program:
    """A program within the range of real agents, each class of first sound equally often."""
    snr_db = _SNRS_DB[int(rng.integers(len(_SNRS_DB)))]
    first_sound = str(rng.choice(list(SENTENCES)))
    return Program(
        delay_s=float(rng.uniform(0.05, 1.5)),
        lead_s=float(rng.uniform(0.0 if snr_db is None else NOISE_LEAD_S, 0.25)),
        level_db=float(rng.uniform(-32, -14)),
        voice=str(rng.choice(voices())),
        first_sound=first_sound,
        text=str(rng.choice(list(SENTENCES[first_sound]))),
        snr_db=snr_db,
        seed=int(rng.integers(2**31)),
    )


def render(program: Program) -> tuple[NDArray[np.int16], float]:
    """The reply as sent (24 kHz), and its true onset in ms: that of the whole sentence as it was synthesised."""
    rng = np.random.default_rng(program.seed)
    said, begins = sentence(program.voice, program.text, REPLY_S)
    lead = np.zeros(round(program.lead_s * AGENT_HZ))
    sent = np.concatenate([lead, said * 10 ** (program.level_db / 20)])
    if program.snr_db is not None:
        sent = sent + coloured_noise(len(sent), program.level_db - program.snr_db, rng)
    return np.clip(np.round(sent * 32768), -32768, 32767).astype(np.int16), (len(lead) + begins) / AGENT_HZ * 1000
