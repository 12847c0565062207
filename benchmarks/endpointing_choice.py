"""A policy chosen for the promise: the most ends answered within half a second as heard, at a share of pauses cut.

    python -m benchmarks.endpointing_choice open.jsonl day1.jsonl day2.jsonl --transport-ms 35     # minutes

Cuts are worked out and not counted. Whether a wait cuts a pause depends on the pause's length, which people's law gives and
nothing heard before foretells; so a marked pause counts with the share of the law's pauses that would still be silent by
then (`PauseLaw.longer_than`), with the detector's lag at its two edges as observed. A few hundred pauses then say as much as
thousands of drawn ones, and both laws are worked out on the same pauses. A silence inside the voice that nobody marked has the
length that it has.

*As heard* is from the spoken end to the answer's first sound at the caller: the silence begins `start_ms` after the spoken
end, the decision falls after the wait, the reply is ready at a time of its own, and transport adds to the later of both.

The oracle knows kind and cues of every pause, except of those that our callers leave ambiguous on purpose: pauses after a
sentence as read, and ends on a plateau. Each of its groups has the log odds of its own members.

Scores are those of heads fitted without the context in question, and settings are reported on the half of the contexts on
which they were not chosen.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import ndtri

from benchmarks.endpointing import BUDGET_MS, PAUSE_FROM_MS, VOICED_AFTER_MS, Floats, Seen, area, joined, load
from benchmarks.endpointing_fit import FOLDS, HEADS, fit
from harness.agents.cascade.hazard import HazardSilence, Head
from harness.scenarios.pause_law import BETWEEN_PEOPLE, TO_AGENTS, PauseLaw

READY_QUANTILES: Final = np.linspace(0.05, 0.95, 10)
TARGETS: Final = {"polaris-like": 0.05, "eager": 0.10, "patient": 0.02}
"""Shares of pauses cut that the profiles promise."""
EAGER_P50_MS: Final = 420.0
SLACK: Final = 0.06
"""Ends within the budget that may be given for a shorter mean. Without it the mean at 5 % was 1.7 s instead of 1.3 s for two
ends in a hundred."""
HALVES: Final = 4


@dataclass(frozen=True, slots=True)
class Way:
    """The time from the silence's beginning to a ready reply (log-normal, by two points), and from a decision to the ear."""

    ready_p50_ms: float = 280.0
    ready_p95_ms: float = 400.0
    transport_ms: float = 35.0

    def ready_ms(self) -> Floats:
        """Ready times, all as likely."""
        spread = math.log(self.ready_p95_ms / self.ready_p50_ms) / float(ndtri(0.95))
        return np.asarray(self.ready_p50_ms * np.exp(spread * ndtri(READY_QUANTILES)))


@dataclass(frozen=True, slots=True)
class Waits:
    """The settings of a policy of `harness.agents.cascade.hazard`."""

    price: float
    least_ms: float
    longest_ms: float
    sure_from: float
    open_below: float = -math.inf

    def silences_ms(self, odds: Floats) -> Floats:
        head = Head(0.0, {})
        policy = HazardSilence({}, {}, head, self.price, self.least_ms, self.longest_ms, self.sure_from, self.open_below)
        return policy.silences_ms(odds)


@dataclass(frozen=True, slots=True)
class Expected:
    """The shares of inner pauses cut under each law, and times of ends as heard."""

    cut: float
    cut_between: float
    within: float
    mean_ms: float
    p50_ms: float
    p95_ms: float


def _by_ms(law: PauseLaw) -> Floats:
    return np.array([law.longer_than(ms) for ms in range(7_000)])


_LONGER: Final = (_by_ms(TO_AGENTS), _by_ms(BETWEEN_PEOPLE))


def _longer_than(shares: Floats, ms: Floats) -> Floats:
    return np.asarray(shares[np.clip(np.round(ms), 0, shares.size - 1).astype(int)])


def expected(waits: Waits, odds: Floats, seen: Seen, way: Way) -> Expected:
    """What a policy is expected to reach on pauses whose lengths follow the laws."""
    needed = waits.silences_ms(odds)
    inner = ~seen.final & (seen.length_ms >= PAUSE_FROM_MS)
    marked = inner & np.isfinite(seen.marked_ms)
    plain = inner & ~marked
    lag = seen.length_ms[marked] - seen.marked_ms[marked]
    fixed = float((seen.length_ms[plain] + VOICED_AFTER_MS > needed[plain]).sum())
    cuts = [float(_longer_than(law, needed[marked] - VOICED_AFTER_MS - lag).sum()) + fixed for law in _LONGER]
    ends = seen.final & (seen.length_ms + VOICED_AFTER_MS > needed)
    decided, begun = np.full(seen.turns, np.inf), np.full(seen.turns, np.inf)
    np.minimum.at(decided, seen.turn[ends], seen.start_ms[ends] + needed[ends])
    np.minimum.at(begun, seen.turn[ends], seen.start_ms[ends])
    ended = np.isfinite(decided)
    heard = np.maximum(decided[ended, None], begun[ended, None] + way.ready_ms()[None, :]) + way.transport_ms
    p50, p95 = np.percentile(heard, [50, 95])
    agents, between = (cut / int(inner.sum()) for cut in cuts)
    return Expected(agents, between, float((heard <= BUDGET_MS).mean()), float(heard.mean()), float(p50), float(p95))


