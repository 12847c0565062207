"""How often a batch that is ended early ends on a difference that is not there, and how much asking it saves.

Verdicts come from a world where replies are better or worse than their system (`CONTEXT_SD`) and each pair of replies meets on
its own terms (`PAIR_SD`). `null`: all systems are equal; counted is the share of batches in which *any* two were called
apart at *any* look, which must stay under 5 %. `spread`: systems evenly apart in log-odds; counted are verdicts used, wrong
orders, and how often the ordinary 95 % intervals of the board that is left cover the truth after such a stop.

    python benchmarks/judging_stopping.py --contexts 80 --systems 4 --draws 2000
    python benchmarks/judging_stopping.py --contexts 300 --systems 4 --spread 1.5 --goal order --draws 300
"""

import argparse
from dataclasses import dataclass

import numpy as np

from harness.ranking import leaderboard
from harness.ranking.scale import to_elo
from harness.ranking.stopping import GOALS, Goal, UntilSeparated, planned_looks
from harness.statistics.arrays import Floats
from harness.store.judgment import Judgment

CONTEXT_SD, PAIR_SD = 0.6, 0.4
STRENGTH_CUTS = (0.5, 1.0, 1.8, 3.0)
TRUTH_CONTEXTS = 3_000


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of one batch."""

    stopped_at: int | None
    any_apart: bool
    wrong: bool
    covered: float


def verdicts(contexts: int, theta: Floats, rng: np.random.Generator) -> list[Judgment]:
    """Every pair once in every context."""
    first, second = np.triu_indices(theta.size, 1)
    reply = theta + rng.normal(0, CONTEXT_SD, (contexts, theta.size))
    y = reply[:, first] - reply[:, second] + rng.normal(0, PAIR_SD, (contexts, first.size))
    y = y + rng.logistic(size=y.shape)
    shown = rng.random(y.shape) < 0.5
    return [
        Judgment(
            context=f"c{c:04}", subset="regular", system_a=f"s{a}", system_b=f"s{b}", source="judge", judge="j",
            winner="a" if y[c, k] > 0 else "b", strength=1 + int(np.searchsorted(STRENGTH_CUTS, abs(y[c, k]))),
            shown_first="a" if shown[c, k] else "b",
        )
        for c in range(contexts)
        for k, (a, b) in enumerate(zip(first, second, strict=True))
    ]  # fmt: skip


def batch(contexts: int, theta: Floats, truth: Floats, goal: Goal, rng: np.random.Generator) -> Batch:
    """One batch, looked at as the command does."""
    rows = verdicts(contexts, theta, rng)
    pairs = theta.size * (theta.size - 1) // 2
    looks = planned_looks(contexts)
    rule = UntilSeparated(goal, [f"s{k}" for k in range(theta.size)], len(looks))
    used, stopped = contexts, None
    for end in looks:
        if rule(rows[: end * pairs]):
            used, stopped = end, end
            break
    apart = [gap for look in rule.looks for gap in look.gaps if gap.apart]
    wrong = any(theta[int(gap.better[1:])] <= theta[int(gap.worse[1:])] for gap in apart)
    board = leaderboard(rows[: used * pairs])
    inside = [row.interval[0] <= truth[int(row.system[1:])] <= row.interval[1] for row in board.systems if row.interval]
    return Batch(stopped, bool(apart), wrong, float(np.mean(inside)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contexts", type=int, default=80)
    parser.add_argument("--systems", type=int, default=4)
    parser.add_argument("--spread", type=float, default=0.0, help="log-odds from the worst system to the best")
    parser.add_argument("--goal", choices=GOALS, default="order")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    theta = np.linspace(0, chosen.spread, chosen.systems)
    large = leaderboard(verdicts(TRUTH_CONTEXTS, theta, rng))
    # Where all are equal the truth is known, and the same fit on many contexts is only needed where they are not.
    truth = np.array([large[f"s{k}"].elo for k in range(theta.size)]) if chosen.spread else to_elo(theta)
    found = [batch(chosen.contexts, theta, truth, chosen.goal, rng) for _ in range(chosen.draws)]
    used = np.mean([(b.stopped_at or chosen.contexts) / chosen.contexts for b in found])
    print(
        f"{chosen.contexts} contexts, {chosen.systems} systems, spread {chosen.spread:g}, goal {chosen.goal}, "
        f"{chosen.draws} batches: any two apart {np.mean([b.any_apart for b in found]):.2%}, "
        f"wrong {np.mean([b.wrong for b in found]):.2%}, ended early "
        f"{np.mean([b.stopped_at is not None and b.stopped_at < chosen.contexts for b in found]):.2%}, "
        f"verdicts used {used:.1%}, 95 % intervals cover {np.mean([b.covered for b in found]):.2%}"
    )


if __name__ == "__main__":
    main()
