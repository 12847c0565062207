"""How often the intervals of boards at the edge cover the truth, and whether a board that could have one has one.

Small boards (two to five systems, eight contexts and up, one to three judges) with separated and nearly separated systems, many
ties, ties alone, every verdict beside its opposite, or hardly a pair a context. Verdicts of one conversation hang together: a
reply is better or worse than its system, and a pair of replies meets on its own terms. Both enter as parts of one normal
deviate that is turned into a logistic one, so that each verdict taken alone follows the fitted model exactly and the truth of
a board is known.

    python benchmarks/ranking_edge.py --boards 2000 --seed 0
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from harness.ranking import Board, leaderboard
from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.model import PRIMARY, Method, RatingModel
from harness.ranking.scale import ELO_PER_LOGIT
from harness.ranking.unbounded import standing
from harness.statistics.arrays import Floats
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import Judgment, Winner
from harness.store.judgment_table import table_of

STRENGTH_CUTS = (0.5, 1.0, 1.8, 3.0)


@dataclass(frozen=True)
class World:
    """One board's truth and how its verdicts are made."""

    theta: Floats
    contexts: int
    judges: int
    tie: float = 0.0
    """Latent differences smaller than this are ties."""
    lean: float = 0.0
    """Of every judge to the reply shown first."""
    both_orders: bool = False
    pairs_a_context: int = 99
    reply: float = 0.3
    pair: float = 0.2
    """Shares of the latent variance that all verdicts on a reply, and on a pair of replies, have in common."""
    strengths: bool = True


def draw(world: World, rng: np.random.Generator) -> list[Judgment]:
    """The verdicts of one board."""
    size = world.theta.size
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    own = np.sqrt(1 - world.reply - world.pair)
    rows = []
    for c in range(world.contexts):
        reply = rng.normal(size=size)
        kept = rng.permutation(len(pairs))[: world.pairs_a_context]
        for i, j in (pairs[k] for k in sorted(kept)):
            shared = np.sqrt(world.reply / 2) * (reply[i] - reply[j]) + np.sqrt(world.pair) * rng.normal()
            for judge in range(world.judges):
                orders = (1, -1) if world.both_orders else (int(rng.choice([1, -1])),)
                for repeat, shown in enumerate(orders):
                    share = np.clip(norm.cdf(shared + own * rng.normal()), 1e-12, 1 - 1e-12)
                    y = world.theta[i] - world.theta[j] + world.lean * shown + float(np.log(share / (1 - share)))
                    winner: Winner = "tie" if abs(y) < world.tie else "a" if y > 0 else "b"
                    strength = 1 + int(np.searchsorted(STRENGTH_CUTS, abs(y) - world.tie)) if world.strengths else 1
                    rows.append(
                        Judgment(
                            context=f"c{c}", subset="regular", system_a=f"s{i}", system_b=f"s{j}", source="judge",
                            judge=f"j{judge}", winner=winner, strength=1 if winner == "tie" else strength,
                            shown_first="a" if shown > 0 else "b", repeat=repeat,
                        )
                    )  # fmt: skip
    return rows


def _few(rng: np.random.Generator) -> dict[str, object]:
    return {
        "theta": rng.normal(0, 0.8, int(rng.integers(2, 6))),
        "contexts": int(rng.choice([8, 9, 10, 12, 16])),
        "judges": int(rng.integers(1, 4)),
        "strengths": bool(rng.random() < 0.7),
        "reply": float(rng.uniform(0, 0.5)),
        "pair": float(rng.uniform(0, 0.4)),
    }


def _apart(gap: tuple[float, float]) -> Callable[[np.random.Generator], World]:
    def make(rng: np.random.Generator) -> World:
        given = _few(rng)
        theta = rng.normal(0, 0.5, int(rng.integers(2, 6)))
        theta[-1] = theta[:-1].mean() + rng.choice([-1, 1]) * rng.uniform(*gap)
        return World(**{**given, "theta": theta})  # type: ignore[arg-type]

    return make


