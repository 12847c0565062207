"""A policy chosen for the promise: the most ends answered within half a second as heard, at a share of pauses cut.

    python -m benchmarks.endpointing_choice open.jsonl day1.jsonl,day2.jsonl --also esconv.jsonl     # minutes

Cuts are worked out and not counted. Whether a wait cuts a pause depends on the pause's length, which people's law gives and
nothing heard before foretells; so a marked pause counts with the share of the law's pauses that would still be silent by
then (`PauseLaw.longer_than`). A few hundred pauses then say as much as
thousands of drawn ones, and both laws are worked out on the same pauses. A silence inside the voice that nobody marked has the
length that it has.

*As heard* is from the spoken end to the answer's first sound at the caller: the silence begins `start_ms` after the spoken
end, the decision falls after the wait, the reply is ready at a time of its own, and transport adds to the later of both.

The oracle knows kind and cues of every pause, except of those that our callers leave ambiguous on purpose: pauses after a
sentence as read, and ends on a plateau. Each of its groups has the log odds of its own members.

Each set of callers (files joined by commas) has the same weight, however many turns it has. Scores are those of heads fitted
on the first sets, without the context in question; sets after `--also` take part in the choice of the waits alone. Settings are
reported on the half of the contexts on which they were not chosen, too.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.endpointing import BUDGET_MS, PAUSE_FROM_MS, TARGETS, VOICED_AFTER_MS, Floats, Seen, area, joined, load
from benchmarks.endpointing_fit import FOLDS, HEADS, fit
from harness.agents.cascade.hazard import HazardSilence, Head
from harness.agents.cascade.settings import CascadeSettings, HazardEndpoint
from harness.agents.profile import load_profile
from harness.scenarios.pause_law import BETWEEN_PEOPLE, TO_AGENTS, PauseLaw

READY_QUANTILES: Final = np.linspace(0.05, 0.95, 10)
EAGER_P50_MS: Final = 420.0
MARGIN: Final = 0.85
"""Settings are chosen at this part of the promised share: chosen at 5 %, other halves of the contexts had 5.4 %, and the share
that is found on 300 pauses has a standard error of 1.2 points."""
SLACK: Final = 0.06
"""Ends within the budget that may be given for a shorter mean. Without it the mean at 5 % was 1.7 s instead of 1.3 s for two
ends in a hundred."""
HALVES: Final = 4


@dataclass(frozen=True, slots=True)
class Way:
    """The time from the silence's beginning to a ready reply (log-normal, by two points), and from a decision to the ear."""

    ready_p50_ms: float = 280.0
    ready_p95_ms: float = 450.0
    transport_ms: float = 30.0

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

    def silences_ms(self, odds: Floats) -> Floats:
        return HazardSilence({}, {}, Head(0.0, {}), self.price, self.least_ms, self.longest_ms, self.sure_from).silences_ms(
            odds
        )


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
    fixed = float((seen.length_ms[plain] + VOICED_AFTER_MS > needed[plain]).sum())
    cuts = [float(_longer_than(law, needed[marked] - VOICED_AFTER_MS).sum()) + fixed for law in _LONGER]
    ends = seen.final & (seen.length_ms + VOICED_AFTER_MS > needed)
    decided, begun = np.full(seen.turns, np.inf), np.full(seen.turns, np.inf)
    np.minimum.at(decided, seen.turn[ends], seen.start_ms[ends] + needed[ends])
    np.minimum.at(begun, seen.turn[ends], seen.start_ms[ends])
    # A turn without a final silence is never answered.
    heard = np.maximum(decided[:, None], begun[:, None] + way.ready_ms()[None, :]) + way.transport_ms
    mean_ms = float(heard[np.isfinite(heard)].mean())
    p50, p95 = np.percentile(heard, [50, 95])
    agents, between = (cut / int(inner.sum()) for cut in cuts)
    return Expected(agents, between, float((heard <= BUDGET_MS).mean()), mean_ms, float(p50), float(p95))


LEAST_MS: Final = (365.0, 430.0)
"""The first is for `eager`. With 450 ms ten answers were heard 470 to 512 ms after the last sound, over the socket."""
LONGEST_MS: Final = 2_400.0
"""With transport, the latest answer is heard within 2.5 s. Longer ones free cuts for the sure half (at 4.5 %, 62 % of ends
within the budget with 3 s and 55 % with this), and have callers wait for it."""
PRICES: Final = tuple(np.arange(3.0, 7.1, 0.5))
SURE: Final = tuple(np.round(np.arange(-1.0, 1.9, 0.1), 1))

Worked = Sequence[tuple[Waits, Expected]]
Listened = Sequence[tuple[Floats, Seen]]
"""Sets of silences, each with its log odds of an end."""


def averaged(waits: Waits, listened: Listened, way: Way) -> Expected:
    """The figures of a policy on several sets, each of the same weight."""
    return _mean([expected(waits, odds, seen, way) for odds, seen in listened])


def _mean(found: Sequence[Expected]) -> Expected:
    return Expected(*np.mean([astuple(each) for each in found], axis=0).tolist())


def swept(listened: Listened, way: Way) -> Worked:
    """Every policy that is compared, worked out."""
    grid = [Waits(float(p), least, LONGEST_MS, float(s)) for p, least, s in product(PRICES, LEAST_MS, SURE)]
    return [(waits, averaged(waits, listened, way)) for waits in grid]


