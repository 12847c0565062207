"""The callers of an open loop: instants that are drawn before the step from a seed, and never moved.

In a closed loop a slow agent is called less often, and the queue that it would have had is never seen. People call whether or
not an agent keeps up: nobody waits for anybody here, and a call that lasts long, or fails, moves no other.

* `poisson`: exponential gaps, as of many people who know nothing of each other.
* `burst`: gaps by a Gamma law of shape 1/2, the law of requests of services on Azure (BurstGPT, arXiv 2401.17644). The shape
  is a choice: of a smaller one a tenth of the gaps would be shorter than a timer's own error.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeVar, get_args

import numpy as np

from harness.caller.pacer import until
from harness.clock import now_ns
from harness.errors import UserError
from harness.nearest import or_one_of
from harness.statistics.arrays import Floats
from harness.store.load_part import ArrivalFigures
from harness.timeline import NS_PER_MS, NS_PER_S

Law = Literal["poisson", "burst"]
SHAPES: Final = MappingProxyType[Law, float]({"poisson": 1.0, "burst": 0.5})
"""Shape of the Gamma law of the gaps; of shape 1 it is the exponential law."""
MOST_LATE_MS: Final = 20.0
"""A frame: callers that come later than that come at another rate than was asked."""
HIGHEST_RATE: Final = 1_000.0
LEAD_NS: Final = 3 * NS_PER_S
"""How far ahead an order is given: a plan is written, read and brought to the line's rate in well under a second."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The callers of one step: their law, their rate in calls a second, how long they come, and the seed."""

    law: Law
    rate: float
    lasts_s: float
    seed: int

    def offsets_ns(self) -> tuple[int, ...]:
        """Nanoseconds from the beginning of the step to each caller, ascending; the same seed always gives the same."""
        shape = SHAPES[self.law]
        # Each rate has a stream of its own: what one step draws depends on no other step.
        rng = np.random.default_rng([self.seed % 2**64, round(self.rate * 1e6)])
        at_s = np.zeros(0)
        while not at_s.size or at_s[-1] < self.lasts_s:
            gaps_s = rng.gamma(shape, 1.0 / (shape * self.rate), size=max(64, round(self.rate * self.lasts_s)))
            at_s = np.concatenate([at_s, (at_s[-1] if at_s.size else 0.0) + np.cumsum(gaps_s)])
        return tuple(round(at * NS_PER_S) for at in at_s[at_s < self.lasts_s])


async def arrive(
    offsets_ns: Sequence[int], call: Callable[[int, int], Coroutine[None, None, T]], lead_ns: int = LEAD_NS
) -> list[T]:
    """The results of all calls, in the order of the schedule. `call`: plays the n-th call, which dials at an instant.

    The schedule begins `lead_ns` from now. Orders go to the caller processes that much ahead, so that neither writing a plan
    nor the run's own event loop can delay a call; the process that dials waits for the instant itself.
    """
    begin_ns = now_ns() + lead_ns
    calls: list[asyncio.Task[T]] = []

    try:
        async with asyncio.TaskGroup() as group:
            for number, offset_ns in enumerate(offsets_ns):
                await until(begin_ns + offset_ns - lead_ns)
                calls.append(group.create_task(call(number, begin_ns + offset_ns)))
    except BaseExceptionGroup as stopped:
        # The other calls were only cancelled: the first error is the cause.
        raise stopped.exceptions[0] from stopped
    return [task.result() for task in calls]


def arrival_figures(arrivals: Arrivals, due_ns: Sequence[int], begun_ns: Sequence[int]) -> ArrivalFigures | None:
    """The figures of callers that did dial; None for under two."""
    from scipy.stats import gamma, kstest

    if len(begun_ns) < 2:
        return None
    errors_ms = np.abs(np.array(begun_ns, np.int64) - np.array(due_ns, np.int64)) / NS_PER_MS
    gaps_s: Floats = np.diff(np.sort(np.array([at_ns - begun_ns[0] for at_ns in begun_ns], np.float64))) / NS_PER_S
    shape = SHAPES[arrivals.law]
    law = gamma(shape, scale=1.0 / (shape * arrivals.rate))
    return ArrivalFigures(
        calls=len(begun_ns),
        p99_error_ms=float(np.percentile(errors_ms, 99)),
        max_error_ms=float(errors_ms.max()),
        law_distance=float(kstest(gaps_s, law.cdf).statistic),
    )


def late_arrivals(found: ArrivalFigures | None) -> str:
    """The reason why callers did not come at the rate that was asked, in words; empty when they did."""
    if found is None or found.p99_error_ms <= MOST_LATE_MS:
        return ""
    return f"callers came late, p99 {found.p99_error_ms:,.0f} ms, and {MOST_LATE_MS:g} ms is the most"


def parse_law(text: str) -> Law:
    """Raises UserError: no such law."""
    for law in get_args(Law):
        if text == law:
            return law  # type: ignore[no-any-return]
    raise UserError(f"--arrivals {text}: unknown{or_one_of(text, get_args(Law))}")


def parse_rates(text: str) -> tuple[float, ...]:
    """`1,2,5,10` or `0.5` as calls a second.

    Raises:
        UserError: something else is written.
    """
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError:
        rates = ()
    if not rates or not all(0 < rate <= HIGHEST_RATE for rate in rates) or len(set(rates)) < len(rates):
        raise UserError(
            f"--rate {text}: write calls a second with commas, each once, as in 0.5,1,2,5 (at most {HIGHEST_RATE:g})"
        )
    return rates
