"""The ear for cues that more follows: "um", a drawn-out syllable, a level pitch before a silence, by Moonshine's encoder.

Who says "um" and falls silent goes on, and a recogniser that was trained on clean transcripts leaves many of them out
(Moonshine wrote 63 % of those of our callers). A syllable drawn out or a pitch that stays level say the same (Gravano and
Hirschberg 2011), and no transcript has them. The encoder hears all of these: a logistic model on the means of its states over
four stretches around the silence's beginning gives them back, for the 20 ms that it takes to encode 1.2 s.

It is fitted for these cues and not for ends. Pauses after a sentence that were read as an end, which our callers leave
ambiguous on purpose, are one class with ends, and the loudness of the last half second is varied, because only our ends are
faded. So it cannot tell those pauses from ends. A model fitted for ends could: it
reached more than an oracle that knows all cues, because it heard how our callers are made.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.endpoint_policies import PauseEvidence
from harness.agents.cascade.recogniser import RATE_HZ

WEIGHTS: Final = Path(__file__).parent / "data" / "holding_cues.npz"
HEARD_SAMPLES: Final = RATE_HZ * 6 // 5
"""1.2 s: an "um" of 300 to 500 ms, what was said before it, and 200 ms of silence after it."""
STRETCHES: Final = (8, 4, 8, 13)
"""Moonshine's states of 24 ms, counted back from the end: the silence, the last 100 ms of speech, 200 before, and 300
before these."""
STATES: Final = sum(STRETCHES)

Encode = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""The encoder of a recogniser: samples at 16 kHz to states, shape (states, width)."""


def pooled(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of each stretch, the latest first. What is shorter than all of them repeats its first state."""
    missing = STATES - len(states)
    padded = np.concatenate([np.repeat(states[:1], missing, axis=0), states]) if missing > 0 else states[-STATES:]
    edges = np.cumsum(STRETCHES[::-1])[:-1]
    return np.concatenate([part.mean(axis=0) for part in reversed(np.split(padded, edges))])


@lru_cache(maxsize=2)
def _fitted(path: Path) -> tuple[NDArray[np.float32], float]:
    with np.load(path) as kept:
        return kept["weights"].astype(np.float32), float(kept["intercept"])


def log_odds(heard: NDArray[np.float32], weights_at: Path = WEIGHTS) -> float:
    """The log odds that the speaker shows that more follows, given the pooled states."""
    weights, intercept = _fitted(weights_at)
    return intercept + float(weights @ heard)


@dataclass(frozen=True, slots=True)
class HoldingCuesScorer:
    """The model as a scorer: a turn is complete if no such cue was heard. It needs the voice up to 200 ms into the silence."""

    encode: Encode

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        states = await asyncio.to_thread(self.encode, evidence.samples[-HEARD_SAMPLES:])
        return 1 / (1 + math.exp(min(max(log_odds(pooled(states)), -30.0), 30.0)))
