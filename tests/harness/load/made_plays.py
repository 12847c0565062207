"""Turns of a cascade whose stages slow each other by known factors, as `harness load --isolate` stores them."""

from collections.abc import Mapping, Sequence

import numpy as np

from harness.figures.interference import ORDER, Configuration
from harness.store.load_files import LoadTurn
from tests.harness.load.made_turns import turn

ALONE_MS = {"asr": 60.0, "llm": 200.0, "tts": 120.0}
STRETCH_S = 16.0
Factors = Mapping[tuple[str, str], float]
"""(slowed, by) → factor."""


def plays(
    factors: Factors,
    *,
    stretches: int = 10,
    turns: int = 6,
    seed: int = 1,
    order: Sequence[Configuration] = ORDER,
) -> list[LoadTurn]:
    """Plays of these many stretches, in which all turns of a stretch share a part of their noise."""
    rng = np.random.default_rng(seed)
    found = []
    for place, computing in enumerate(order):
        for stretch in range(stretches):
            shared = rng.normal(0, 0.08)
            for k in range(turns):
                own = {
                    stage: ALONE_MS[stage]
                    * float(np.prod([factors.get((stage, other), 1.0) for other in computing]))
                    * float(np.exp(shared + rng.normal(0, 0.15)))
                    for stage in computing
                }
                at_s = 1_000 * place + STRETCH_S * (stretch + k / turns)
                row = turn(stretch * turns + k, at_s, step=3 + place, own_ms=own, computing=computing)
                found.append(row)
    return found