def choose(worked: Worked, target: float, most_p50_ms: float = math.inf) -> tuple[Waits, Expected]:
    """Of the policies that cut at most `target` under the law of people who talk to agents (and have at most that median), the
    one with the least mean among those whose share within the budget is the best one's, less `SLACK`. If none cuts so little,
    the one that cuts least."""
    kept = [(w, e) for w, e in worked if e.cut <= target and e.p50_ms <= most_p50_ms]
    kept = kept or [(w, e) for w, e in worked if e.cut <= target] or [min(worked, key=lambda each: each[1].cut)]
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


def shipped(profile: str) -> Waits:
    """The waits of a profile that ships."""
    endpoint = CascadeSettings.model_validate(load_profile(profile).model_dump()["cascade"]).endpoint
    assert isinstance(endpoint, HazardEndpoint)
    sure = endpoint.sure_from
    return Waits(
        endpoint.price,
        endpoint.least_ms,
        endpoint.longest_ms,
        math.inf if sure is None else sure,
    )


def row(name: str, waits: Waits, got: Expected) -> str:
    """One line of the table."""
    setting = f"price {waits.price:.1f}, {waits.least_ms:.0f} to {waits.longest_ms:,.0f} ms, sure from {waits.sure_from:.1f}"
    shares = f"{got.within:.0%} | {got.cut:.1%} | {got.cut_between:.1%}"
    return f"| {name} | {setting} | {shares} | {got.mean_ms:,.0f} | {got.p50_ms:,.0f} | {got.p95_ms:,.0f} |"


def on_other_halves(listened: Listened, way: Way, target: float) -> Expected:
    """The figures on one half of the contexts of settings that were chosen on the other, on average."""
    rng, found = np.random.default_rng(0), []
    whole = [replace(seen, odds={"joined": odds}) for odds, seen in listened]
    for _ in range(HALVES):
        orders = [rng.permutation(np.unique(seen.context)) for seen in whole]
        parts = [
            [seen.of(list(half)) for seen, order in zip(whole, orders, strict=True) for half in [_half(order, second)]]
            for second in (False, True)
        ]
        for chosen, other in (parts, parts[::-1]):
            waits, _ = choose(swept([(seen.odds["joined"], seen) for seen in chosen], way), target)
            found.append(averaged(waits, [(seen.odds["joined"], seen) for seen in other], way))
    return _mean(found)


def _half(order: NDArray[np.int64], second: bool) -> NDArray[np.int64]:
    return order[order.size // 2 :] if second else order[: order.size // 2]


def listen(fitted_on: Sequence[Seen], also: Sequence[Seen], union: Seen, scorers: tuple[str, ...]) -> Listened:
    """The log odds of every silence by a head that did not see its context. `union`: the sets of `fitted_on` as one."""
    odds = np.split(left_out(union, scorers), np.cumsum([seen.final.size for seen in fitted_on])[:-1])
    head = fit(union, scorers, union.final | (union.length_ms >= PAUSE_FROM_MS))
    return [*zip(odds, fitted_on, strict=True), *((joined(seen, head), seen) for seen in also)]


def _files(given: str) -> list[Path]:
    return [Path(name) for name in given.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the waits of the hazard policy for the promise.")
    parser.add_argument("seen", nargs="+", help="a set each: files joined by commas")
    parser.add_argument("--also", nargs="*", default=[], help="sets on which no head is fitted")
    parser.add_argument("--ready-p50-ms", type=float, default=Way().ready_p50_ms)
    parser.add_argument("--ready-p95-ms", type=float, default=Way().ready_p95_ms)
    parser.add_argument("--heads", default=",".join(HEADS), help="of endpointing_fit, to be compared")
    parser.add_argument("--transport-ms", type=float, default=Way().transport_ms)
    given = parser.parse_args()
    fitted_on, also = ([load(*_files(each)) for each in sets] for sets in (given.seen, given.also))
    union = load(*(path for each in given.seen for path in _files(each)))
    way = Way(given.ready_p50_ms, given.ready_p95_ms, given.transport_ms)
    listeners = {name: listen(fitted_on, also, union, HEADS[name]) for name in given.heads.split(",")}
    listeners["oracle"] = [(oracle(seen), seen) for seen in (*fitted_on, *also)]
    print("| scorers and promise | settings | within 500 ms | cut, to agents | between people | mean | p50 | p95 |")
    print("|---" * 8 + "|")
    for name, listened in listeners.items():
        worked = swept(listened, way)
        for profile, target in TARGETS.items():
            most = EAGER_P50_MS if profile == "eager" else math.inf
            waits, got = choose(worked, target * MARGIN, most)
            print(row(f"{name}, {profile}", waits, got))
            for number, (odds, seen) in enumerate(listened, 1):
                print(row(f"… set {number}", waits, expected(waits, odds, seen, way)))
        waits, _ = choose(worked, 0.05)
        print(row(f"{name}, 5 %, on other halves", waits, on_other_halves(listened, way, 0.05)))
        if name == "all":
            for profile in TARGETS:
                print(row(f"{profile} as shipped", shipped(profile), averaged(shipped(profile), listened, way)))
                for number, (odds, seen) in enumerate(listened, 1):
                    print(row(f"… set {number}", shipped(profile), expected(shipped(profile), odds, seen, way)))
        print(f"areas of {name}: " + ", ".join(f"{area(seen, odds):.3f}" for odds, seen in listened))


if __name__ == "__main__":
    main()
