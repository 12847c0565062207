"""How often a nominal 95 % interval of people's axis covers the truth, and how many votes a judge saves, whatever the judge is.

Boards are drawn from a world in which conversations and pairs of replies differ so much that two people agree on 78 % of pairs,
as HEART's do; the judge states levels of −5 … 5, as the judges that ship do. The truth needs no draw: it is the Bradley–Terry
fit of the chances of winning over all conversations and people, by quadrature.

    python -m benchmarks.ranking_people_coverage report
    python -m benchmarks.ranking_people_coverage choose

`report` prints the tables of docs/evidence/peoples-axis.md. `choose` is what the constants of
`harness.ranking.prediction_powered` rest on; its boards have other seeds, and no board of `report` chose anything.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from unittest import mock

import numpy as np
from scipy.special import expit

from harness.ranking import bradley_terry, draw_pairs, prediction_powered
from harness.ranking.connectivity import is_bounded
from harness.ranking.draw_pairs import chance_to_stay
from harness.ranking.prediction_powered import PeoplesFit, Sample, fit
from harness.ranking.scale import ELO_PER_LOGIT
from harness.ranking.votes_needed import half_width_elo
from harness.statistics.arrays import Floats, Ints

REPORT_SEED: Final = 2026
CHOOSE_SEED: Final = 7
LATENT: Final = np.array([1.2, 0.6, 0.0, -0.6, -1.2])
CONTEXT_SD: Final = 1.5
"""Of one system between conversations; with `PAIR_SD`, two people agree on 78 % of pairs (`two_people_agree`)."""
PAIR_SD: Final = 2.0
TASTE_SD: Final = 0.7
"""Of one rater's liking for one system."""
NODES, HEFT = np.polynomial.hermite_e.hermegauss(60)

