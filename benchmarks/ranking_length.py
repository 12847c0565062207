"""What a length term does to a rating, in three worlds that differ in why longer replies win.

Four systems of different merit and different habitual length, replies of varying length. In `nothing` length says nothing. In
`merit` a reply is the better for being longer. In `lean` the judge likes length and a reader does not care. The last two draw
their verdicts by the very same rule: what differs is what a reader would prefer, which is what the rating should say, and no
verdict tells it.

    python benchmarks/ranking_length.py --boards 300
"""

import argparse

import numpy as np

from harness.ranking import RatingModel, leaderboard
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.arrays import Floats
from harness.store.judgment import Judgment

SYSTEMS, CONTEXTS, JUDGES = 4, 30, 2
SPREAD, VARIATION, PULL = 0.5, 0.35, 0.8
"""SD of the systems' habitual log length, SD of a reply's around it, log-odds for e times the words."""


def board(world: str, rng: np.random.Generator) -> tuple[list[Judgment], dict[tuple[str, str, int], int], Floats]:
    """Verdicts, words of each reply, and the log-odds that a reader's own preference gives each system."""
    worth, habit = rng.normal(0, 0.5, SYSTEMS), rng.normal(0, SPREAD, SYSTEMS)
    pull = 0.0 if world == "nothing" else PULL
    rows: list[Judgment] = []
    words: dict[tuple[str, str, int], int] = {}
    for c in range(CONTEXTS):
        length = habit + rng.normal(0, VARIATION, SYSTEMS)
        words |= {(f"c{c}", f"s{s}", 0): round(40 * float(np.exp(length[s]))) for s in range(SYSTEMS)}
        for i in range(SYSTEMS):
            for j in range(i + 1, SYSTEMS):
                for judge in range(JUDGES):
                    y = worth[i] - worth[j] + pull * (length[i] - length[j]) + rng.logistic()
                    rows.append(
                        Judgment(
                            context=f"c{c}", subset="regular", system_a=f"s{i}", system_b=f"s{j}", source="judge",
                            judge=f"j{judge}", winner="a" if y > 0 else "b", strength=min(5, 1 + int(abs(y))),
                        )
                    )  # fmt: skip
    truth = worth + (PULL * habit if world == "merit" else 0.0)
    return rows, words, truth - truth.mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("| world | rating | error, Elo (RMS) | interval covers | median width | best system found |")
    print("|---|---|--:|--:|--:|--:|")
    for world in ("nothing", "merit", "lean"):
        for name in ("without", "with"):
            rng = np.random.default_rng(given.seed)
            errors, inside, widths, best = [], [], [], 0
            for _ in range(given.boards):
                rows, words, truth = board(world, rng)
                found = leaderboard(rows, RatingModel(lengths=words if name == "with" else None))
                elo = 1500 + ELO_PER_LOGIT * truth
                best += found.systems[0].system == f"s{int(np.argmax(truth))}"
                for k in range(SYSTEMS):
                    row = found[f"s{k}"]
                    errors.append(row.elo - elo[k])
                    low, high = row.interval or (None, None)
                    if low is not None and high is not None:
                        inside.append(low <= elo[k] <= high)
                        widths.append(high - low)
            print(
                f"| {world} | {name} | {np.sqrt(np.mean(np.square(errors))):.0f} | {100 * np.mean(inside):.0f} % "
                f"| {np.median(widths):.0f} | {100 * best / given.boards:.0f} % |"
            )


if __name__ == "__main__":
    main()
