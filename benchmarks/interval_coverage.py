"""How often the 95 % intervals of percentiles and shares cover the truth: `python benchmarks/interval_coverage.py [samples]`.

Conversations of one to six turns, alike within by an intraclass correlation of 0 to 1. Each turn has a rank among all turns,
uniform from 0 to 1, so the truth is known exactly; turns of a conversation share a normal variable (a Gaussian copula). Two
more laws: one conversation in sixteen is slow as a whole, and the longest conversations are the slow ones.

A percentile covers its truth exactly when the share of turns under that truth covers the percentile's own share, whatever the
times are (log-normal, a twentieth slow; on a grid it covers more often). So p50 and p95 need no samples of their own for
coverage. Widths, and the resampled interval (`statistics.bootstrap`) beside them, are of every tenth sample.
"""

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from harness.statistics.arrays import Floats, Ints
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.bounds import percentile_bounds
from harness.statistics.interval import TAIL, Interval
from harness.statistics.percentiles import weighted_quantile
from harness.statistics.share_bounds import highest, lowest, stays_under

CONVERSATIONS: Final = (8, 12, 24, 80, 200)
LENGTHS: Final = {"1": (1, 2), "4": (4, 5), "1–6": (1, 7)}
PLAIN: Final = "alike turns"
CASES: Final = (
    (PLAIN, "1", 0.0),
    *((PLAIN, "4", icc) for icc in (0.0, 0.3, 0.7, 0.9, 1.0)), *((PLAIN, "1–6", icc) for icc in (0.0, 0.7, 1.0)),
    *((law, "1–6", icc) for law in ("slow conversations", "long ones slow") for icc in (0.0, 0.7)),
)  # fmt: skip
SHARES: Final = (0.02, 0.1, 0.5, 0.95)
PERCENTILES: Final = (0.5, 0.95)
RESAMPLED: Final = 300
EVERY: Final = 10


def ranks(rng: np.random.Generator, sizes: Ints, law: str, icc: float) -> Floats:
    """Rank of each turn among all turns, conversation after conversation."""
    shared, own = np.repeat(rng.standard_normal(sizes.size), sizes), rng.standard_normal(int(sizes.sum()))
    rank = ndtr(np.sqrt(icc) * shared + np.sqrt(1 - icc) * own)
    if law == "slow conversations":
        slow, among = np.repeat(rng.random(sizes.size) < 1 / 16, sizes), 1 / 16
    elif law == "long ones slow":  # of lengths from one to six, two turns in seven are of conversations of six
        slow, among = np.repeat(sizes == 6, sizes), 2 / 7
    else:
        return np.asarray(rank, np.float64)
    return np.asarray(np.where(slow, 1 - (1 - rank) * among, rank * (1 - among)), np.float64)


@dataclass
class Tally:
    """What became of one figure in the samples of one case."""

    covered: list[bool] = field(default_factory=list)
    resampled: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    """Against the resampled interval; none where an end is open."""
    has_high: list[bool] = field(default_factory=list)

    def compare(self, ends: Interval, drawn: Floats, truth: float) -> None:
        """Add the interval and the resampled one."""
        self.resampled.append(bool(drawn[0] <= truth <= drawn[1]))
        self.has_high.append(ends[1] < np.inf)
        if np.isfinite(ends).all() and drawn[1] > drawn[0]:
            self.widths.append((ends[1] - ends[0]) / float(drawn[1] - drawn[0]))


def tallies(case: tuple[int, str, str, float], samples: int) -> dict[str, Tally]:
    """Figure → its tally in one case."""
    conversations, law, length, icc = case
    rng = np.random.default_rng([conversations, CASES.index((law, length, icc))])
    found: dict[str, Tally] = defaultdict(Tally)
    for k in range(samples):
        sizes = rng.integers(*LENGTHS[length], conversations)
        rank, owner, of = ranks(rng, sizes, law, icc), np.repeat(np.arange(conversations), sizes), sizes.astype(np.float64)
        often = draw_contexts(conversations, RESAMPLED, rng) if k % EVERY == 0 else None
        for share in SHARES:
            hits = np.bincount(owner, weights=rank < share, minlength=conversations).astype(np.float64)
            mine = found[f"share {share:g}"]
            mine.covered.append(not stays_under(share, hits, of, TAIL) and not stays_under(1 - share, of - hits, of, TAIL))
            if often is not None:
                drawn = percentile_interval(often @ hits / (often @ of), conversations)
                mine.compare((lowest(hits, of, TAIL), highest(hits, of, TAIL)), drawn, share)
        if often is None:
            continue
        for share in PERCENTILES:
            times = 450 * np.exp(0.6 * ndtri(rank))
            drawn = percentile_interval(weighted_quantile(times, often[:, owner], share), conversations)
            ends = percentile_bounds(np.split(times, np.cumsum(sizes)[:-1]), share, TAIL)
            found[f"p{100 * share:g}"].compare(ends, drawn, 450 * float(np.exp(0.6 * ndtri(share))))
    for share in PERCENTILES:
        found[f"p{100 * share:g}"].covered = found[f"share {share:g}"].covered
    return found


def main() -> None:
    """Print, by figure and number of conversations: least coverage of a case, its mean, and the mean of the resampled one."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    cases = [(n, *case) for n in CONVERSATIONS for case in CASES]
    table: dict[str, dict[int, list[Tally]]] = defaultdict(lambda: defaultdict(list))
    with Pool() as pool:
        for case, found in zip(cases, pool.imap(partial(tallies, samples=samples), cases), strict=True):
            for name, tally in found.items():
                table[name][case[0]].append(tally)
    print(f"| covered: least (mean); resampled: the same; width; with an upper end | {' | '.join(map(str, CONVERSATIONS))} |")
    print("|---|" + "--:|" * len(CONVERSATIONS))
    for name in sorted(table):
        print(f"| {name} | {' | '.join(_cell(table[name][n]) for n in CONVERSATIONS)} |")


def _cell(row: list[Tally]) -> str:
    ours, drawn = [float(np.mean(t.covered)) for t in row], [float(np.mean(t.resampled)) for t in row]
    widths, has_high = [w for t in row for w in t.widths], [h for t in row for h in t.has_high]
    width = f"× {np.median(widths):.2f}" if widths else "–"
    return f"{min(ours):.1%} ({np.mean(ours):.1%}); {min(drawn):.0%} ({np.mean(drawn):.0%}); {width}; {np.mean(has_high):.0%}"


if __name__ == "__main__":
    main()