Judge = Callable[[np.random.Generator, "Replies"], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A kind of board."""

    contexts: int = 80
    raters: int = 12
    taste_sd: float = 0.0
    tie: float = 0.0
    """Cut of the latent difference under which a vote is a tie."""
    by_doubt: bool = False
    """True: pairs of which the judge is sure are drawn less often (`draw_pairs`); False: every pair as often."""


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """Every pair of replies of a board, and how much more people like the first: `eta`, in log-odds."""

    first: Ints
    second: Ints
    context: Ints
    eta: Floats


def _replies(contexts: int, rng: np.random.Generator) -> Replies:
    i, j = np.triu_indices(LATENT.size, 1)
    worth = LATENT + rng.normal(0, CONTEXT_SD, (contexts, LATENT.size))
    eta = (worth[:, i] - worth[:, j] + rng.normal(0, PAIR_SD, (contexts, i.size))).ravel()
    return Replies(np.tile(i, contexts), np.tile(j, contexts), np.repeat(np.arange(contexts), i.size), eta)


def _with_noise(share: float, sd: float) -> Judge:
    return lambda rng, replies: np.asarray(share * replies.eta + rng.normal(0, sd, replies.eta.size), dtype=np.float64)


def _taste(rng: np.random.Generator, replies: Replies) -> Floats:
    liking = np.array([-3.0, 0.0, 0.0, 0.0, 3.5])
    leaning = liking[replies.first] - liking[replies.second] + rng.normal(0, 1.5, replies.eta.size)
    return np.asarray(0.5 * replies.eta + leaning, dtype=np.float64)


def _length(rng: np.random.Generator, replies: Replies) -> Floats:
    """The longer reply wins; the weaker systems write more."""
    words = rng.normal(0, 2, (int(replies.context.max()) + 1, LATENT.size)) - LATENT
    return np.asarray(words[replies.context, replies.first] - words[replies.context, replies.second], dtype=np.float64)


JUDGES: Final[dict[str, Judge]] = {
    "perfect": _with_noise(1.0, 0.0),
    "agrees on 80 %": _with_noise(1.0, 1.4),
    "agrees on 78 %": _with_noise(1.0, 1.75),
    "agrees on 66 %": _with_noise(1.0, 4.7),
    "a taste of its own": _taste,
    "length": _length,
    "useless": _with_noise(0.0, 2.0),
}


def draw(world: World, judge: Judge, votes: int, rng: np.random.Generator) -> tuple[Sample, Sample, Floats]:
    """A board with a judge; votes without it, on pairs that are drawn as often as each other; and the raters' tastes."""
    replies = _replies(world.contexts, rng)
    stated = judge(rng, replies)
    stated = np.clip(np.where(stated < 0, np.floor(stated), np.ceil(stated)), -5.0, 5.0)
    even = np.ones(replies.eta.size)
    rate = np.array([chance_to_stay(level) for level in np.abs(stated)]) if world.by_doubt else even
    taste = rng.normal(0, world.taste_sd, (world.raters, LATENT.size))
    return (
        _voted(world, replies, stated, rate, taste, votes, rng),
        _voted(world, replies, stated, even, taste, votes, rng),
        taste,
    )


def _voted(
    world: World, replies: Replies, stated: Floats, rate: Floats, taste: Floats, votes: int, rng: np.random.Generator
) -> Sample:
    voted = _drawn(rate, votes, rng)
    rater = rng.integers(0, world.raters, votes)
    one, other = replies.first[voted], replies.second[voted]
    y = replies.eta[voted] + taste[rater, one] - taste[rater, other] + rng.logistic(size=votes)
    vote = (1 + np.sign(y) * (np.abs(y) > world.tie)) / 2
    size, k = replies.eta.size, LATENT.size
    return Sample(
        size, k, world.contexts, replies.first, replies.second, replies.context, stated, np.full(size, np.nan), voted, vote,
        rater, 1 / rate[voted],
    )  # fmt: skip


def _drawn(rate: Floats, votes: int, rng: np.random.Generator) -> Ints:
    """Different pairs, each with a chance in proportion to its rate: at equal steps along the rates in a random order."""
    order = rng.permutation(rate.size)
    ends = np.cumsum(rate[order]) / rate.sum() * votes
    return np.asarray(order[np.searchsorted(ends, np.arange(votes) + rng.random())], dtype=np.int64)


def truth(world: World, taste: Floats | None = None) -> Floats:
    """Log-odds over all conversations, and over all people or, with the taste of one, over that person's votes alone."""
    worth = LATENT if taste is None else LATENT + taste
    sd = np.sqrt(2 * CONTEXT_SD**2 + PAIR_SD**2 + (2 * world.taste_sd**2 if taste is None else 0.0))
    eta = worth[:, None, None] - worth[None, :, None] + sd * NODES
    chance = (expit(eta - world.tie) + expit(eta + world.tie)) / 2 @ HEFT / HEFT.sum()
    np.fill_diagonal(chance, 0.0)
    return bradley_terry.fit(chance, precision=0.0).theta


def two_people_agree() -> float:
    """Share of pairs on which two people without tastes have the same winner."""
    sd = np.sqrt(2 * CONTEXT_SD**2 + PAIR_SD**2)
    i, j = np.triu_indices(LATENT.size, 1)
    chance = expit((LATENT[i] - LATENT[j])[:, None] + sd * NODES)
    return float(((chance**2 + (1 - chance) ** 2) @ HEFT).mean() / HEFT.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Two fits beside the truth. `agrees`: share of votes on which the judge has the same winner, of pairs drawn evenly."""

    found: PeoplesFit
    without: PeoplesFit
    """Of as many votes on pairs that are drawn as often as each other, without the judge."""
    truth: Floats
    agrees: float


def boards(world: World, judge: Judge, votes: int, many: int, seed: list[int]) -> Iterator[Board | None]:
    """Fits of boards; None for one whose votes have no finite answer, which has bounds in place of intervals."""
    rng = np.random.default_rng(seed)
    want = truth(world)
    for _ in range(many):
        sample, even, taste = draw(world, judge, votes, rng)
        if not (_has_end(sample) and _has_end(even)):
            yield None
            continue
        clear = even.vote != 0.5
        agrees = float(((even.stated[even.voted] > 0) == (even.vote > 0.5))[clear].mean())
        yield Board(fit(sample), fit(even, 0.0), truth(world, taste[0]) if world.raters == 1 else want, agrees)


def _has_end(sample: Sample) -> bool:
    """True where the votes have a finite answer."""
    wins = np.zeros((LATENT.size, LATENT.size))
    one, other = sample.first[sample.voted], sample.second[sample.voted]
    np.add.at(wins, (one, other), sample.vote)
    np.add.at(wins, (other, one), 1 - sample.vote)
    return is_bounded(wins)


def summary(given: list[Board | None], votes: int, world: World) -> dict[str, float]:
    """Figures of a row."""
    fitted = [board for board in given if board is not None]

    def figures(fits: list[PeoplesFit]) -> tuple[float, float, float]:
        half = np.array([np.sqrt(np.diag(f.covariance.matrix)) * f.covariance.quantile() for f in fits])
        miss = np.array([f.theta - board.truth for f, board in zip(fits, fitted, strict=True)])
        return float((np.abs(miss) <= half).mean()), float(np.median(half) * ELO_PER_LOGIT), float((miss**2).mean())

    covered, half, error = figures([board.found for board in fitted])
    alone_covered, alone_half, alone_error = figures([board.without for board in fitted])
    return {
        "agrees": round(float(np.mean([board.agrees for board in fitted])), 3),
        "alone_covered": round(100 * alone_covered, 1),
        "alone_half_elo": round(alone_half, 1),
        "covered": round(100 * covered, 1),
        "half_elo": round(half, 1),
        "predicted_half_elo": round(half_width_elo(LATENT.size, world.contexts, votes), 1),
        "power": round(float(np.mean([board.found.power for board in fitted])), 2),
        "worth_stated": round(float(np.median([board.found.worth for board in fitted]))),
        "worth_by_width": round(votes * (alone_half / half) ** 2),
        "worth_by_error": round(votes * alone_error / error),
        "one_sided": round(100 * (1 - len(fitted) / len(given)), 1),
    }


VOTES: Final = (60, 120, 300)
_TASTES: Final = World(taste_sd=TASTE_SD)
REPORTED: Final[tuple[tuple[str, World, tuple[str, ...], tuple[int, ...]], ...]] = (
    ("people alike", World(), tuple(JUDGES), VOTES),
    ("twelve people with tastes", _TASTES, ("agrees on 80 %", "a taste of its own", "useless"), VOTES),
    ("one person, that person's axis", World(taste_sd=TASTE_SD, raters=1), ("agrees on 80 %", "useless"), (120,)),
    ("eight conversations, one person", World(8, 1, TASTE_SD), ("agrees on 80 %",), (24, 40, 60)),
    ("drawn by the judge's doubt", World(by_doubt=True), tuple(JUDGES), VOTES),
    ("ties", World(tie=1.0), ("agrees on 80 %", "length"), (120,)),
    ("people alike, half as many votes again", World(), ("useless",), (180,)),
)


def report(many: int) -> None:
    """Print a row of JSON for each kind of board, judge and number of votes."""
    for at, (name, world, judges, sizes) in enumerate(REPORTED):
        for votes in sizes:
            for judge in judges:
                seed = [REPORT_SEED, at, votes, list(JUDGES).index(judge)]
                given = list(boards(world, JUDGES[judge], votes, many, seed))
                print(json.dumps({"boards": name, "votes": votes, "judge": judge, **summary(given, votes, world)}), flush=True)


def choose(many: int) -> None:
    """Print what few conversations, and other values of `SLOPE_PRECISION`, give."""
    judges = ("perfect", "agrees on 80 %", "a taste of its own", "useless")

    def rows(name: str, value: object, world: World, votes: int, judges: tuple[str, ...] = judges) -> None:
        for judge in judges:
            seed = [CHOOSE_SEED, world.contexts, votes, list(JUDGES).index(judge)]
            given = list(boards(world, JUDGES[judge], votes, many, seed))
            print(json.dumps({name: value, "contexts": world.contexts, "votes": votes, "judge": judge,
                              **summary(given, votes, world)}), flush=True)  # fmt: skip

    for contexts in (8, 12, 16, 20, 30):
        rows("conversations", contexts, World(contexts, raters=1), 3 * contexts)
    for precision in (0.1, 1.0, 10.0):
        with mock.patch.object(prediction_powered, "SLOPE_PRECISION", precision):
            rows("slope precision", precision, World(raters=1), 60)
    surest = ("agrees on 78 %", "a taste of its own", "useless")
    for stays in (1.0, 2 / 3, 0.5, 1 / 3):
        with mock.patch.object(draw_pairs, "SUREST_STAYS", stays):
            rows("surest pairs stay", round(stays, 2), World(by_doubt=True), 120, surest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("report", "choose"))
    parser.add_argument("--boards", type=int, default=2000)
    given = parser.parse_args()
    (report if given.what == "report" else choose)(given.boards)


if __name__ == "__main__":
    main()
