"""The ear for "um": whether the sound before a silence is a filled pause, by the recogniser's own encoder states.

Who says "um" and falls silent goes on. A recogniser that was trained on clean transcripts leaves many of them out (Whisper
tiny.en wrote 69 % of those of our callers), and with them the surest sign that there is more to come. But its encoder has heard
them, and its states are there anyway when the words are: so a logistic model of their means over four stretches around the
silence's beginning gives the sign back at no cost. It is fitted for "um" and not for the end of a turn. A model that was
fitted for ends on our callers reached more than an oracle that knows their cues: it heard how they are made.

`benchmarks/filled_pause_fit.py` fits the weights, and reports voices and synthesisers that it has not heard.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.cascade.endpoint_policies import PauseEvidence

WEIGHTS: Final = Path(__file__).parent / "data" / "filled_pause.npz"
STRETCHES: Final = (5, 5, 10, 15)
"""States of 20 ms, counted back from the end of what was transcribed: the silence so far (100 ms), then the last 100 ms of
speech, 200 before, and 300 before these. An "um" lasts 300 to 500 ms."""
STATES: Final = sum(STRETCHES)


def pooled(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of each stretch, one after the other. What is shorter than all of them repeats its first state."""
    missing = STATES - len(states)
    padded = np.concatenate([np.repeat(states[:1], missing, axis=0), states]) if missing > 0 else states[-STATES:]
    edges = np.cumsum(STRETCHES[::-1])[:-1]
    return np.concatenate([part.mean(axis=0) for part in reversed(np.split(padded, edges))])


@lru_cache(maxsize=2)
def _fitted(path: Path) -> tuple[NDArray[np.float32], float]:
    with np.load(path) as kept:
        return kept["weights"].astype(np.float32), float(kept["intercept"])


def log_odds(heard: NDArray[np.float32], weights_at: Path = WEIGHTS) -> float:
    """The log odds of a filled pause, given the pooled states."""
    weights, intercept = _fitted(weights_at)
    return intercept + float(weights @ heard)


@dataclass(frozen=True, slots=True)
class FilledPauseScorer:
    """The model as a scorer: a turn is complete if no "um" was heard. Undecided without states."""

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        if evidence.states is None:
            return 0.5
        return 1 / (1 + math.exp(min(log_odds(pooled(evidence.states)), 30.0)))
