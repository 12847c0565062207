"""Where the curve of a load test bends, and how many calls an agent serves within a budget, each with its interval.

*Calls within the budget*: the offered rate at which the p95 of TTFA crosses the budget, on the straight line between the last
step within it and the first step over it. *The knee*: the step at which rate divided by p95 is greatest, the *power* of a
queue (Giessler et al., 1978; Kleinrock, 1979); up to there a further caller brings more served calls than longer waits. The
first step and the last are ends of what was played, so neither is a knee. Both intervals draw stretches of time of every step
anew; an end outside the rates that were played is a bound and no figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import FINE_DRAWS, percentile_interval
from harness.statistics.drawn_quantiles import drawn_quantile
from harness.statistics.interval import FEWEST_CLUSTERS, TURNS_FOR_P95
from harness.statistics.percentiles import quantile

STEPS_FOR_A_KNEE: Final = 3
"""With two rates the greater power is an end of what was played, never a bend."""
Times = Mapping[str, Sequence[float] | Floats]
"""Stretch → TTFA of its turns in ms, infinite for a turn that ranks slowest."""


@dataclass(frozen=True, slots=True)
class CurveStep:
    """One step of the curve: its rate in calls a second, the mean number of open calls, and the waits."""

    rate: float
    at_once: float
    ttfa_ms: Times

    @property
    def has_p95(self) -> bool:
        """True if there are turns enough."""
        return sum(map(len, self.ttfa_ms.values())) >= TURNS_FOR_P95


@dataclass(frozen=True, slots=True)
class OnCurve:
    """A place on the curve, in calls a second. 0 is below every rate that was played, infinity above."""

    rate: float
    interval: tuple[float, float] | None
    """None where a step has under eight stretches."""
    lowest: float
    highest: float
    at_once: float | None = None
    """The mean number of open calls there; None outside of what was played."""

    @property
    def words(self) -> str:
        """The place in words: `6.2 calls a second [5.1, over 10], 118 at once`."""
        if self.rate <= 0:
            place = f"under {calls_a_second(self.lowest)}"
        elif np.isinf(self.rate):
            place = f"at least {calls_a_second(self.highest)}"
        else:
            place = calls_a_second(self.rate)
        return place + self.band + (f", {self.at_once:.0f} at once" if self.at_once is not None else "")

    @property
    def band(self) -> str:
        """The interval in words, ` [5.1, over 10]`; empty without one."""
        if self.interval is None:
            return ""
        return f" [{', '.join(dict.fromkeys(map(self._end, self.interval)))}]"

    def _end(self, rate: float) -> str:
        if rate <= 0:
            return f"under {_rate(self.lowest)}"
        return f"over {_rate(self.highest)}" if np.isinf(rate) else _rate(rate)

    def to_json(self) -> dict[str, float | list[float | None] | None]:
        """The place for programs; an end outside of what was played is null."""
        ends = [_inside(end) for end in self.interval] if self.interval is not None else None
        return {"rate": _inside(self.rate), "interval": ends, "calls_at_once": self.at_once}


def calls_within(steps: Sequence[CurveStep], budget_ms: float) -> OnCurve | None:
    """The highest rate whose p95 is within the budget; None without a step that has a p95."""
    steps = _in_order(steps)
    if not steps:
        return None
    rates = np.array([step.rate for step in steps])
    found = _crossing(rates, _p95(steps)[None, :], budget_ms)[0]
    drawn = _drawn_p95(steps)
    interval = None if drawn is None else _ends(_crossing(rates, drawn, budget_ms), _fewest(steps), rates)
    return OnCurve(float(found), interval, float(rates[0]), float(rates[-1]), _at_once(steps, float(found)))


def knee(steps: Sequence[CurveStep]) -> OnCurve | None:
    """The rate of greatest power; 0 where it is the first that was played, infinite where it is the last. None with under
    three steps, and where no step has a finite p95."""
    steps = _in_order(steps)
    p95 = _p95(steps)
    if len(steps) < STEPS_FOR_A_KNEE or np.isinf(p95).all():
        return None
    rates = np.array([step.rate for step in steps])
    found = float(_bend(rates, p95[None, :])[0])
    drawn = _drawn_p95(steps)
    interval = None if drawn is None else _ends(_bend(rates, drawn), _fewest(steps), rates, between=False)
    return OnCurve(found, interval, float(rates[0]), float(rates[-1]), _at_once(steps, found))


def _in_order(steps: Sequence[CurveStep]) -> list[CurveStep]:
    return sorted((step for step in steps if step.has_p95), key=lambda step: step.rate)


def _fewest(steps: Sequence[CurveStep]) -> int:
    return min(len(step.ttfa_ms) for step in steps)


def _p95(steps: Sequence[CurveStep]) -> Floats:
    return np.array([quantile([v for group in step.ttfa_ms.values() for v in group], 0.95) for step in steps])


def _drawn_p95(steps: Sequence[CurveStep]) -> Floats | None:
    """(draws, steps): the p95 of each step in each draw of its stretches; None where a step has too few."""
    if _fewest(steps) < FEWEST_CLUSTERS:
        return None
    return np.stack([drawn_quantile(step.ttfa_ms, 0.95, seed=k, draws=FINE_DRAWS) for k, step in enumerate(steps)], axis=1)


def _crossing(rates: Floats, p95: Floats, budget_ms: float) -> Floats:
    """For each curve (row), the rate at which it crosses the budget."""
    found = np.full(len(p95), np.inf)
    for k, row in enumerate(p95):
        over = np.flatnonzero(row > budget_ms)
        if not over.size:
            continue
        first = int(over[0])
        if first == 0:
            found[k] = 0.0
            continue
        below, above = row[first - 1], row[first]
        share = 0.0 if np.isinf(above) else (budget_ms - below) / (above - below)
        found[k] = rates[first - 1] + share * (rates[first] - rates[first - 1])
    return found


def _bend(rates: Floats, p95: Floats) -> Floats:
    """For each curve, the rate of greatest power; 0 where it is the first, infinite where it is the last."""
    power = np.where(np.isinf(p95), 0.0, rates / np.maximum(p95, 1.0))
    best = power.argmax(axis=1)
    found: Floats = np.concatenate([[0.0], rates[1:-1], [np.inf]])[best]
    return found


def _ends(drawn: Floats, stretches: int, rates: Floats, *, between: bool = True) -> tuple[float, float]:
    large = np.where(np.isinf(drawn), np.finfo(float).max, drawn)
    # A knee is one of the rates that were played, and none between them.
    low, high = percentile_interval(large, stretches, method="linear" if between else "inverted_cdf")
    return _played(float(low), rates), _played(float(high), rates)


def _played(end: float, rates: Floats) -> float:
    """The end, but 0 or infinity where it is outside of the rates that were played."""
    return 0.0 if end < rates[0] else float("inf") if end > rates[-1] else end


def _at_once(steps: Sequence[CurveStep], rate: float) -> float | None:
    if rate <= 0 or np.isinf(rate):
        return None
    return float(np.interp(rate, [step.rate for step in steps], [step.at_once for step in steps]))


def calls_a_second(rate: float) -> str:
    """`1 call a second`, `0.5 calls a second`."""
    return f"{_rate(rate)} call{'' if rate == 1 else 's'} a second"


def _rate(rate: float) -> str:
    return f"{rate:.3g}"


def _inside(rate: float) -> float | None:
    return None if rate <= 0 or np.isinf(rate) else rate
