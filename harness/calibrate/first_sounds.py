"""Sentences by their first sound, in the voices that ship, with the sample at which each begins.

An error measured on a programmed vowel holds for no agent that begins with /k/, /f/ or /th/: a burst is 10 ms, apart from its
vowel, and a weak fricative is 30 to 40 dB under it. So the calibration's agent speaks real synthesised sentences, as many of
each class of first sound, by hibari and, where its weights are stored, Piper joe; nothing is downloaded for it.

The truth is of the sentence as synthesised, before level, noise and wire.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.audio.level import WINDOW_S, block_power, first_sample, quiet_spans, speech_power
from harness.audio.onset import CLOSURE_S
from harness.errors import UserError
from harness.models import resolve

RATE_HZ: Final = 24_000
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
    """So much of a sentence at `RATE_HZ` with a speech level of 1, and the sample in it at which the word begins."""
    sound = _spoken(voice, text)
    sound = sound / np.sqrt(speech_power(sound, RATE_HZ))
    begins = word_begins(sound, RATE_HZ)
    start = max(0, begins - round(EDGE_S * RATE_HZ))
    return sound[start : begins + round(seconds * RATE_HZ)], begins - start


def _spoken(voice: str, text: str) -> NDArray[np.float64]:
    if voice == HIBARI:
        return np.asarray(_hibari()(text, seed=1), np.float64)
    parts = [chunk.audio_float_array for chunk in _joe().synthesize(text)]
    return np.asarray(
        soxr.resample(np.concatenate(parts).astype(np.float64), _joe().config.sample_rate, RATE_HZ, quality="VHQ")
    )


@lru_cache(maxsize=1)
def _hibari() -> Any:
    from hibari import Hibari

    return Hibari()


@lru_cache(maxsize=1)
def _joe() -> Any:
    from piper import PiperVoice

    return PiperVoice.load(resolve("piper-joe", offline=True))
