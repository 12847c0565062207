"""How often the 95 % interval of a percentile and of a share covers the truth.

`python benchmarks/interval_coverage.py [draws]`. Conversations of one to six turns, alike within by an intraclass correlation of
0 to 1. For each figure and law the table has, by number of conversations, the least coverage over all correlations and lengths,
the share of intervals with an upper end, and how wide they are against the resampled interval (`statistics.bootstrap`), with
the least coverage of that one.

Turns of one conversation share a normal variable (a Gaussian copula), so the truth is known exactly. Percentiles: log-normal
times; a twentieth of slow turns among quick ones; times on a grid of 10 ms; and conversations that are slow as a whole, one in
sixteen. *Long ones slow*: a conversation of six turns is slow as a whole where one of one turn is quick.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from harness.statistics.arrays import Floats, Ints
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.bounds import percentile_of, share_of_flags
from harness.statistics.interval import TAIL
from harness.statistics.percentiles import weighted_quantile

CONVERSATIONS: Final = (8, 12, 24, 80, 200)
LENGTHS: Final = {"1": (1, 2), "4": (4, 5), "1–6": (1, 7)}
ALIKE: Final = (("1", 0.0), *(("4", icc) for icc in (0.0, 0.3, 0.7, 0.9, 1.0)), *(("1–6", icc) for icc in (0.0, 0.7, 1.0)))
SHARES: Final = (0.02, 0.1, 0.3, 0.5, 0.9, 0.98)
RESAMPLED: Final = 300
"""Draws of the resampled interval; it is computed for every fifth sample."""
EVERY: Final = 5
Law = Callable[[Floats], Floats]
"""Rank of a turn among all (0 to 1) → its time in ms."""


def log_normal(rank: Floats) -> Floats:
    return np.asarray(450 * np.exp(0.6 * ndtri(rank)))


def some_slow(rank: Floats) -> Floats:
    return np.where(rank < 0.95, 400 + 100 * rank, 2_000 + 20_000 * (rank - 0.95))


def on_a_grid(rank: Floats) -> Floats:
    return np.ceil(log_normal(rank) / 10) * 10


LAWS: Final[dict[str, Law]] = {
    "log-normal": log_normal,
    "a twentieth slow": some_slow,
    "10 ms grid": on_a_grid,
    "slow conversations": log_normal,
    "long ones slow": log_normal,
}


def ranks(rng: np.random.Generator, sizes: Ints, icc: float, law: str) -> list[Floats]:
    """Rank of each turn of each conversation, uniform over all turns."""
    shared = rng.standard_normal(sizes.size)
    ends = np.cumsum(sizes)[:-1]
    own = rng.standard_normal(int(sizes.sum()))
    rank = ndtr(np.sqrt(icc) * np.repeat(shared, sizes) + np.sqrt(1 - icc) * own)
    if law == "slow conversations":  # the slowest sixteenth of turns are whole conversations; the others are `icc` alike
        slow = np.repeat(rng.random(sizes.size) < 1 / 16, sizes)
        rank = np.where(slow, 1 - (1 - rank) / 16, rank * 15 / 16)
    if law == "long ones slow":  # turns of conversations of six are two sevenths of all where lengths are one to six
        longest, among = np.repeat(sizes == 6, sizes), 6 / 21
        rank = np.where(longest, 1 - (1 - rank) * among, rank * (1 - among)) if len(set(sizes.tolist())) > 1 else rank
    return np.split(rank, ends)


@dataclass
class Tally:
    """Counts over samples of one case."""

    covered: list[bool] = field(default_factory=list)
    has_high: list[bool] = field(default_factory=list)
    resampled: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, ends: tuple[float, float], truth: float, other: Callable[[], Floats] | None) -> None:
        self.covered.append(ends[0] <= truth <= ends[1])
        self.has_high.append(ends[1] < np.inf)
        if other is None:
            return
        low, high = other()
        self.resampled.append(bool(low <= truth <= high))
        if np.isfinite(ends).all() and high > low:
            self.widths.append((ends[1] - ends[0]) / (high - low))


def resampled(groups: list[Floats], share: float | None, rng: np.random.Generator) -> Floats:
    """The interval of whole conversations resampled, of a quantile or (None) of the mean."""
    often = draw_contexts(len(groups), RESAMPLED, rng)
    if share is None:
        found = often @ np.array([g.sum() for g in groups]) / (often @ np.array([float(g.size) for g in groups]))
    else:
        found = weighted_quantile(np.concatenate(groups), np.repeat(often, [g.size for g in groups], axis=1), share)
    return percentile_interval(found, len(groups))


def case(what: tuple[str, int, str, float], draws: int) -> dict[str, Tally]:
    """Figure → its tally, over samples of one law, number of conversations, length and correlation."""
    law, conversations, length, icc = what
    rng = np.random.default_rng([conversations, list(LENGTHS).index(length), round(10 * icc), len(law)])
    found: dict[str, Tally] = {}
    for k in range(draws):
        groups = ranks(rng, rng.integers(*LENGTHS[length], conversations), icc, law)
        for name, truth, ends, values, share in figures(law, groups):
            again = partial(resampled, values, share, rng) if k % EVERY == 0 else None
            found.setdefault(name, Tally()).add(ends, truth, again)
    return found


def figures(law: str, groups: list[Floats]) -> Iterator[tuple[str, float, tuple[float, float], list[Floats], float | None]]:
    """Name, truth, interval, values and quantile of each figure of one sample."""
    if law == "share":
        for share in SHARES:
            flags = [(rank < share).astype(float) for rank in groups]
            if (seen := share_of_flags({str(n): f.tolist() for n, f in enumerate(flags)})) is not None:
                yield f"share of {share:g}", share, seen.bounds(TAIL), flags, None
        return
    times = [LAWS[law](rank) for rank in groups]
    for name, share in (("p50", 0.50), ("p95", 0.95)):
        if (one := percentile_of({str(n): t.tolist() for n, t in enumerate(times)}, share)) is not None:
            yield f"{name}, {law}", float(LAWS[law](np.array([share]))[0]), one.bounds(TAIL), times, share


def main() -> None:
    """Print the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    cases = [(law, n, *alike) for law in ("share", *LAWS) for n in CONVERSATIONS for alike in ALIKE]
    table: dict[str, dict[int, list[Tally]]] = {}
    with Pool() as pool:
        for (_, n, _, _), found in zip(cases, pool.imap(partial(case, draws=draws), cases), strict=True):
            for name, tally in found.items():
                table.setdefault(name, {}).setdefault(n, []).append(tally)
    print(f"| least coverage; with an upper end; width, coverage of the resampled | {' | '.join(map(str, CONVERSATIONS))} |")
    print("|---" * (1 + len(CONVERSATIONS)) + "|")
    for name, row in table.items():
        print(f"| {name} | {' | '.join(map(_cell, row.values()))} |")


def _cell(tallies: list[Tally]) -> str:
    least, other = (min(float(np.mean(getattr(t, of))) for t in tallies) for of in ("covered", "resampled"))
    widths = [w for t in tallies for w in t.widths]
    width = f"{np.median(widths):.2f} of" if widths else "–,"
    return f"{least:.1%}; {np.mean([h for t in tallies for h in t.has_high]):.0%}; {width} {other:.1%}"


if __name__ == "__main__":
    main()
