"""Who slows whom: the time of each stage of a cascade beside each other stage, against its time alone.

The same callers speak to the same cascade in seven configurations, in each of which other stages compute and stand-ins answer
for the rest. A stage is compared with itself, so its own speed cancels, and what remains is what another's work costs it.
Each configuration is played twice, the second time in the opposite order: a machine that warms up, or that somebody else begins
to use, would otherwise slow the later ones and look like interference.

A ratio's interval draws stretches of time of both configurations anew, each on its own, as for every figure of a load test
(`harness.turns.table`). A median does not need many turns, its interval needs eight stretches, and a p95 60 turns.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final, get_args

import numpy as np

from harness.agents.cascade.settings import ComputingStage
from harness.statistics.drawn_quantiles import Drawn
from harness.statistics.interval import TAIL, TURNS_FOR_P95

STAGES: Final[tuple[ComputingStage, ...]] = get_args(ComputingStage)
Configuration = tuple[ComputingStage, ...]
"""The stages that compute, in the order of `STAGES`; stand-ins answer for the others."""
Stretches = Mapping[str, Sequence[Mapping[str, float]]]
"""Stretch of a play → the stages' own times in each of its turns that count."""
CONFIGURATIONS: Final[tuple[Configuration, ...]] = tuple(
    chosen for size in range(1, len(STAGES) + 1) for chosen in combinations(STAGES, size)
)
ORDER: Final = (*CONFIGURATIONS, *reversed(CONFIGURATIONS))
"""All plays: two of each configuration, on average at the same time."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A percentile of a stage's time in company, against alone. `interval`: None under eight stretches of time in either."""

    alone_ms: float
    beside_ms: float
    value: float
    interval: tuple[float, float] | None = None

    @property
    def is_clear(self) -> bool:
        """True if the interval excludes 1."""
        return self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]


@dataclass(frozen=True, slots=True)
class Slowing:
    """What the stages `by` do to `stage`; the ratios are None where either configuration has no such percentile."""

    stage: ComputingStage
    by: Configuration
    p50: Ratio | None
    p95: Ratio | None


@dataclass(frozen=True, slots=True)
class StageTime:
    """The time of one stage in one configuration."""

    stage: ComputingStage
    computing: Configuration
    turns: int
    """Turns with this time."""
    without: int
    """Turns that count and stamped none."""
    p50_ms: float | None
    p95_ms: float | None
    """None under 60 turns."""
    plays_ms: tuple[float, ...] = ()
    """The median of each play, in the order played: where these differ, the machine changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Interference:
    """The matrix: each stage's times, and what each company does to it. Stages are in the order of `STAGES`."""

    times: tuple[StageTime, ...]
    slowings: tuple[Slowing, ...]
    stretches: int
    """Stretches of time of the configuration that has fewest."""

    def alone(self, stage: str) -> StageTime | None:
        """The time of a stage alone; None where that was not played."""
        return next((time for time in self.times if time.stage == stage and time.computing == (stage,)), None)

    def slowing(self, stage: str, by: Sequence[str]) -> Slowing | None:
        """What these stages do to a stage; None where that was not played."""
        return next((one for one in self.slowings if one.stage == stage and set(one.by) == set(by)), None)

    def to_json(self) -> dict[str, Any]:
        """The matrix for programs."""
        return {**asdict(self), "slowings": [{**asdict(one), "clear": _clear(one)} for one in self.slowings]}


def _clear(one: Slowing) -> bool:
    return one.p50 is not None and one.p50.is_clear


def interference(plays: Iterable[tuple[Sequence[str], Stretches]]) -> Interference:
    """The matrix of these plays: the stages that computed, and the times. No stretch is in two plays."""
    found: dict[Configuration, dict[str, Sequence[Mapping[str, float]]]] = {}
    for number, (computing, stretches) in enumerate(plays):
        configuration = tuple(stage for stage in STAGES if stage in computing)
        found.setdefault(configuration, {}).update({f"{number}-{name}": turns for name, turns in stretches.items()})
    found = {one: found[one] for one in CONFIGURATIONS if one in found}
    times = [_time(stage, one, found[one]) for stage in STAGES for one in found if stage in one]
    return Interference(
        times=tuple(times),
        slowings=tuple(slowing for stage in STAGES for slowing in _slowings(stage, found)),
        stretches=min(map(len, found.values()), default=0),
    )


def _values(stretches: Stretches, stage: ComputingStage) -> dict[str, list[float]]:
    found = {name: [turn[stage] for turn in group if stage in turn] for name, group in stretches.items()}
    return {name: group for name, group in found.items() if group}


def _time(stage: ComputingStage, computing: Configuration, stretches: Stretches) -> StageTime:
    plays: dict[str, list[float]] = {}
    for name, group in _values(stretches, stage).items():
        plays.setdefault(name.partition("-")[0], []).extend(group)
    values = [ms for group in plays.values() for ms in group]
    return StageTime(
        stage=stage,
        computing=computing,
        turns=len(values),
        without=sum(map(len, stretches.values())) - len(values),
        p50_ms=float(np.quantile(values, 0.50)) if values else None,
        p95_ms=float(np.quantile(values, 0.95)) if len(values) >= TURNS_FOR_P95 else None,
        plays_ms=tuple(float(np.median(group)) for group in plays.values()),
    )


def _slowings(stage: ComputingStage, found: Mapping[Configuration, Stretches]) -> Iterator[Slowing]:
    """What each company does to a stage."""
    # Draws of two configurations are independent of each other, as their plays are.
    drawn = {one: _percentiles(_values(found[one], stage), seed) for seed, one in enumerate(found) if stage in one}
    if (alone := drawn.pop((stage,), None)) is not None:
        for company, beside in drawn.items():
            p50, p95 = map(_ratio, alone, beside)
            yield Slowing(stage, tuple(other for other in company if other != stage), p50, p95)


def _percentiles(values: Mapping[str, Sequence[float]], seed: int) -> tuple[Drawn | None, Drawn | None]:
    """The drawn median and p95."""
    enough = sum(map(len, values.values())) >= TURNS_FOR_P95
    return Drawn.quantile(values, 0.50, seed=seed), Drawn.quantile(values, 0.95, seed=seed) if enough else None


def _ratio(alone: Drawn | None, beside: Drawn | None) -> Ratio | None:
    if alone is None or beside is None or alone.value <= 0:
        return None
    change = beside.ratio(alone)
    low, high = change.bounds(TAIL)
    ends = (1 + low, 1 + high) if math.isfinite(low) and math.isfinite(high) else None
    return Ratio(alone.value, beside.value, 1 + change.value, ends)
