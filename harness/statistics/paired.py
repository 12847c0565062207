"""The change of a figure between two runs of the same conversations, paired by conversation.

Two versions of an agent that hear the same callers differ by far less than two callers do, so the callers' part is subtracted
before anything is bounded: each turn is compared with the same turn of the other run. Conversations stay the only independent
observations, and the bounds are those of `harness.statistics.bounds`, here of differences:

* of times, the *median change*: half of the turns became slower by at most this much. It is bounded between order statistics of
  the differences, whatever their law (for one turn a conversation: the sign test's interval);
* of shares, the mean change: a turn that is within the budget in one run alone counts +1 or −1, and the mean of such values
  over conversations has Gaffke's bounds, moved from 0…1 to −1…1.

A median change is not the change of the medians, and where they differ it is the answer to the user's question: the callers are
the same. Positive is worse, for every figure.
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
