"""The laws of people's pause lengths: people talking to agents, and people talking with each other.

*to-agents* has many short pauses and a thick tail; *between-people* has more of middle length, which cost an agent that waits
half a second twice as many cuts, and a thin tail. The sources also define a pause differently (voice activity against the times
of words), and nobody has measured both on one recording, so figures are given under both. A draw over 5 s is drawn again: after
that a person on the telephone asks whether anybody is there.

A pack's draws are *stratified*, because free draws of a hundred pauses would be 0.08 from a law by chance alone: the law is cut
into as many parts of equal share as there are pauses, and one pause is drawn from each.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Final, Literal

from harness.errors import UserError
from harness.nearest import or_one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHORTEST_MS: Final = 200
"""Shortest pause: shorter silences are often closures of plosives or joints of words; both sources start here."""
LONGEST_MS: Final = 5_000
PER_TURN: Final = 1.8
"""People's pauses per turn: 705 inner pauses in 400 turns of people who talk to agents (eot-bench); used with both laws."""
LawName = Literal["to-agents", "between-people"]


@dataclass(frozen=True, slots=True)
class PauseLaw:
    """A law of the lengths of pauses from 200 ms to 5 s."""

    name: LawName
    who: str
    """Its speakers, in a few words."""
    source: str
    """The published shares, and the definition of a pause in them."""
    _longer: Callable[[float], float]
    """Share of pauses longer than so many ms (200 and more), before the limit of 5 s."""
    _at: Callable[[float], float]
    """The inverse: the length in ms that this share exceeds."""

    @property
    def _kept(self) -> float:
        """The share of draws that are not repeated."""
        return 1 - self._longer(LONGEST_MS)

    def longer_than(self, ms: float) -> float:
        """The share of pauses (of 200 ms to 5 s) that are longer than `ms`."""
        if ms <= SHORTEST_MS:
            return 1.0
        return float(max(0.0, (self._longer(ms) - (1 - self._kept)) / self._kept))

    def between(self, low_ms: float, high_ms: float | None) -> float:
        """The share of pauses from `low_ms` to `high_ms` (None: without an upper end)."""
        return self.longer_than(low_ms) - (0.0 if high_ms is None else self.longer_than(high_ms))

    def length_ms(self, u: float) -> int:
        """The quantile `u` (0 to 1) of the lengths, in whole ms."""
        return round(self._at(1 - u * self._kept))

    def mean_ms(self) -> float:
        """Mean length of a pause, in ms: the area under `longer_than`, by steps of 1 ms."""
        return SHORTEST_MS + sum(self.longer_than(ms + 0.5) for ms in range(SHORTEST_MS, LONGEST_MS))

    def distance(self, pauses_ms: Iterable[float]) -> float | None:
        """The Kolmogorov–Smirnov distance of pauses from the law; None without any. Lengths outside its limits are off it."""
        import numpy as np

        found = np.sort(np.array(list(pauses_ms), dtype=float))
        if not found.size:
            return None
        law = np.array([1 - self.longer_than(ms) for ms in found])
        steps = np.arange(found.size + 1) / found.size
        return float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))


_EXPONENT: Final = 1.43
"""Fitted to eot-bench's four published shares: 56.0, 20.8, 10.0 and 5.1 % by the formula."""

TO_AGENTS: Final = PauseLaw(
    "to-agents",
    "people talking to agents",
    "LiveKit's eot-bench, English, 705 pauses of 200 ms and more by voice activity: 55.6, 21.7, 10 and 5 % are longer than "
    "0.3, 0.6, 1.0 and 1.6 s",
    lambda ms: (SHORTEST_MS / ms) ** _EXPONENT,
    lambda share: float(SHORTEST_MS * share ** (-1 / _EXPONENT)),
)

_SCALE_MS: Final = 437.0
_SHAPE: Final = 1.14
"""Both by least squares (weighted by binomial variance) on the four published shares: 83.0, 40.5, 13.6 and 2.3 % by the
formula, so residuals of 0.0, -0.5, +0.6 and -0.3 points. An exponential misses by up to 4 points, a log-normal over 200 ms by
up to 6, a log-normal cut at 200 ms by up to 2; a gamma over 200 ms is as good (1.0) and has no closed quantile. Checked on
1,351 pauses of the same file, read at 21 places spread over it (the file was not read as a whole): 83.0, 39.5, 14.1 and 2.5 %
of them are longer (95 % by places: 80 to 86, 34 to 45, 11 to 18, 1.5 to 3.6); their distance from the formula is 0.024 (KS)."""

BETWEEN_PEOPLE: Final = PauseLaw(
    "between-people",
    "people talking with each other",
    "Switchboard by TurnBench (swbd_timing_distributions.json, commit a87ffac), 861 pauses of 200 ms and more between aligned "
    "words, not by voice activity: 83, 41, 13 and 2.6 % are longer than 0.3, 0.6, 1.0 and 1.6 s",
    lambda ms: exp(-(((ms - SHORTEST_MS) / _SCALE_MS) ** _SHAPE)),
    lambda share: SHORTEST_MS + _SCALE_MS * (-log(share)) ** (1 / _SHAPE),
)

LAWS: Final[Mapping[LawName, PauseLaw]] = {law.name: law for law in (TO_AGENTS, BETWEEN_PEOPLE)}
_BY_NAME: Final[Mapping[str, PauseLaw]] = {"people": TO_AGENTS, **{law.name: law for law in LAWS.values()}}
"""The laws by the names that a command takes; `people` means `to-agents`."""


def distances(pauses_ms: Iterable[float]) -> dict[LawName, float | None]:
    """The distance of pauses from each law; None without any."""
    found = list(pauses_ms)
    return {name: law.distance(found) for name, law in LAWS.items()}


def law_named(name: str, option: str, *others: str) -> PauseLaw:
    """The law of this name. Raises `UserError` for another, with the option and all choices (`others` are of that option)."""
    law = _BY_NAME.get(name)
    if law is None:
        raise UserError(f"{option} {name[:80]}: unknown{or_one_of(name, (*others, *LAWS))}")
    return law


def stratified(n: int, rng: "np.random.Generator") -> "NDArray[np.float64]":
    """`n` numbers from 0 to 1, one from each nth part, in random order."""
    return (rng.permutation(n) + rng.random(n)) / max(n, 1)
