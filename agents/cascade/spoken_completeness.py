"""The completeness of a caller's words by a model of speech: from the last few words, without punctuation.

A language model knows written sentences. Spoken turns end on "you know" and "and that's about it", pauses follow "my, my",
and a recogniser sets its full stops wherever a voice falls silent. So this is a small model of spoken turns: logistic
regression on the last one, two and three words, fitted on the timed utterances of PriMock57 (Korfiatis et al. 2022, CC BY
4.0). An utterance after which the other one speaks is an end; every gap inside counts against it by the odds that people
pause there (`harness.scenarios.pause_places`). Filled pauses are left out of training as often as our recogniser leaves
them out.

How much was said is no part of it: any pack's lengths would then speak for its own ends. Words are hashed, so the file
has weights and no text.
"""

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.endpoint_policies import PauseEvidence

WEIGHTS: Final = Path(__file__).parent / "data" / "spoken_completeness.npz"
BUCKETS: Final = 1 << 14
"""7,793 features were seen four times or more in fitting; with 2^14 buckets, cross-validated areas under the curve are those
of an exact table to the third digit."""
_WORD: Final = re.compile(r"[\w']+")
FILLERS: Final = frozenset(("um", "uh", "er", "erm", "ah", "hm", "hmm", "mm", "umm", "uhm", "eh"))


def words_of(text: str) -> list[str]:
    """The bare words of a text, in lower case."""
    return [word for found in _WORD.findall(text.lower().replace("’", "'")) if (word := found.strip("'"))]


def features(words: Sequence[str]) -> list[int]:
    """The buckets of the end of `words`: the last word, the last two and three, the one before, and a filler."""
    three = ["<s>", "<s>", "<s>", *words][-3:]
    named = [f"1 {three[2]}", f"2 {three[1]} {three[2]}", f"3 {' '.join(three)}", f"p {three[1]}"]
    if three[2] in FILLERS:
        named.append("filler")
    return [zlib.crc32(name.encode()) % BUCKETS for name in named]


@lru_cache(maxsize=2)
def _fitted(path: Path) -> tuple[NDArray[np.float32], float]:
    with np.load(path) as kept:
        return kept["weights"].astype(np.float32), float(kept["intercept"])


def log_odds(text: str, weights_at: Path = WEIGHTS) -> float:
    """The log odds that a turn ends after `text`, at even odds of an end and a pause."""
    words = words_of(text)
    if not words:
        return -math.inf
    weights, intercept = _fitted(weights_at)
    return intercept + float(weights[features(words)].sum())


@dataclass(frozen=True, slots=True)
class SpokenCompletenessScorer:
    """The model as a scorer. It costs microseconds and needs no language model."""

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        return 1 / (1 + math.exp(-log_odds(evidence.text)))
