"""Percentiles of turns: intervals resample conversations, and figures without enough data are absent.

Turns of one conversation share a caller, a text and a moment of the machine, so a bootstrap over turns would promise too
much; whole contexts are drawn instead (HEART, section 9.12). A turn without reply is an infinite value: it ranks slowest, and
a mean over replies that may never come does not exist, so it is restricted at 15 s. Under eight contexts there is no
interval, and a p95 needs 60 turns: with fewer it depends on three turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.exact import TURNS_FOR_P95, quantile_interval, share_interval
from harness.statistics.interval import FEWEST_CLUSTERS, Interval
from harness.timing.figures import NO_REPLY_MS

_NO_BOUND: Final = 1e300
DRAWS: Final = 2_000
"""The Monte-Carlo error of a 95 % bound is then about a tenth of the interval's own width in repeated runs."""
CELLS_AT_ONCE: Final = 2**17
"""Draws times turns in one go: 1 MB for each array of them, which stays in a cache (1,800 turns: 35 ms; with 8 MB 71 ms)."""


class Quantiles(BaseModel):
    """Milliseconds. A p95 is given only where there are enough turns; no reply ranks last (`over_limit`)."""

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
    """The most of the percentile that others on the agent's machine could have caused; None if not measured for every turn."""
    p95_others_ms: float | None = None
    p50_range: tuple[float, float] | None = None
    p95_range: tuple[float, float] | None = None

    def beside(self, without: "Quantiles") -> "Quantiles":
        """These percentiles, with their excess over those of the same turns less the part that each could owe to others.

        No percentile falls when its values grow, so the part that it could owe is bounded by that difference.
        """
        return self.model_copy(
            update={"p50_others_ms": _above(self.p50, without.p50), "p95_others_ms": _above(self.p95, without.p95)}
        )


def _above(value: float | None, less: float | None) -> float | None:
    return max(0.0, value - less) if value is not None and less is not None else None


def finite(value: float) -> float | None:
    """The value; None where it is infinite, which JSON cannot say."""
    return value if np.isfinite(value) else None


