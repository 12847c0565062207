"""How often the interval of a load step's p95 contains the truth: `python benchmarks/load_intervals.py [replicates]`.

Calls come at random to an agent with a queue, whose p95 is known from a run a thousand times as long. Two ways to draw are
compared: single calls, and stretches of time as `harness.turns.stretches` draws them.
"""

import heapq
import sys

import numpy as np

from harness.turns.stretches import STRETCH_S
from harness.statistics.arrays import Floats
from harness.statistics.percentiles import quantiles_of

SERVERS = 8
SERVICE_S = 1.0
"""Mean time that an answer takes of one of the agent's places; its law is log-normal, σ 0.5."""
FILLING_S = 60.0
BUSY = (0.3, 0.6, 0.8, 0.9)
MINUTES = (3.0, 5.0, 10.0)


def waits(rng: np.random.Generator, rate: float, lasts_s: float) -> tuple[Floats, Floats]:
    """Instants and times to the answer in ms, of callers who come when the agent has been busy for a while."""
    at_s = np.cumsum(rng.exponential(1 / rate, round((lasts_s + FILLING_S) * rate * 1.2) + 100))
    at_s = at_s[at_s < lasts_s + FILLING_S]
    needs_s = rng.lognormal(np.log(SERVICE_S) - 0.125, 0.5, at_s.size)
    free = [0.0] * SERVERS
    found = np.empty(at_s.size)
    for k, (at, needs) in enumerate(zip(at_s, needs_s, strict=True)):
        done = max(heapq.heappop(free), at) + needs
        heapq.heappush(free, done)
        found[k] = 300 + 1_000 * (done - at)
    full = at_s >= FILLING_S
    return at_s[full] - FILLING_S, found[full]


def missed(at_s: Floats, ms: Floats, lasts_s: float, truth: float, *, stretches: bool) -> tuple[bool, bool, float]:
    """Whether the lower end of the interval is above the truth, whether the upper one is below it, and the width."""
    number = int(lasts_s / STRETCH_S)
    groups: dict[str, list[float]] = {}
    for k, (at, value) in enumerate(zip(at_s, ms, strict=True)):
        groups.setdefault(str(min(number - 1, int(at / lasts_s * number)) if stretches else k), []).append(float(value))
    ends = quantiles_of(groups, 1).p95_interval
    low, high = ends if ends is not None else (float("nan"), float("nan"))
    return low > truth, high < truth, high - low


def main() -> None:
    """Print a line for each length and load."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{SERVERS} places, {replicates} tests each; lower end above the true p95 + upper end below it, and the width")
    for busy in BUSY:
        rate = busy * SERVERS / SERVICE_S
        truth = float(np.percentile(waits(np.random.default_rng(0), rate, 200_000.0)[1], 95))
        for minutes in MINUTES:
            found = np.zeros((2, 3))
            for k in range(replicates):
                at_s, ms = waits(np.random.default_rng([1, k]), rate, 60 * minutes)
                for way in (0, 1):
                    found[way] += np.array(missed(at_s, ms, 60 * minutes, truth, stretches=bool(way)), float) / replicates
            calls, stretches = (f"{low:.1%} + {high:.1%} ({width:,.0f} ms)" for low, high, width in found)
            print(
                f"{busy:.0%} busy, {rate:.1f} calls/s, p95 {truth:,.0f} ms, {minutes:g} min: "
                f"calls {calls}, stretches {stretches}"
            )


if __name__ == "__main__":
    main()
