"""How often a nominal 95 % interval covers the truth when people judge, who are a sample as well.

Fifteen raters of differing taste, drawn anew for every board; each pair of replies is judged by five of them on the five-level
scale with ties (HEART, section 9.6). The truth is over raters without end as well as contexts. Clustering by context alone
takes these fifteen for everybody; clustering by context and rater does not.

    python benchmarks/ranking_coverage_people.py --contexts 60 --draws 500 --seed 0
"""

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from harness.ranking import ordinal, ordinal_design
from harness.ranking.fits import fit_votes
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Floats

SYSTEMS, RATERS, RATERS_PER_PAIR = 4, 15, 5
CONTEXT_SD, PAIR_SD, TASTE_SD, POSITION_SD = 0.6, 0.4, 0.4, 0.3
TIE, MUCH = 0.4, 1.8
"""Cuts of the latent difference: below the first a tie, above the second "much better"."""
TRUTH_BOARDS, TRUTH_CONTEXTS = 3000, 20


def draw(contexts: int, rng: np.random.Generator) -> Votes:
    """Every pair of systems in every context, by five of fifteen raters."""
    i, j = np.triu_indices(SYSTEMS, 1)
    theta = np.linspace(-0.7, 0.7, SYSTEMS)
    taste, lean = rng.normal(0, TASTE_SD, (RATERS, SYSTEMS)), rng.normal(0, POSITION_SD, RATERS)
    reply = theta + rng.normal(0, CONTEXT_SD, (contexts, SYSTEMS))
    clash = rng.normal(0, PAIR_SD, (contexts, i.size))
    who = np.argsort(rng.random((contexts, i.size, RATERS)), axis=2)[:, :, :RATERS_PER_PAIR]
    contexts_of, pairs_of, _ = np.indices(who.shape)
    c, p, rater = contexts_of.ravel(), pairs_of.ravel(), who.ravel()
    shown = rng.choice([-1, 1], c.size)
    eta = (reply[c] + taste[rater])[np.arange(c.size), i[p]] - (reply[c] + taste[rater])[np.arange(c.size), j[p]]
    y = eta + clash[c, p] + lean[rater] * shown + rng.logistic(size=c.size)
    level = np.sign(y).astype(int) * ((np.abs(y) > TIE).astype(int) + 3 * (np.abs(y) > MUCH))
    return Votes(
        tuple(f"s{k}" for k in range(SYSTEMS)),
        tuple(str(k) for k in range(contexts)),
        tuple(f"r{k}" for k in range(RATERS)),
        i[p],
        j[p],
        level,
        c,
        rater,
        np.ones(c.size, dtype=np.int64),
        shown,
        np.zeros(c.size),
    )


def truth() -> Floats:
    """Log-odds of many small boards, each with raters of its own, as one board."""
    rng = np.random.default_rng(1)
    boards = [draw(TRUTH_CONTEXTS, rng) for _ in range(TRUTH_BOARDS)]
    names = ("first", "second", "level", "judge", "source", "shown", "length")
    joined: dict[str, Any] = {name: np.concatenate([getattr(board, name) for board in boards]) for name in names}
    folded = np.zeros(joined["level"].size, dtype=np.int64)
    return ordinal.fit(ordinal_design.design(replace(boards[0], **joined, context=folded, contexts=("all",)))).theta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, required=True)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    want = truth()
    rng = np.random.default_rng([given.seed, given.contexts])
    covered: dict[str, float] = defaultdict(float)
    for _ in range(given.draws):
        votes = draw(given.contexts, rng)
        ways = {"context and rater": votes, "context alone": replace(votes, source=np.zeros_like(votes.source))}
        for name, cast in ways.items():
            fitted = fit_votes(cast)
            half = np.sqrt(np.diag(fitted.covariance.matrix)) * fitted.covariance.quantile()
            covered[name] += float((np.abs(fitted.theta - want) <= half).mean())
    shares = {name: round(100 * total / given.draws, 1) for name, total in covered.items()}
    print(json.dumps({"contexts": given.contexts, "draws": given.draws, "seed": given.seed, "percent": shares}))


if __name__ == "__main__":
    main()