LEAST_MS: Final = (330.0, 360.0, 390.0, 420.0, 440.0)
LONGEST_MS: Final = (2_350.0, 3_000.0)
"""With the first the latest answer is heard within 2.5 s. Longer ones free cuts for the sure half: over three sets, at 5 %,
51 % of ends are within the budget with 3 s, 46 % with this."""
OPEN_BELOW: Final = (-math.inf, -3.0)
"""Log odds below which the wait is 5 s. Under -3 lie 3 of 313 ends and 37 % of pauses."""
PRICES: Final = tuple(np.arange(2.0, 8.1, 0.5))
SURE: Final = tuple(np.round(np.arange(-1.5, 2.1, 0.1), 1))

Worked = Sequence[tuple[Waits, Expected]]


def swept(odds: Floats, seen: Seen, way: Way) -> Worked:
    """Every policy that is compared, worked out."""
    grid = product(PRICES, LEAST_MS, LONGEST_MS, SURE, OPEN_BELOW)
    return [(waits, expected(waits, odds, seen, way)) for waits in (Waits(*map(float, each)) for each in grid)]


def choose(worked: Worked, target: float, most_p50_ms: float = math.inf) -> tuple[Waits, Expected]:
    """Of the policies that cut at most `target` under the law of people who talk to agents (and have at most that median), the
    one with the least mean among those whose share within the budget is the best one's, less `SLACK`."""
    kept = [(w, e) for w, e in worked if e.cut <= target and e.p50_ms <= most_p50_ms]
    kept = kept or [(w, e) for w, e in worked if e.cut <= target]
    best = max(e.within for _, e in kept)
    return min(((w, e) for w, e in kept if e.within >= best - SLACK), key=lambda each: each[1].mean_ms)


def left_out(seen: Seen, scorers: tuple[str, ...]) -> Floats:
    """The joined log odds of every pause by a head that did not see its context."""
    asked, score = seen.final | (seen.length_ms >= PAUSE_FROM_MS), np.zeros(seen.final.size)
    for k in range(FOLDS):
        out = seen.context % FOLDS == k
        score[out] = joined(seen, fit(seen, scorers, asked & ~out))[out]
    return score


def oracle(seen: Seen) -> Floats:
    """The log odds of a listener who knows kinds and cues, but not those that are ambiguous on purpose."""
    as_read = np.array(["as_read" in cues for cues in seen.cues])
    plateau = np.array(["plateau" in cues for cues in seen.cues])
    like_an_end = (seen.final & ~plateau) | (~seen.final & (seen.kind == "after_sentence") & as_read)
    odds = np.zeros(seen.final.size)
    for group in (like_an_end, ~like_an_end):
        odds[group] = math.log((seen.final & group).sum() + 0.5) - math.log((~seen.final & group).sum() + 0.5)
    return odds


def row(name: str, waits: Waits, got: Expected) -> str:
    """One line of the table."""
    setting = f"price {waits.price:.1f}, {waits.least_ms:.0f} to {waits.longest_ms:,.0f} ms, sure from {waits.sure_from:.1f}"
    setting += f", open below {waits.open_below:.0f}" if waits.open_below > -math.inf else ""
    shares = f"{got.within:.0%} | {got.cut:.1%} | {got.cut_between:.1%}"
    return f"| {name} | {setting} | {shares} | {got.mean_ms:,.0f} | {got.p50_ms:,.0f} | {got.p95_ms:,.0f} |"


def on_other_halves(odds: Floats, seen: Seen, way: Way, target: float) -> Expected:
    """What settings chosen on one half of the contexts reach on the other, on average."""
    rng, found = np.random.default_rng(0), []
    whole = replace(seen, odds={"joined": odds})
    for _ in range(HALVES):
        order = rng.permutation(np.unique(seen.context))
        halves = order[: order.size // 2], order[order.size // 2 :]
        for chosen, other in (halves, halves[::-1]):
            on, off = whole.of(list(chosen)), whole.of(list(other))
            waits, _ = choose(swept(on.odds["joined"], on, way), target)
            found.append(expected(waits, off.odds["joined"], off, way))
    mean: Callable[[str], float] = lambda name: float(np.mean([getattr(e, name) for e in found]))  # noqa: E731
    return Expected(*(mean(name) for name in ("cut", "cut_between", "within", "mean_ms", "p50_ms", "p95_ms")))


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the waits of the hazard policy for the promise.")
    parser.add_argument("seen", type=Path, nargs="+")
    parser.add_argument("--ready-p50-ms", type=float, default=Way().ready_p50_ms)
    parser.add_argument("--ready-p95-ms", type=float, default=Way().ready_p95_ms)
    parser.add_argument("--heads", default=",".join(HEADS), help="of endpointing_fit, to be compared")
    parser.add_argument("--transport-ms", type=float, default=Way().transport_ms)
    given = parser.parse_args()
    seen = load(*given.seen)
    way = Way(given.ready_p50_ms, given.ready_p95_ms, given.transport_ms)
    listeners = {name: left_out(seen, HEADS[name]) for name in given.heads.split(",")} | {"oracle": oracle(seen)}
    print("| scorers and promise | settings | within 500 ms | cut, to agents | between people | mean | p50 | p95 |")
    print("|---" * 8 + "|")
    for name, odds in listeners.items():
        worked = swept(odds, seen, way)
        for profile, target in TARGETS.items():
            most = EAGER_P50_MS if profile == "eager" else math.inf
            print(row(f"{name}, {profile}", *choose(worked, target, most)))
        waits, _ = choose(worked, 0.05)
        print(row(f"{name}, 5 %, on other halves", waits, on_other_halves(odds, seen, way, 0.05)))
    print("\n" + ", ".join(f"{name}: area {area(seen, odds):.3f}" for name, odds in listeners.items()))


if __name__ == "__main__":
    main()
