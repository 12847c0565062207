"""Percentiles of turns with honest n: intervals resample conversations, and absent figures stay absent.

Turns of one conversation share a caller, a text and a moment of the machine, so a bootstrap over turns would promise too
much; whole contexts are drawn instead (HEART, section 9.12). A turn without reply is an infinite value: it ranks slowest, and
a mean over replies that may never come does not exist, so it is restricted at 15 s. Under eight contexts there is no
interval, and a p95 needs 60 turns: with fewer it is the story of three turns.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from harness.ranking.board import Interval
from harness.ranking.bootstrap import draw_contexts, percentile_interval
from harness.ranking.exact import TURNS_FOR_P95, quantile_interval, share_interval
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.timing.figures import NO_REPLY_MS

_NO_BOUND: Final = 1e300
DRAWS: Final = 2_000
"""The Monte-Carlo error of a 95 % bound is then about a tenth of the interval's own width in repeated runs."""


class Quantiles(BaseModel):
    """Milliseconds. A p95 stands only where there are turns enough for one; no reply ranks last (`over_limit`)."""

    model_config = ConfigDict(extra="forbid")

    p50: float | None = None
    p95: float | None = None
    p50_interval: tuple[float, float] | None = None
    p95_interval: tuple[float, float] | None = None
    p50_at_least: float | None = None
    """The lower end of an interval that reaches into "no reply" and so has no upper one; at most 15 s."""
    p50_over_limit: bool = False
    """The percentile falls on a turn without reply: print "> 15 s"."""
    p95_over_limit: bool = False
    restricted_mean: float | None = None
    restricted_mean_interval: tuple[float, float] | None = None
    n: int = 0
    p50_others_ms: float | None = None
    """How much of the percentile others on the agent's machine could at most have caused; None where that was not measured
    of every turn."""
    p95_others_ms: float | None = None

    def beside(self, without: "Quantiles") -> "Quantiles":
        """These percentiles, with how far they lie above those of the same turns less what each could owe to others.

        No percentile falls when its values grow, so what it could owe is bounded by that difference.
        """
        return self.model_copy(
            update={"p50_others_ms": _above(self.p50, without.p50), "p95_others_ms": _above(self.p95, without.p95)}
        )


def _above(value: float | None, less: float | None) -> float | None:
    return max(0.0, value - less) if value is not None and less is not None else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def quantiles_of(values: Mapping[str, Sequence[float]], seed: int) -> Quantiles:
    """Percentiles and restricted mean over all values, with intervals over contexts; infinite values rank slowest."""
    pooled = np.array([v for group in values.values() for v in group], dtype=np.float64)
    if not pooled.size:
        return Quantiles()
    p50, p95 = (_quantile(pooled, share) for share in (0.50, 0.95))
    enough = pooled.size >= TURNS_FOR_P95
    drawn = _draws(values, seed) if len(values) >= FEWEST_CONTEXTS else None
    p50_ends = _ends(drawn, lambda v: _quantile(v, 0.50), len(values))
    return Quantiles(
        p50=_finite(p50),
        p95=_finite(p95) if enough else None,
        p50_over_limit=bool(np.isinf(p50)),
        p95_over_limit=enough and bool(np.isinf(p95)),
        p50_interval=_both_finite(p50_ends),
        p50_at_least=min(p50_ends[0], NO_REPLY_MS) if p50_ends is not None and p50_ends[1] >= _NO_BOUND else None,
        p95_interval=_p95_interval(values, pooled, drawn) if enough else None,
        restricted_mean=float(np.minimum(pooled, NO_REPLY_MS).mean()),
        restricted_mean_interval=_interval(drawn, lambda v: float(np.minimum(v, NO_REPLY_MS).mean()), len(values)),
        n=int(pooled.size),
    )


def _draws(values: Mapping[str, Sequence[float]], seed: int) -> list[NDArray[np.float64]]:
    """Every turn as often as its conversation was drawn; which turn stands where tells nothing."""
    pooled = np.array([v for group in values.values() for v in group], dtype=np.float64)
    context = np.repeat(np.arange(len(values)), [len(group) for group in values.values()])
    often = draw_contexts(len(values), DRAWS, np.random.default_rng(seed)).astype(int)
    return [np.repeat(pooled, counts[context]) for counts in often]


def _interval(
    drawn: list[NDArray[np.float64]] | None, statistic: Callable[[NDArray[np.float64]], float], contexts: int
) -> Interval | None:
    return _both_finite(_ends(drawn, statistic, contexts))


def _ends(
    drawn: list[NDArray[np.float64]] | None, statistic: Callable[[NDArray[np.float64]], float], contexts: int
) -> Interval | None:
    if drawn is None:
        return None
    values = np.array([statistic(v) for v in drawn])
    low, high = percentile_interval(np.where(np.isinf(values), np.finfo(float).max, values), contexts)
    return float(low), float(high)


def _both_finite(ends: Interval | None) -> Interval | None:
    # An interval that reaches into "no reply" has no finite bound, and half a bound is none.
    return ends if ends is not None and max(ends) < _NO_BOUND else None


def _p95_interval(
    values: Mapping[str, Sequence[float]], pooled: NDArray[np.float64], drawn: list[NDArray[np.float64]] | None
) -> Interval | None:
    # A resample never goes beyond the slowest turn seen; with one turn a conversation order statistics need none.
    if drawn is None or len(pooled) != len(values):
        return _interval(drawn, lambda v: _quantile(v, 0.95), len(values))
    found = quantile_interval(pooled, 0.95)
    return found if found is not None and np.isfinite(found).all() else None


def _quantile(values: NDArray[np.float64], share: float) -> float:
    """Linear between order statistics (numpy's default), infinite as soon as one of the two is."""
    ordered = np.sort(values)
    place = share * (len(ordered) - 1)
    low = int(np.floor(place))
    high = min(low + 1, len(ordered) - 1)
    fraction = place - low
    if fraction == 0 or np.isinf(ordered[high]):
        return float(ordered[high] if fraction > 0 else ordered[low])
    return float(ordered[low] + fraction * (ordered[high] - ordered[low]))


def share_of(values: Mapping[str, Sequence[bool]], seed: int) -> tuple[float | None, Interval | None]:
    """Share of turns (context → whether it holds, of each turn) with its interval; None without a turn."""
    pooled = [held for group in values.values() for held in group]
    if len(pooled) == len(values) >= FEWEST_CONTEXTS:
        # Where all turns agree, every resample says so "for certain"; Wilson's interval does not.
        return float(np.mean(pooled)), share_interval(sum(pooled), len(pooled))
    figures = quantiles_of({c: [float(held) for held in group] for c, group in values.items()}, seed)
    return figures.restricted_mean, figures.restricted_mean_interval
