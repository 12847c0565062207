"""The law of people's pause lengths: of those of 200 ms and more, (0.2 s / x)^1.43 are longer than x.

The law is read off published pauses of people who talk to agents (eot-bench, English, 705 inner pauses: 55.6, 21.7, 10 and 5 %
are longer than 0.3, 0.6, 1.0 and 1.6 s). It has many short pauses and a thick tail, and both matter: an agent's waiting time
is won among the short ones and lost in the tail. A draw over 5 s is drawn again, because after that a person on the telephone
asks whether anybody is there.

A pack of a hundred pauses is too few for free draws: their distance from the law would be about 0.08 by chance alone. So a
pack's draws are *stratified*: the law is cut into as many parts of equal share as there are pauses, one pause is drawn from
each, and chance says which pause of the pack gets which part. Each pause by itself still follows the law exactly; only their
sum is more even than chance.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

SHORTEST_MS: Final = 200
"""Shortest pause: shorter silences are often closures of plosives or joints of words; the published pauses start here."""
LONGEST_MS: Final = 5_000
EXPONENT: Final = 1.43
"""The exponent, fitted to eot-bench's four published shares: 56.0, 20.8, 10.0 and 5.1 % by the formula."""
PER_TURN: Final = 1.8
"""People's pauses per turn: 705 inner pauses in 400 turns of people who talk to agents (eot-bench)."""

_KEPT: Final = 1 - (SHORTEST_MS / LONGEST_MS) ** EXPONENT
"""The share of draws that are not repeated."""


def longer_than(ms: float) -> float:
    """The share of people's pauses (of 200 ms to 5 s) that are longer than `ms`."""
    if ms <= SHORTEST_MS:
        return 1.0
    return float(max(0.0, ((SHORTEST_MS / ms) ** EXPONENT - (1 - _KEPT)) / _KEPT))


def length_ms(u: float) -> int:
    """The quantile `u` (0 to 1) of people's pauses, in whole ms."""
    return round(float(SHORTEST_MS * (1 - u * _KEPT) ** (-1 / EXPONENT)))


def mean_ms() -> float:
    """Mean length of a pause by the law, in ms."""
    share = 1 - (SHORTEST_MS / LONGEST_MS) ** (EXPONENT - 1)
    return float(EXPONENT / (EXPONENT - 1) * SHORTEST_MS * share / _KEPT)


def stratified(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """`n` numbers from 0 to 1, one from each nth part, in random order."""
    return (rng.permutation(n) + rng.random(n)) / max(n, 1)


def distance_from_law(pauses_ms: Iterable[float]) -> float | None:
    """The Kolmogorov–Smirnov distance of pauses from the law; None without any. Lengths outside 200 ms to 5 s are off it."""
    found = np.sort(np.array(list(pauses_ms), dtype=float))
    if not found.size:
        return None
    law = np.array([1 - longer_than(ms) for ms in found])
    steps = np.arange(found.size + 1) / found.size
    return float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))
