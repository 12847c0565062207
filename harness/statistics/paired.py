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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.arrays import Floats
from harness.statistics.bounds import Bounds, Evidence, Percentile, Share
from harness.statistics.interval import FEWEST_CLUSTERS

Trials = Mapping[str, Sequence[float]]
"""Turn → its values: one time, or one flag for each chance."""
Chances = Mapping[str, Sequence[float | None]]
"""The same with None for a chance that there was not."""


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


def change_of_times(now: Trials, before: Trials, bunch: Callable[[str], str]) -> Evidence | None:
    """The median change of turns' times in ms; None under eight conversations with a pair. `bunch`: the conversation of a turn.

    A turn without reply is infinite: against another such turn it changes nothing.

    >>> before = {f"c{k}/1": [400.0 + k] for k in range(20)}
    >>> change = change_of_times({turn: [ms + 30] for turn, [ms] in before.items()}, before, lambda turn: turn.split("/")[0])
    >>> change.value, change.bounds(0.025)
    (30.0, (30.0, 30.0))
    """
    groups: dict[str, list[float]] = {}
    for turn, values in now.items():
        for new, old in zip(values, before.get(turn, ()), strict=False):
            groups.setdefault(bunch(turn), []).append(0.0 if new == old else new - old)
    found = Percentile(tuple(np.array(group) for group in groups.values()), 0.5)
    return found if found.contexts >= FEWEST_CLUSTERS else None


def change_of_shares(now: Chances, before: Chances, bunch: Callable[[str], str], *, lower_is_better: bool) -> Evidence | None:
    """The mean change of a share over the chances of both runs; None under eight conversations with one.

    >>> before = {f"c{k}/1": [0.0, 0.0] for k in range(20)}
    >>> now = {**before, "c3/1": [1.0, 0.0]}
    >>> change_of_shares(now, before, lambda turn: turn.split("/")[0], lower_is_better=True).value
    0.025
    """
    groups: dict[str, list[float]] = {}
    sign = 1.0 if lower_is_better else -1.0
    for turn, values in now.items():
        pairs = zip(values, before.get(turn, ()), strict=False)
        changes = [sign * (new - old) for new, old in pairs if new is not None and old is not None]
        groups.setdefault(bunch(turn), []).extend(changes)
    known = [group for group in groups.values() if group]
    if len(known) < FEWEST_CLUSTERS:
        return None
    return MeanChange(np.array([sum(group) for group in known]), np.array([float(len(group)) for group in known]))
