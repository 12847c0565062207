"""Reliability curve of a judge, as a table: how often it is right at each strength that it states.

A strength is useful only if it predicts being right. A judge that states 5 and is right no more often than at 4 adds nothing
by it, but a rating that weighs by strength counts it all the same. Judges that know their own odds are grouped by the
probability that these odds give, all others by their strength 1 to 5 (DeGroot and Fienberg 1983, "The comparison and evaluation
of forecasters").
"""

import math
from collections.abc import Sequence
from typing import Final

from harness.judging.judge import Verdict
from harness.store.judgment import Reliability

BINS: Final = ((0.5, 0.6), (0.6, 0.75), (0.75, 0.9), (0.9, 1.01))
"""Bands of the probability that the chosen reply is better, from and to (exclusive): few, so that each has enough verdicts."""


def reliability(said: Sequence[tuple[Verdict, bool]]) -> tuple[Reliability, ...]:
    """The curve of verdicts, each with True if it was right; levels that no verdict is at are left out."""
    groups: dict[tuple[float, str], list[tuple[float | None, bool]]] = {}
    for verdict, right in said:
        if verdict.log_odds is None:
            groups.setdefault((verdict.strength, f"strength {verdict.strength}"), []).append((None, right))
            continue
        stated = 1 / (1 + math.exp(-min(abs(verdict.log_odds), 700.0)))
        low, high = next((low, high) for low, high in BINS if low <= stated < high)
        name = f"sure of {low:.0%} to {min(high, 1.0):.0%}"
        groups.setdefault((low, name), []).append((stated, right))
    return tuple(
        Reliability(
            stated=name,
            verdicts=len(group),
            right=sum(right for _, right in group) / len(group),
            expected=_mean([p for p, _ in group if p is not None]),
        )
        for (_, name), group in sorted(groups.items())
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
