"""How many conversations a change between two versions takes, paired by conversation and not, against a simulated truth.

The world: conversations differ, and two runs of one agent on the same callers resemble each other by a correlation ρ of the
log of TTFA. A version answers `change` ms later on every turn, so the median change is `change` exactly, whatever ρ is. Stored
runs of `polaris-like` give ρ (`observed`): 0.65, 0.76, 0.77, 1.00 and 1.00 where both runs had the same voices, over 8 to 25
turns in common, and −0.02 to 0.97 over nine pairs of runs with other voices for the same callers. That is few turns, so the
tables go over a range.

Unpaired are two rules: the difference of two medians, each bounded at half the error (what `harness check` did, and does for a
p95), and the rank-sum test, which hardly any rule without pairs beats. Kindness is a judge's verdicts against two references on
one board; unpaired, each version has a board of its own, and the variances of its Elo over the first reference add up.

    python benchmarks/paired_change.py times --draws 400 --seed 1
    python benchmarks/paired_change.py shares --draws 400 --seed 1
    python benchmarks/paired_change.py elo --draws 120 --seed 3
    python benchmarks/paired_change.py observed RUN RUN ...

Each prints the rows of a table of docs/evidence/gate-baseline.md.
"""

import argparse
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from scipy import stats
from scipy.special import expit

from harness.ranking.leaderboard import leaderboard
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.arrays import Bools, Floats
from harness.statistics.bounds import Evidence, Percentile, Share, Worsening
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.statistics.paired import MeanChange
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.turns.estimate import by_cluster
from harness.turns.table import TurnTable

END: Final = 0.025
"""Error of each end of a 95 % interval."""
POWER: Final = 0.8
SIZES: Final = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
P50_MS: Final = 480.0
LOG_SD: Final = 0.35
"""Spread of TTFA, as in benchmarks/gate.py."""
WITHIN: Final = 0.6
SEPARATED: Final = 0.8
"""Gap in log-odds between the references, and spread of a conversation's part in a verdict."""


def times(rng: np.random.Generator, n: int, rho: float, change: float) -> tuple[Floats, Floats]:
    """(TTFA now, TTFA before) of n conversations of one turn."""
    shared, own = rng.normal(size=n), rng.normal(size=(2, n))
    now, before = P50_MS * np.exp(LOG_SD * (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own))
    return now + change, before


def flags(rng: np.random.Generator, n: int, rho: float, change: float) -> tuple[Floats, Floats]:
    """(within the budget now, before): a share `WITHIN` falls by `change`; ρ is of the normal variables behind the flags."""
    shared, own = rng.normal(size=n), rng.normal(size=(2, n))
    level = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own
    limits = stats.norm.ppf([WITHIN - change, WITHIN])
    now, before = (level[k] < limits[k] for k in (0, 1))
    return now.astype(float), before.astype(float)


def change_of(now: Floats, before: Floats, *, is_time: bool) -> Evidence:
    """The paired change, as `harness.turns.change` makes it of one turn a conversation."""
    return Percentile(tuple((now - before)[:, None]), 0.5) if is_time else MeanChange(before - now, np.ones(now.size))


def apart(now: Floats, before: Floats, *, is_time: bool) -> Evidence:
    """The unpaired change by two bounds."""
    if is_time:
        return Worsening(Percentile(tuple(now[:, None]), 0.5), Percentile(tuple(before[:, None]), 0.5), lower_is_better=True)
    return Worsening(Share(now, np.ones(now.size)), Share(before, np.ones(before.size)), lower_is_better=False)


def is_found(evidence: Evidence) -> bool:
    """True if the version is surely worse."""
    return evidence.bounds(END)[0] > 0


def by_rank_sum(now: Floats, before: Floats, *, is_time: bool) -> bool:
    """True if the version is surely worse by a two-sample test."""
    worse: Floats = now if is_time else -now
    other: Floats = before if is_time else -before
    return bool(stats.mannwhitneyu(worse, other, alternative="greater").pvalue < END)


def power(rule: Callable[[Floats, Floats], bool], drawn: Callable[[int], tuple[Floats, Floats]], draws: int, n: int) -> float:
    """The share of draws of n conversations in which a rule finds the change."""
    return float(np.mean([rule(*drawn(n)) for _ in range(draws)]))


def needed(share: Callable[[int], float]) -> str:
    """The fewest conversations of `SIZES` with the power asked for."""
    at = bisect_left(SIZES, True, key=lambda n: share(n) >= POWER)
    return str(SIZES[at]) if at < len(SIZES) else f"> {SIZES[-1]}"


