"""The metrology agent's program for one trial, drawn at random and hidden from the analyser until it has measured.

An error measured on a programmed vowel holds for no agent that begins with /k/, /f/ or /th/: a burst is 10 ms, apart from its
vowel, and a weak fricative is 30 to 40 dB under it. So the agent speaks real synthesised sentences, as many of each class of
first sound, by hibari and, where its weights are stored, Piper joe; nothing is downloaded for it. The truth is of the sentence
as synthesised, before level, noise and wire.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import WINDOW_S, block_power, first_sample, quiet_spans, speech_power
from harness.audio.onset import CLOSURE_S
from harness.calibrate.voice import coloured_noise
from harness.errors import UserError
from harness.models import resolve

AGENT_HZ: Final = 24_000
HIBARI: Final = "hibari"
JOE: Final = "joe"
SENTENCES: Final[Mapping[str, Sequence[str]]] = MappingProxyType({
    "plosive": ("Could you say a bit more?", "Perhaps it can wait a day.", "Taking a break is fine.", "Big steps can wait."),
    "fricative": ("Feel free to go on.", "Thanks for saying so.", "See it as a beginning.", "Sharing it takes courage."),
    "nasal": ("Many people feel like this.", "Nothing about it is silly.", "May I ask about it?", "Name one thing you like."),
    "vowel": ("Often it gets easier.", "It may take a while.", "And then you called her.", "As you said, it was late."),
    "h": ("Has anybody helped you?", "Hold on to that thought.", "He may come around.", "Whose idea was that?"),
    "liquid": ("Last week was different.", "Wherever you are, breathe.", "You did the right thing.", "Writing it down helps."),
})  # fmt: skip
SPEECH_DB: Final = 10.0
"""A stretch whose loudest 8 ms are further below the speech level than this has no word in it."""
EDGE_S: Final = 0.03
"""Sound before the truth that is left: a synthesiser's own silence would be a second lead."""


def word_begins(sound: NDArray[np.floating], rate_hz: int) -> int:
    """The first sample of speech: its 8 ms RMS, looking back, lies within 40 dB of the speech level of all of `sound`.

    A sound that ends 90 ms and more before the word, over the longest closure of a plosive, is no part of it.
    """
    starts = [first_sample(sound, rate_hz) or 0, *(end for _, end in quiet_spans(sound, rate_hz, CLOSURE_S))]
    least = speech_power(sound, rate_hz) * 10 ** (-SPEECH_DB / 10)
    pieces = zip(starts, [*starts[1:], len(sound)], strict=True)
    return next(start for start, end in pieces if block_power(sound[start:end], round(rate_hz * WINDOW_S)).max() >= least)


def voices() -> tuple[str, ...]:
    """Names of the voices that this machine has."""
    try:
        resolve("piper-joe", offline=True)
    except UserError:
        return (HIBARI,)
    return HIBARI, JOE


@lru_cache(maxsize=64)
def sentence(voice: str, text: str, seconds: float) -> tuple[NDArray[np.float64], int]:
    """So much of a sentence at `AGENT_HZ` with a speech level of 1, and the sample in it at which the word begins."""
    sound = _spoken(voice, text)
    sound = sound / np.sqrt(speech_power(sound, AGENT_HZ))
    begins = word_begins(sound, AGENT_HZ)
    start = max(0, begins - round(EDGE_S * AGENT_HZ))
    return sound[start : begins + round(seconds * AGENT_HZ)], begins - start


def _spoken(voice: str, text: str) -> NDArray[np.float64]:
    if voice == HIBARI:
        return np.asarray(_hibari()(text, seed=1), np.float64)
    parts = [chunk.audio_float_array for chunk in _joe().synthesize(text)]
    return np.asarray(
        soxr.resample(np.concatenate(parts).astype(np.float64), _joe().config.sample_rate, AGENT_HZ, quality="VHQ")
    )


@lru_cache(maxsize=1)
def _hibari() -> Any:
    from hibari import Hibari

    return Hibari()


@lru_cache(maxsize=1)
def _joe() -> Any:
    from piper import PiperVoice

    return PiperVoice.load(resolve("piper-joe", offline=True))


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
