"""The change of a figure between two runs of the same conversations, paired by conversation.

The callers' part is subtracted before anything is bounded: each turn is compared with the same turn of the other run. Of times
it is the *median change*, bounded between order statistics of the differences; of shares the mean change, whose values of −1, 0
and 1 have Gaffke's bounds, moved from 0…1 to −1…1. A median change is not the change of the medians, and where they differ it
is the answer to the user's question. Positive is worse.
"""

from dataclasses import dataclass

from harness.statistics.arrays import Floats
from harness.statistics.bounds import Bounds, Share


@dataclass(frozen=True, slots=True, eq=False)
class MeanChange:
    """The mean change of a share: Σ gained / Σ of over conversations, −1 to 1."""

    gained: Floats
    of: Floats

    @property
    def value(self) -> float:
        """The mean change."""
        return float(self.gained.sum() / self.of.sum())

    @property
    def contexts(self) -> int:
        """Number of conversations."""
        return int(self.of.size)

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`."""
        low, high = Share((self.gained + self.of) / 2, self.of).bounds(tail)
        return 2 * low - 1, 2 * high - 1