KINDS: dict[str, Callable[[np.random.Generator], World]] = {
    "few conversations": lambda rng: World(**_few(rng)),  # type: ignore[arg-type]
    "a system far apart": _apart((3.0, 8.0)),
    "a system nearly apart": _apart((1.5, 3.0)),
    "many ties": lambda rng: World(**_few(rng), tie=float(rng.uniform(0.7, 3.0))),  # type: ignore[arg-type]
    "ties alone": lambda rng: World(**{**_few(rng), "theta": np.zeros(int(rng.integers(2, 5)))}, tie=99.0),  # type: ignore[arg-type]
    "beside its opposite": lambda rng: World(
        **{**_few(rng), "theta": np.zeros(int(rng.integers(2, 5)))}, lean=99.0, both_orders=True  # type: ignore[arg-type]
    ),
    "a pair or two a conversation": lambda rng: World(
        **{**_few(rng), "contexts": int(rng.choice([12, 16, 24]))}, pairs_a_context=int(rng.integers(1, 3))  # type: ignore[arg-type]
    ),
}  # fmt: skip


@dataclass
class Tally:
    """What the boards of one kind came to. Shares of systems; boards with a system left out are counted apart."""

    boards: int = 0
    covered: int = 0
    given: int = 0
    one_sided: int = 0
    one_sided_covered: int = 0
    without: int = 0
    """Systems of connected boards without a separated system, seen in contexts enough, that yet had no interval."""
    nought: int = 0
    """Intervals of no width."""
    widths: list[float] = field(default_factory=list)

    def share(self) -> float:
        """Of all intervals, one-sided ones among them."""
        total = self.given + self.one_sided
        return (self.covered + self.one_sided_covered) / total if total else float("nan")


def judge(tally: Tally, board: Board, rows: Sequence[Judgment], theta: Floats) -> None:
    """Count one board into its kind."""
    tally.boards += 1
    for number, part in enumerate(PRIMARY.counted(table_of(rows)).parts, start=1):
        votes = part.votes
        stands = standing(wins_by_context(votes, weighted=False).sum(axis=0))
        truth = theta[[int(name[1:]) for name in votes.systems]]
        mean = truth[stands.core].mean() if stands.core.any() else truth.mean()
        for name, value in zip(votes.systems, 1500 + ELO_PER_LOGIT * (truth - mean), strict=True):
            row = board[name]
            assert row.part == number
            if row.interval is None:
                tally.without += bool(stands.core.all()) and row.contexts >= FEWEST_CLUSTERS
                continue
            low, high = row.interval
            inside = (low is None or low <= value) and (high is None or value <= high)
            if low is None or high is None:
                tally.one_sided += 1
                tally.one_sided_covered += inside
            else:
                tally.given += 1
                tally.covered += inside
                tally.nought += high - low < 1.0
                tally.widths.append(high - low)


def simulate(boards: int, seed: int, method: Method = "ordinal") -> dict[str, Tally]:
    """As many boards of each kind as go into `boards`."""
    found: dict[str, Tally] = defaultdict(Tally)
    for k in range(boards):
        kind = list(KINDS)[k % len(KINDS)]
        rng = np.random.default_rng([seed, k])
        world = KINDS[kind](rng)
        rows = draw(world, rng)
        judge(found[kind], leaderboard(rows, RatingModel(method)), rows, world.theta)
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="ordinal")
    given = parser.parse_args()
    found = simulate(given.boards, given.seed, given.method)
    print("| kind | boards | two ends | covered | median width | one end | covered | without one | of no width |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    whole = Tally()
    for tally in found.values():
        for name in ("boards", "covered", "given", "one_sided", "one_sided_covered", "without", "nought"):
            setattr(whole, name, getattr(whole, name) + getattr(tally, name))
        whole.widths += tally.widths
    for kind, t in [*found.items(), ("all", whole)]:
        two = f"{100 * t.covered / t.given:.1f} %" if t.given else "–"
        one = f"{100 * t.one_sided_covered / t.one_sided:.1f} %" if t.one_sided else "–"
        width = f"{np.median(t.widths):.0f}" if t.widths else "–"
        print(f"| {kind} | {t.boards} | {t.given} | {two} | {width} | {t.one_sided} | {one} | {t.without} | {t.nought} |")
    print(f"all intervals: {100 * whole.share():.1f} % cover")


if __name__ == "__main__":
    main()
