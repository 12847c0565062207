"""Quantiles of turns whose calls overlap: a bootstrap over stretches of time.

Turns under one load share a queue, so they are no independent observations, and neither are calls; stretches of time that are
longer than a wait in the queue nearly are. Each draw takes as many stretches as there are, with replacement, all turns of each.
The percentiles are widened for few stretches (`harness.statistics.bootstrap`), and under eight there is no bound.

`harness.statistics.bounds` bounds a percentile without a bootstrap, and needs about ninety independent groups for a p95: half
an hour of each step. A draw never contains a turn slower than the slowest one seen, so these bounds are for steps with hundreds
of turns, of which a twentieth is beyond the p95.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.bounds import NO_BOUNDS, Bounds
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.statistics.percentiles import quantile, weighted_quantile

DRAWS: Final = 10_000
"""A gate over twelve limits asks for one draw in 1,200, and few stretches ask for fewer still."""
MOST_CELLS: Final = 2**24
"""Draws times turns: a step of thousands of turns is drawn less often, and the bounds of so many hardly move."""
FEWEST_DRAWS: Final = 2_000
CELLS_AT_ONCE: Final = 2**20
Values = Mapping[str, Sequence[float] | Floats]
"""Stretch → values of its turns; infinite ones allowed."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A figure with its draws, as evidence for a gate. Infinite draws are a quantile at a turn without reply."""

    value: float
    contexts: int
    """Number of stretches; of a difference, of the run that has fewer."""
    draws: Floats

    @classmethod
    def quantile(cls, values: Values, share: float, *, seed: int) -> Self | None:
        """A quantile of all values; None without any."""
        pooled = np.array([v for group in values.values() for v in group])
        if not pooled.size:
            return None
        draws = min(DRAWS, max(FEWEST_DRAWS, MOST_CELLS // pooled.size))
        return cls(quantile(pooled, share), len(values), drawn_quantile(values, share, seed=seed, draws=draws))

    def less(self, other: "Drawn") -> "Drawn":
        """This figure less another that was drawn on its own."""
        with np.errstate(invalid="ignore"):
            new, old = self._beside(other)
            draws = np.where(new == old, 0.0, new - old)
            value = 0.0 if self.value == other.value else self.value - other.value
        return Drawn(value, min(self.contexts, other.contexts), draws)

    def ratio(self, other: "Drawn") -> "Drawn":
        """The relative change since another: 0.27 is 27 % more."""
        with np.errstate(invalid="ignore"):
            new, old = self._beside(other)
            draws = np.where(new == old, 0.0, new / old - 1)
            value = 0.0 if self.value == other.value else self.value / other.value - 1
        return Drawn(value, min(self.contexts, other.contexts), draws)

    def _beside(self, other: "Drawn") -> tuple[Floats, Floats]:
        """As many draws of each."""
        both = min(self.draws.size, other.draws.size)
        return self.draws[:both], other.draws[:both]

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of about `tail`; infinite under eight stretches."""
        if self.contexts < FEWEST_CLUSTERS:
            return NO_BOUNDS
        most = np.finfo(float).max
        low, high = percentile_interval(np.clip(self.draws, -most, most), self.contexts, level=1 - 2 * tail)
        return _end(float(low)), _end(float(high))


def drawn_quantile(values: Values, share: float, *, seed: int, draws: int) -> Floats:
    """(draws,): a quantile of all values, with every stretch as often as it was drawn.

    >>> drawn_quantile({"0": [400.0, 500.0], "1": [400.0, 500.0]}, 0.5, seed=1, draws=3).tolist()  # stretches alike
    [450.0, 450.0, 450.0]
    """
    pooled = np.array([v for group in values.values() for v in group])
    stretch = np.repeat(np.arange(len(values)), [len(group) for group in values.values()])
    often = draw_contexts(len(values), draws, np.random.default_rng(seed))
    at_once = max(1, CELLS_AT_ONCE // max(pooled.size, 1))
    parts = (weighted_quantile(pooled, often[low : low + at_once][:, stretch], share) for low in range(0, draws, at_once))
    return np.concatenate(list(parts))


def _end(end: float) -> float:
    return float(np.sign(end) * np.inf) if abs(end) > 1e300 else end