def quantiles_of(values: Mapping[str, Sequence[float]], seed: int, *, fewest: int = FEWEST_CLUSTERS) -> Quantiles:
    """Percentiles and restricted mean over all values, with intervals over contexts, of which `fewest` are needed for one;
    infinite values rank slowest."""
    pooled = np.array([v for group in values.values() for v in group], dtype=np.float64)
    if not pooled.size:
        return Quantiles()
    p50, p95 = (float(weighted_quantile(pooled, np.ones((1, pooled.size)), share)[0]) for share in (0.50, 0.95))
    enough = pooled.size >= TURNS_FOR_P95
    drawn = _drawn(values, pooled, seed) if len(values) >= fewest else None
    p50_ends = _ends(drawn.p50, len(values)) if drawn is not None else None
    return Quantiles(
        p50=finite(p50),
        p95=finite(p95) if enough else None,
        p50_over_limit=bool(np.isinf(p50)),
        p95_over_limit=enough and bool(np.isinf(p95)),
        p50_interval=_both_finite(p50_ends),
        p50_at_least=min(p50_ends[0], NO_REPLY_MS) if p50_ends is not None and p50_ends[1] >= _NO_BOUND else None,
        p95_interval=_p95_interval(values, pooled, drawn) if enough else None,
        restricted_mean=float(np.minimum(pooled, NO_REPLY_MS).mean()),
        restricted_mean_interval=_both_finite(_ends(drawn.mean, len(values))) if drawn is not None else None,
        n=int(pooled.size),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """The figures of all draws, each an array (draws,)."""

    p50: Floats
    p95: Floats
    mean: Floats


def _drawn(values: Mapping[str, Sequence[float]], pooled: Floats, seed: int) -> _Drawn:
    """Figures with every turn as often as its conversation was drawn; the order of turns does not matter."""
    context = np.repeat(np.arange(len(values)), [len(group) for group in values.values()])
    often = draw_contexts(len(values), DRAWS, np.random.default_rng(seed))
    # A draw of conversations without a turn has no figures.
    often = often[(often[:, context] > 0).any(axis=1)] if len(set(context.tolist())) < len(values) else often
    order = np.argsort(pooled, kind="stable")
    ranked, found, at_once = pooled[order], [], max(1, CELLS_AT_ONCE // pooled.size)
    for low in range(0, len(often), at_once):
        counts = often[low : low + at_once][:, context[order]]
        cumulative = np.cumsum(counts, axis=1)
        mean = counts @ np.minimum(ranked, NO_REPLY_MS) / cumulative[:, -1]
        found.append([_of_ranked(ranked, cumulative, 0.50), _of_ranked(ranked, cumulative, 0.95), mean])
    return _Drawn(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _ends(drawn: Floats, contexts: int) -> Interval:
    low, high = percentile_interval(np.where(np.isinf(drawn), np.finfo(float).max, drawn), contexts)
    return float(low), float(high)


def _both_finite(ends: Interval | None) -> Interval | None:
    # An interval that reaches into "no reply" has no finite bound, and half a bound is none.
    return ends if ends is not None and max(ends) < _NO_BOUND else None


def _p95_interval(values: Mapping[str, Sequence[float]], pooled: Floats, drawn: _Drawn | None) -> Interval | None:
    # A resample never goes beyond the slowest turn seen; with one turn per conversation order statistics need no resample.
    if drawn is None or len(pooled) != len(values):
        return _both_finite(_ends(drawn.p95, len(values))) if drawn is not None else None
    found = quantile_interval(pooled, 0.95)
    return found if found is not None and np.isfinite(found).all() else None


def weighted_quantile(values: Floats, often: Floats, share: float) -> Floats:
    """(draws,): quantile of `values` (turns,) each taken `often` (draws, turns) times; NaN where none is.

    Interpolated linearly between order statistics, as numpy does by default; infinite if either of the two is.
    """
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    if order.size == 0:
        return np.full(often.shape[0], np.nan)
    return _of_ranked(values[order], np.cumsum(often[:, order], axis=1), share)


def _of_ranked(ranked: Floats, cumulative: Floats, share: float) -> Floats:
    """`cumulative` (draws, turns): number of values in a draw up to and with each of `ranked`."""
    total = cumulative[:, -1]
    place = share * np.maximum(total - 1, 0)
    low = np.floor(place + 1e-9)
    fraction = np.clip(place - low, 0.0, 1.0)
    # Draws one after another are one ascending row, so one search finds the indices of all.
    apart = np.arange(len(total)) * (total.max() + 1)
    laid = (cumulative + apart[:, None]).ravel()

    def at(rank: Floats) -> Floats:
        found = np.searchsorted(laid, rank + apart, side="right") - np.arange(len(total)) * ranked.size
        return np.asarray(ranked[np.minimum(found, ranked.size - 1)])

    first, second = at(low), at(np.minimum(low + 1, total - 1))
    with np.errstate(invalid="ignore"):
        between = np.where(fraction < 1e-9, first, np.where(np.isinf(second), second, first + fraction * (second - first)))
    return np.where(total > 0, between, np.nan)


def share_of(values: Mapping[str, Sequence[bool]], seed: int) -> tuple[float | None, Interval | None]:
    """Share of turns (context → True where it holds, for each turn) with its interval; None without a turn."""
    pooled = [held for group in values.values() for held in group]
    if len(pooled) == len(values) >= FEWEST_CLUSTERS:
        # Where all turns agree, every resample would call it certain; Wilson's interval does not.
        return float(np.mean(pooled)), share_interval(sum(pooled), len(pooled))
    figures = quantiles_of({c: [float(held) for held in group] for c, group in values.items()}, seed)
    return figures.restricted_mean, figures.restricted_mean_interval
