"""The search for the highest number of callers within bounds.

It doubles until a step fails, then halves the distance. A step costs minutes, because a p95 needs 60 turns; doubling finds the
size in a few steps, and halving the distance makes it exact to a tenth. A failed step is not tried again: the ceiling is what
this machine could do at this hour, not the best of several tries.
"""

from collections.abc import Mapping
from typing import Final

from harness.statistics.interval import TURNS_FOR_P95

FIRST: Final = 4
"""Callers of the first step: with fewer a p95 takes more than fifteen rounds. If it fails, fewer are tried."""
MOST: Final = 1_000
"""Most callers of a search: no step has paced as many."""
CLOSE: Final = 0.1
"""Precision, as a share of the ceiling: nobody plans for a finer figure, and it varies more than that from hour to hour."""


def next_callers(within: Mapping[int, bool], most: int = MOST) -> int | None:
    """The next number of callers, from the steps so far (callers → within bounds); None if the ceiling is known."""
    best = max((callers for callers, met in within.items() if met), default=0)
    worst = min((callers for callers, met in within.items() if not met), default=None)
    if worst is None:
        following = min(best * 2 or FIRST, most)
        return following if following > best else None
    best = max((callers for callers, met in within.items() if met and callers < worst), default=0)
    if worst - best <= max(1, round(CLOSE * best)):
        return None
    return (best + worst) // 2


def rounds_for(callers: int) -> int:
    """The number of times to play a step so that it has a p95."""
    return -(-TURNS_FOR_P95 // callers)
