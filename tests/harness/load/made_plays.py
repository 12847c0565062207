"""Plays of a cascade whose stages slow each other by known factors, as `harness load --isolate` stores them."""

from collections.abc import Mapping, Sequence

import numpy as np

from harness.figures.interference import ORDER, Configuration, Stretches

ALONE_MS = {"asr": 60.0, "llm": 200.0, "tts": 120.0}
Factors = Mapping[tuple[str, str], float]
"""(slowed, by) → factor."""
Plays = list[tuple[Configuration, Stretches]]


def plays(
    factors: Factors, *, stretches: int = 10, turns: int = 6, seed: int = 1, order: Sequence[Configuration] = ORDER
) -> Plays:
    """Plays of these many stretches, in which all turns of a stretch share a part of their noise."""
    rng = np.random.default_rng(seed)
    found: Plays = []
    for computing in order:
        of_play: dict[str, list[Mapping[str, float]]] = {}
        for stretch in range(stretches):
            shared = rng.normal(0, 0.08)
            of_play[str(stretch)] = [
                {
                    stage: ALONE_MS[stage]
                    * float(np.prod([factors.get((stage, other), 1.0) for other in computing]))
                    * float(np.exp(shared + rng.normal(0, 0.15)))
                    for stage in computing
                }
                for _ in range(turns)
            ]
        found.append((computing, of_play))
    return found
