"""How many callers to try next, until it is known how many an agent stands: doubled until a step breaks, then halved between.

A step costs minutes, because a p95 needs 60 turns; doubling finds the size in a few steps, and halving the distance makes it
exact to a tenth. A step that broke is not tried again: the ceiling is what held on this machine at this hour, and not the best
of several tries.
"""

from collections.abc import Mapping
from typing import Final

FIRST: Final = 4
"""Below it a p95 takes more than fifteen rounds; where it breaks, fewer are tried."""
MOST: Final = 1_000
"""What `select` serves of open sockets in one process (harness/caller/pacer.py), and more than any step here has paced."""
CLOSE: Final = 0.1
"""Of the ceiling: nobody plans for a finer figure, and it moves more than that from hour to hour."""
TURNS: Final = 60
"""What a p95 needs (harness/ranking/percentiles.py)."""


def next_callers(held: Mapping[int, bool], most: int = MOST) -> int | None:
    """The next step, from what each step so far came to (callers → whether it held); None where the ceiling is known."""
    best = max((callers for callers, kept in held.items() if kept), default=0)
    worst = min((callers for callers, kept in held.items() if not kept), default=None)
    if worst is None:
        following = min(best * 2 or FIRST, most)
        return following if following > best else None
    best = max((callers for callers, kept in held.items() if kept and callers < worst), default=0)
    if worst - best <= max(1, round(CLOSE * best)):
        return None
    return (best + worst) // 2


def rounds_for(callers: int) -> int:
    """How often a step is played so that it has a p95."""
    return -(-TURNS // callers)