def evidence_rows(draws: int, seed: int, *, is_time: bool) -> None:
    """The table of waits, or of shares within the budget."""
    world, scale = (times, 1.0) if is_time else (flags, 100.0)
    print("| ρ | change | missed by the 95 % interval | paired | two bounds | rank-sum test |\n|---|---|---|---|---|---|")
    for rho in (0.0, 0.5, 0.8, 0.95):
        for change in (0.0, 25.0, 50.0, 100.0) if is_time else (0.0, 0.05, 0.1, 0.2):
            rng = np.random.default_rng([seed, int(100 * rho), int(1000 * change)])
            missed = 0
            for _ in range(draws):
                low, high = change_of(*world(rng, 48, rho, change), is_time=is_time).bounds(END)
                missed += not low <= change <= high
            row = [f"{rho:g}", f"{scale * change:g} {'ms' if is_time else 'points'}", f"{100 * missed / draws:.1f} %"]
            if change == 0:
                print(f"| {' | '.join([*row, '', '', ''])} |")
                continue
            rules: tuple[Callable[[Floats, Floats], bool], ...] = (
                lambda now, before: is_found(change_of(now, before, is_time=is_time)),
                lambda now, before: is_found(apart(now, before, is_time=is_time)),
                lambda now, before: by_rank_sum(now, before, is_time=is_time),
            )
            drawn = partial(world, rng, rho=rho, change=change)
            row += [needed(partial(power, rule, drawn, draws // 4)) for rule in rules]
            print(f"| {' | '.join(row)} |", flush=True)


def verdicts(rng: np.random.Generator, n: int, rho: float, gap: float) -> list[Judgment]:
    """One judge's verdicts on two versions, each against two references; ρ: share of a conversation's part that both have."""
    shared, own = rng.normal(size=n), rng.normal(size=(2, n))
    part = SEPARATED * (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own)
    found = []
    for k, (name, level) in enumerate((("now", gap / ELO_PER_LOGIT), ("before", 0.0))):
        for reference, quality in (("ref:good", SEPARATED / 2), ("ref:plain", -SEPARATED / 2)):
            won: Bools = rng.random(n) < expit(level + part[k] - quality)
            found += [
                Judgment(
                    context=f"c{c}", subset="regular", system_a=name, system_b=reference, source="judge", judge="j@1",
                    winner="a" if win else "b", presentation="heard_text",
                )
                for c, win in enumerate(won)
            ]  # fmt: skip
    return found


def elo_of(rows: Sequence[Judgment]) -> tuple[float, float, float]:
    """(difference, half width paired, half width unpaired) in Elo."""
    found = leaderboard(rows).difference("now", "before")
    errors = []
    for name in ("now", "before"):
        error = leaderboard([row for row in rows if row.system_a == name]).difference(name, "ref:good").error
        errors.append(error if error is not None else np.nan)
    if found.interval is None or found.interval[0] is None:
        return found.elo, np.inf, np.inf
    contexts = len({row.context for row in rows})
    return (
        found.elo,
        found.elo - found.interval[0],
        float(np.sqrt(np.square(errors).sum()) * stats.t.ppf(1 - END, contexts - 1)),
    )


def elo_rows(draws: int, seed: int) -> None:
    """The table of kindness."""
    sizes = (24, 48, 96)
    head = " | ".join(f"± Elo, {n} conversations: paired / unpaired" for n in sizes)
    print(f"| ρ | gap | missed at {sizes[1]} | {head} |\n|---|---|---|{'---|' * len(sizes)}")
    for rho in (0.0, 0.5, 0.8, 0.95):
        for gap in (0.0, 50.0, 100.0):
            rng = np.random.default_rng([seed, int(100 * rho), int(gap)])
            # A conversation's own part draws the odds towards even, so the board's own truth is a little less than the gap.
            truth = leaderboard(verdicts(rng, 20_000, rho, gap)).difference("now", "before").elo if gap else 0.0
            cells, missed = [], 0
            for n in sizes:
                seen = [elo_of(verdicts(rng, n, rho, gap)) for _ in range(draws)]
                if n == sizes[1]:
                    missed = sum(abs(value - truth) > half for value, half, _ in seen)
                cells.append(f"{np.median([s[1] for s in seen]):.0f} / {np.median([s[2] for s in seen]):.0f}")
            print(f"| {rho:g} | {truth:.0f} Elo | {100 * missed / draws:.1f} % | {' | '.join(cells)} |", flush=True)


def observed(folders: Sequence[Path]) -> None:
    """The correlation of log TTFA between runs of one agent on the same callers."""
    runs = []
    for folder in folders:
        store = RunStore.open(folder)
        selection = Selection(store)
        for entry in store.manifest.played:
            table = TurnTable.of_groups(selection.turns(entry.name, store.manifest.conditions[0]))
            values = by_cluster(table, given := table.given("ttfa"), given.high)
            runs.append((folder.name, entry.name, store.manifest, values))
    for (one, agent, now, new), (two, other, before, old) in combinations(runs, 2):
        if agent != other or now.mode != before.mode or now.pack != before.pack:
            continue
        shared = [c for c in new if c in old and len(new[c]) == len(old[c])]
        alike = [c for c in shared if now.voices.get(c) == before.voices.get(c)]
        for what, among in (("same voices", alike), ("other voices", [c for c in shared if c not in alike])):
            pairs = np.array([pair for c in among for pair in zip(new[c], old[c], strict=True)]).reshape(-1, 2)
            pairs = np.log(pairs[np.isfinite(pairs).all(axis=1)])
            if len(pairs) >= FEWEST_CLUSTERS:
                print(f"{agent}, {one} and {two}, {what}: {len(pairs)} turns, ρ {np.corrcoef(pairs.T)[0, 1]:.2f}")


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("times", "shares", "elo", "observed"))
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.table == "observed":
        observed(asked.runs)
    elif asked.table == "elo":
        elo_rows(asked.draws, asked.seed)
    else:
        evidence_rows(asked.draws, asked.seed, is_time=asked.table == "times")


if __name__ == "__main__":
    main()
