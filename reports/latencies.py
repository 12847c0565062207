"""Percentiles of a latency over any slice of a run, with conversation-level intervals.

The same rules as everywhere: silence is slower than any reply, so it ranks last and may push a percentile beyond 15 s; a
p95 needs 60 turns; an interval needs 8 conversations, and resamples conversations, not turns.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.ranking.bootstrap import draw_contexts, percentile_interval
from harness.ranking.exact import quantile_interval
from harness.ranking.joint import TURNS_FOR_P95, weighted_quantile
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.turn_timing import NO_REPLY_MS
from reports.view import UNKNOWN, Estimate, LatencyView

DRAWS = 1_000
SEED = 20_260_119
"""Fixed, so that the same run gives the same page."""

Observation = tuple[str, float | None]
"""(conversation, milliseconds); None: no reply."""


def over_turns(observations: Sequence[Observation]) -> LatencyView:
    """p50 and p95 of the turns of one agent."""
    if not observations:
        return LatencyView()
    names = sorted({name for name, _ in observations})
    place = {name: k for k, name in enumerate(names)}
    values = np.array([math.inf if value is None else value for _, value in observations], dtype=float)
    of = np.array([place[name] for name, _ in observations])
    often = draw_contexts(len(names), DRAWS, np.random.default_rng(SEED))[:, of]
    whole = np.ones((1, len(values)))
    found: list[tuple[Estimate, bool]] = []
    for share in (0.5, 0.95):
        if share > 0.9 and len(values) < TURNS_FOR_P95:
            found.append((UNKNOWN, False))
            continue
        value = float(weighted_quantile(values, whole, share)[0])
        exact = share > 0.9 and len(values) == len(names) >= FEWEST_CONTEXTS
        interval = _exact(values, share) if exact else _interval(weighted_quantile(values, often, share), len(names))
        over = not math.isfinite(value) or value > NO_REPLY_MS
        found.append((UNKNOWN if over else Estimate(value, *interval), over))
    (p50, p50_over), (p95, p95_over) = found
    return LatencyView(p50, p95, p50_over=p50_over, p95_over=p95_over, n=len(values))


def _exact(values: NDArray[np.float64], share: float) -> tuple[float | None, float | None]:
    # A resample never goes beyond the slowest turn seen; with one turn a conversation order statistics need none.
    found = quantile_interval(np.minimum(values, NO_REPLY_MS), share)
    return found if found is not None else (None, None)


def _interval(
    draws: np.ndarray[tuple[int, ...], np.dtype[np.float64]], contexts: int
) -> tuple[float | None, float | None]:
    if contexts < FEWEST_CONTEXTS:
        return None, None
    low, high = percentile_interval(
        np.minimum(np.nan_to_num(draws, nan=NO_REPLY_MS, posinf=NO_REPLY_MS), NO_REPLY_MS), contexts
    )
    return float(low), float(high)
