"""Two small models of an end, fitted on speech: how complete spoken words are, and cues in the voice that more follows.

A language model knows written sentences; spoken turns end on "you know", and a recogniser sets its full stops wherever a voice
falls silent. So `SpokenCompletenessScorer` is a logistic regression on the last one, two and three words, fitted on the timed
utterances of PriMock57 (Korfiatis et al. 2022, CC BY 4.0): an utterance after which the other one speaks is an end, and every
gap inside counts against it by the odds that people pause there. How much was said is no part of it, for any pack's lengths
would then speak for its own ends. Words are hashed, so the file has weights and no text.

Who says "um", draws a syllable out or keeps a level pitch goes on (Gravano and Hirschberg 2011), and a recogniser that was
trained on clean transcripts leaves many of these out (Moonshine wrote 63 % of our callers' "um"). Its encoder hears them, so
`HoldingCuesScorer` is a logistic model on the means of its states over four stretches around the silence's beginning, for the
20 ms that encoding 1.2 s takes. It is fitted for cues and not for ends: pauses after a sentence that were read as an end are
one class with ends, because a model fitted for ends heard how our callers are made.
"""

import asyncio
import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from harness.agents.cascade.endpoint_policies import PauseEvidence
from harness.agents.cascade.recogniser import RATE_HZ

BUCKETS: Final = 1 << 14
"""7,793 features were seen four times or more in fitting; with 2^14 buckets, cross-validated areas under the curve are those
of an exact table to the third digit."""
_WORD: Final = re.compile(r"[\w']+")
_FILLERS: Final = frozenset(("um", "uh", "er", "erm", "ah", "hm", "hmm", "mm", "umm", "uhm", "eh"))
HEARD_SAMPLES: Final = RATE_HZ * 6 // 5
"""1.2 s: an "um" of 300 to 500 ms, what was said before it, and 200 ms of silence after it."""
STRETCHES: Final = (8, 4, 8, 13)
"""Moonshine's states of 24 ms, counted back from the end: the silence, the last 100 ms of speech, 200 before, and 300
before these."""
STATES: Final = sum(STRETCHES)


@cache
def _fitted(name: str) -> tuple[NDArray[np.float32], float]:
    with np.load(Path(__file__).parent / "data" / f"{name}.npz") as model:
        return model["weights"].astype(np.float32), float(model["intercept"])


def words_of(text: str) -> list[str]:
    """The bare words of a text, in lower case."""
    return [word for found in _WORD.findall(text.lower().replace("’", "'")) if (word := found.strip("'"))]


def features(words: Sequence[str]) -> list[int]:
    """The buckets of the end of `words`: the last word, the last two and three, the one before, and a filler."""
    three = ["<s>", "<s>", "<s>", *words][-3:]
    named = [f"1 {three[2]}", f"2 {three[1]} {three[2]}", f"3 {' '.join(three)}", f"p {three[1]}"]
    if three[2] in _FILLERS:
        named.append("filler")
    return [zlib.crc32(name.encode()) % BUCKETS for name in named]


def log_odds(text: str) -> float:
    """The log odds that a turn ends after `text`, at even odds of an end and a pause."""
    words = words_of(text)
    if not words:
        return -math.inf
    weights, intercept = _fitted("spoken_completeness")
    return intercept + float(weights[features(words)].sum())


@dataclass(frozen=True, slots=True)
class SpokenCompletenessScorer:
    """The completeness of the words. It costs microseconds and needs no language model."""

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        return float(expit(log_odds(evidence.text)))


def pooled(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of each stretch, the latest first. What is shorter than all of them repeats its first state."""
    missing = STATES - len(states)
    padded = np.concatenate([np.repeat(states[:1], missing, axis=0), states]) if missing > 0 else states[-STATES:]
    edges = np.cumsum(STRETCHES[::-1])[:-1]
    return np.concatenate([part.mean(axis=0) for part in reversed(np.split(padded, edges))])


@dataclass(frozen=True, slots=True)
class HoldingCuesScorer:
    """The absence of cues that more follows. It needs the voice up to 200 ms into the silence."""

    encode: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    """The encoder of a recogniser: samples at 16 kHz to states, shape (states, width)."""

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        states = await asyncio.to_thread(self.encode, evidence.samples[-HEARD_SAMPLES:])
        weights, intercept = _fitted("holding_cues")
        return float(expit(-intercept - float(weights @ pooled(states))))
