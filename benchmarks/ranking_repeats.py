"""Rules for a voter's repeated votes on one pair, on boards whose truth is known: what each does to Elo.

    python -m benchmarks.ranking_repeats            # a minute

Six systems, 40 conversations, ten voters, each with a lasting taste for either reply of a pair; a fifth of the votes are given
again. The truth is the fit of the voters' expected shares. `scale` is the slope of the ratings on the true ones (under 1: the
board is pulled together), `error` the root mean square of a rating in Elo.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Final

import numpy as np

from harness.ranking import bradley_terry
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.arrays import Floats, Ints

SYSTEMS: Final = 6
CONTEXTS: Final = 40
VOTERS: Final = 10
AGAIN: Final = 0.2
BOARDS: Final = 300
TASTE: Final = 0.8
"""SD of a voter's own leaning in a pair, in log-odds; it is the same when asked again."""
SLIPS: Final = 0.1
"""Share of first votes that were a slip, which the second corrects."""
_PAIRS: Final = np.array(list(combinations(range(SYSTEMS), 2)))
_Rule = Callable[[Floats, Floats], tuple[Floats, Floats]]


def dropped(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Equal votes count once, unequal ones both."""
    return first, np.where(first == second, np.nan, second)


def last(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The last vote counts."""
    return np.where(np.isnan(second), first, second), np.full_like(second, np.nan)


def every(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Each vote counts."""
    return first, second


def mean(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """A voter's votes share one vote's weight."""
    return np.where(np.isnan(second), first, (first + second) / 2), np.full_like(second, np.nan)


RULES: Final[dict[str, _Rule]] = {"equal ones once": dropped, "the last": last, "each": every, "their mean": mean}
KINDS: Final = ("asked again at random", "rows there twice", "a slip corrected", "again where unsure", "again where sure")


def votes(kind: str, theta: Floats, rng: np.random.Generator) -> tuple[Ints, Floats, Floats, Floats]:
    """(pair, first, second, probability) of each vote; `second` is NaN without a repeat."""
    size = CONTEXTS * VOTERS * 4
    pair = rng.integers(len(_PAIRS), size=size)
    leaning = theta[_PAIRS[pair, 0]] - theta[_PAIRS[pair, 1]] + rng.normal(0, TASTE, size)
    p = 1 / (1 + np.exp(-leaning))
    meant, second = ((rng.random(size) < p).astype(float) for _ in range(2))
    first = meant
    chance = np.full(size, AGAIN)
    if kind == "again where unsure":
        chance = np.where(np.abs(leaning) < 0.5, 2 * AGAIN, AGAIN / 4)
    if kind == "again where sure":
        chance = np.where(np.abs(leaning) > 1.0, 2 * AGAIN, AGAIN / 4)
    again = rng.random(size) < chance
    if kind == "rows there twice":
        second = first
    if kind == "a slip corrected":
        again = rng.random(size) < AGAIN
        slip = again & (rng.random(size) < SLIPS / AGAIN)
        first, second = np.where(slip, 1 - meant, meant), meant
    return pair, first, np.where(again, second, np.nan), np.asarray(p, dtype=np.float64)


def rating(pair: Ints, won: Floats) -> Floats:
    """Elo of each system, of mean 0."""
    kept = ~np.isnan(won)
    wins = np.zeros((SYSTEMS, SYSTEMS))
    one, other = _PAIRS[pair[kept]].T
    np.add.at(wins, (one, other), won[kept])
    np.add.at(wins, (other, one), 1 - won[kept])
    theta = bradley_terry.fit(wins).theta
    return np.asarray(ELO_PER_LOGIT * (theta - theta.mean()), dtype=np.float64)


def main() -> None:
    """Print scale and error of each rule for each kind of repeat."""
    print("| repeats | " + " | ".join(f"{name}: scale, error" for name in RULES) + " |")
    for kind in KINDS:
        rng = np.random.default_rng(53)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in RULES}
        for _ in range(BOARDS):
            theta = np.linspace(-1.0, 1.0, SYSTEMS)
            pair, first, second, p = votes(kind, theta, rng)
            truth = rating(pair, p)
            for name, rule in RULES.items():
                once, again = rule(first, second)
                elo = rating(np.concatenate([pair, pair]), np.concatenate([once, again]))
                found[name].append((float(elo @ truth / (truth @ truth)), float(np.sqrt(np.mean((elo - truth) ** 2)))))
        cells = (np.mean(rows, axis=0) for rows in found.values())
        print(f"| {kind} | " + " | ".join(f"{scale:.3f}, {error:.1f}" for scale, error in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
