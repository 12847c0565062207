"""Percentiles of turns, with intervals over conversations; figures without enough data are absent.

Turns of one conversation share a caller, a text and a moment of the machine, so an interval is over whole conversations
(`harness.statistics.bounds`). A turn without reply is an infinite value: it ranks slowest, and a mean over replies that may
never come does not exist, so it is restricted at 15 s. Under eight conversations there is no interval, and a p95 needs 60
turns: with fewer it depends on three turns. Its interval has an upper end from about 72 conversations.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import FINE_DRAWS
from harness.statistics.bounds import NO_BOUNDS, Bounds, percentile_bounds
from harness.statistics.clustered_means import mean_of_groups
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL, TURNS_FOR_P95, Interval
from harness.statistics.percentiles import quantile
from harness.timing.figures import NO_REPLY_MS


class Quantiles(BaseModel):
    """Milliseconds. A p95 is given only where there are enough turns; no reply ranks last (`over_limit`)."""

    model_config = ConfigDict(extra="forbid")

    p50: float | None = None
    p95: float | None = None
    p50_interval: tuple[float, float] | None = None
    p95_interval: tuple[float, float] | None = None
    p50_at_least: float | None = None
    """The lower end of an interval that has no upper one: it reaches into "no reply", or the conversations are too few for one.
    At most 15 s."""
    p95_at_least: float | None = None
    p50_over_limit: bool = False
    """The percentile falls on a turn without reply: print "> 15 s"."""
    p95_over_limit: bool = False
    restricted_mean: float | None = None
    restricted_mean_interval: tuple[float, float] | None = None
    n: int = 0
    p50_range: tuple[float, float] | None = None
    """From the percentile without all that others on the agent's machine could have caused to the measured one; None where that
    was not measured for every turn, or the percentile falls on a turn without reply."""
    p95_range: tuple[float, float] | None = None
    p50_others_ms: float | None = None
    """The width of that range: the most of the percentile that others could have caused."""
    p95_others_ms: float | None = None

    def down_to(self, low: "Quantiles") -> "Quantiles":
        """These percentiles with the ranges from those of the same turns at their low ends, and intervals over both ends.

        No percentile falls when its values grow, so a machine without others gives one that is within the range.
        """
        found: dict[str, object] = {}
        for name in ("p50", "p95"):
            ends = getattr(low, name), getattr(self, name)
            if None not in ends:
                found |= {f"{name}_range": ends, f"{name}_others_ms": max(0.0, ends[1] - ends[0])}
            own, lowest = getattr(self, f"{name}_interval"), getattr(low, f"{name}_interval")
            least = lowest[0] if lowest is not None else getattr(low, f"{name}_at_least")
            if own is not None:
                found[f"{name}_interval"] = (own[0] if least is None else least, own[1])
            elif getattr(self, f"{name}_at_least") is not None:
                found[f"{name}_at_least"] = getattr(self, f"{name}_at_least") if least is None else least
        return self.model_copy(update=found)


def finite(value: float) -> float | None:
    """The value; None where it is infinite, which JSON cannot say."""
    return value if np.isfinite(value) else None


def quantiles_of(values: Mapping[str, Sequence[float] | Floats], seed: int, *, fewest: int = FEWEST_CLUSTERS) -> Quantiles:
    """Percentiles and restricted mean over all values, with intervals over contexts, of which `fewest` are needed for one;
    infinite values rank slowest."""
    groups = [np.asarray(group, dtype=np.float64) for group in values.values() if len(group)]
    if not groups:
        return Quantiles()
    pooled = np.concatenate(groups)
    p50, p95 = quantile(pooled, 0.50), quantile(pooled, 0.95)
    has_p95, has_ends = pooled.size >= TURNS_FOR_P95, len(groups) >= fewest
    of_p50 = percentile_bounds(groups, 0.50, TAIL) if has_ends else NO_BOUNDS
    of_p95 = percentile_bounds(groups, 0.95, TAIL) if has_ends and has_p95 else NO_BOUNDS
    restricted = [np.minimum(group, NO_REPLY_MS) for group in groups]
    mean, of_mean = mean_of_groups(restricted, seed=seed, draws=FINE_DRAWS, fewest=fewest)
    return Quantiles(
        p50=finite(p50),
        p95=finite(p95) if has_p95 else None,
        p50_over_limit=bool(np.isinf(p50)),
        p95_over_limit=has_p95 and bool(np.isinf(p95)),
        p50_interval=_both(of_p50),
        p95_interval=_both(of_p95),
        p50_at_least=_open(of_p50),
        p95_at_least=_open(of_p95),
        restricted_mean=mean,
        restricted_mean_interval=of_mean,
        n=int(pooled.size),
    )


def _both(ends: Bounds) -> Interval | None:
    return ends if np.isfinite(ends).all() else None


def _open(ends: Bounds) -> float | None:
    return min(ends[0], NO_REPLY_MS) if ends[0] > -np.inf and ends[1] == np.inf else None
