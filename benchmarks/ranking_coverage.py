"""How often a nominal 95 % interval covers the truth, by kind of interval and number of contexts.

Verdicts are drawn from a world where contexts, pairs and judges all have effects of their own: each reply is better or worse
than its system (`CONTEXT_SD`), each pair of replies meets on its own terms (`PAIR_SD`), pairs of systems depart from any
ranking (`CYCLE_SD`), and judges differ in taste, in their lean to the first reply and in noise. The truth is what the same
fit gives on contexts without end (200,000 of them): the judges stay the same, the contexts are what is sampled.

Two designs: `full` (five systems, every pair, every judge) and `sparse` (eight systems, eight of their 28 pairs a context,
three in ten verdicts missing, as own-family exclusion leaves them).

    python benchmarks/ranking_coverage.py run --contexts 12 --draws 2000 --seed 0 --out coverage.jsonl
    python benchmarks/ranking_coverage.py table coverage.jsonl

`run` appends one line of counts, so a long simulation can be cut into pieces of different seeds.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.ranking import bradley_terry, ordinal, ordinal_bootstrap, ordinal_design
from harness.ranking.bradley_terry import refit
from harness.ranking.elo_intervals import Covariance, clustered, max_t, of_differences
from harness.ranking.leaderboard import paper_half_width
from harness.ranking.ordinal import pin
from harness.ranking.scale import ELO_PER_LOGIT
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.percentiles import weighted_quantile

JUDGES = 3
DESIGNS = {"full": (5, 10, 0.0), "sparse": (8, 8, 0.3)}
"""Systems, pairs a context, share of verdicts missing."""
CONTEXT_SD, PAIR_SD, CYCLE_SD, TASTE_SD, POSITION_SD = 0.6, 0.4, 0.2, 0.2, 0.3
STRENGTH_CUTS = (0.5, 1.0, 1.8, 3.0)
TRUTH_CONTEXTS = 200_000
BOOTSTRAP_DRAWS = 500
LATENCY_P50_MS, LATENCY_SPREAD, CUT_IN_RATE = 450.0, 0.4, 0.1


def world(systems: int, seed: int = 20) -> dict[str, Floats]:
    """What stays fixed over all draws."""
    rng = np.random.default_rng(seed)
    cycle = rng.normal(0, CYCLE_SD, (systems, systems))
    return {
        "theta": np.linspace(-0.8, 0.8, systems),
        "cycle": cycle - cycle.T,
        "taste": rng.normal(0, TASTE_SD, (JUDGES, systems)),
        "position": rng.normal(0, POSITION_SD, JUDGES),
        "noise": np.array([0.8, 1.0, 1.25]),
    }


def draw(fixed: dict[str, Floats], contexts: int, rng: np.random.Generator, design: str) -> Votes:
    """Every pair once by every judge in every context, less what the design leaves out."""
    systems, pairs, missing = DESIGNS[design]
    i, j = np.triu_indices(systems, 1)
    reply = rng.normal(0, CONTEXT_SD, (contexts, systems))
    clash = rng.normal(0, PAIR_SD, (contexts, i.size))
    base = (fixed["theta"] + reply)[:, i] - (fixed["theta"] + reply)[:, j] + clash + fixed["cycle"][i, j]
    shown = rng.choice([-1, 1], (contexts, i.size, JUDGES))
    taste = (fixed["taste"][:, i] - fixed["taste"][:, j]).T
    y = base[:, :, None] + taste + fixed["position"] * shown + fixed["noise"] * rng.logistic(size=shown.shape)
    level = np.sign(y).astype(int) * (1 + np.searchsorted(STRENGTH_CUTS, np.abs(y)))
    c, p, g = np.indices(shown.shape)
    chosen = np.argsort(rng.random((contexts, i.size)), axis=1) < pairs
    kept = (chosen[:, :, None] & (rng.random(shown.shape) >= missing)).ravel()
    n = int(kept.sum())
    return Votes(
        tuple(f"s{k}" for k in range(systems)),
        tuple(str(k) for k in range(contexts)),
        tuple(f"j{k}" for k in range(JUDGES)),
        i[p.ravel()[kept]],
        j[p.ravel()[kept]],
        level.ravel()[kept],
        c.ravel()[kept],
        g.ravel()[kept],
        np.zeros(n, dtype=np.int64),
        shown.ravel()[kept],
        np.zeros(n),
    )


def truth(fixed: dict[str, Floats], design: str) -> dict[str, Floats]:
    """Log-odds that each fit tends to, from contexts without end, folded into one so that equal verdicts are counted."""
    rng = np.random.default_rng(1)
    parts = [draw(fixed, TRUTH_CONTEXTS // 20, rng, design) for _ in range(20)]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("first", "second", "level", "judge", "source", "shown", "length")
    }
    votes = replace(parts[0], **joined, context=np.zeros(joined["level"].size, dtype=np.int64), contexts=("all",))
    wins = bradley_terry.wins_by_context(votes).sum(axis=0)
    agree = sum(agreement_by_context(part).sum(axis=0) for part in parts) if design == "full" else np.ones(2)
    return {
        "agreement": agree[:1] / agree[1],
        "strength": bradley_terry.fit(wins).theta,
        "ordinal": ordinal.fit(ordinal_design.design(votes)).theta,
    }


def agreement_by_context(votes: Votes) -> Floats:
    """(contexts, 2): pairs on which the first two judges name the same winner, and pairs."""
    sign = np.sign(votes.level).reshape(-1, JUDGES)
    pairs = np.stack([sign[:, 0] == sign[:, 1], np.ones(sign.shape[0])], axis=1)
    return np.asarray(pairs.reshape(len(votes.contexts), -1, 2).sum(axis=1), dtype=np.float64)


def hits_of(votes: Votes, want: dict[str, Floats], rng: np.random.Generator, seed: int) -> dict[str, float]:
    """Name of interval → share of systems (or pairs, or boards) that it covers."""
    found: dict[str, float] = {}
    size = len(votes.systems)
    often = draw_contexts(len(votes.contexts), BOOTSTRAP_DRAWS, rng)

    def covers(theta: Floats, half: Floats | float, target: Floats) -> float:
        return float((np.abs(theta - target) <= half).mean())

    def all_of(name: str, theta: Floats, bread: Floats, scores: Floats, breads: Floats, spread: Floats) -> None:
        target = want[name]
        kinds = {
            "no correction, normal": (clustered(bread, scores, None, size, "none"), 1.96),
            "CR1, t": (clustered(bread, scores, None, size, "CR1"), None),
            "CR3, t": (clustered(bread, scores, breads, size), None),
        }
        for kind, (covariance, quantile) in kinds.items():
            error = np.sqrt(np.diag(covariance.matrix)[:size])
            found[f"{name}: sandwich, {kind}"] = covers(theta, error * (quantile or covariance.quantile()), target)
        own = Covariance(covariance.matrix[:size, :size], covariance.freedom)
        upper = np.triu_indices(size, 1)
        gap, gap_target = theta[:, None] - theta[None, :], target[:, None] - target[None, :]
        half = of_differences(own.matrix) * own.quantile()
        found[f"{name}: differences"] = float((np.abs(gap - gap_target) <= half)[upper].mean())
        band = np.sqrt(np.diag(own.matrix)) * max_t(own, draws=4000, seed=seed)
        found[f"{name}: max-t band (all systems at once)"] = float((np.abs(theta - target) <= band).all())
        ends = percentile_interval(spread, len(votes.contexts))
        found[f"{name}: bootstrap, expanded percentile"] = float(((ends[0] <= target) & (target <= ends[1])).mean())
        plain = np.quantile(spread, [0.025, 0.975], axis=0)
        found[f"{name}: bootstrap, plain percentile"] = float(((plain[0] <= target) & (target <= plain[1])).mean())
        # The pin gives the unidentified level a variance of one in every entry / systems; ratings do not have it.
        fisher = np.sqrt(np.diag(np.linalg.inv(pin(bread, size)))[:size] - 1 / size)
        found[f"{name}: Fisher information"] = covers(theta, 1.96 * fisher, target)

    wins = bradley_terry.wins_by_context(votes)
    plain = bradley_terry.fit(wins.sum(axis=0))
    all_of(
        "strength",
        plain.theta,
        plain.bread,
        bradley_terry.scores_by_context(plain.theta, wins),
        bradley_terry.breads_by_context(plain.theta, wins),
        refit(wins, often, plain.theta, plain.precision),
    )
    each = np.bincount(np.concatenate([votes.first, votes.second]), minlength=size)
    paper = np.array([paper_half_width(int(n)) for n in each]) / ELO_PER_LOGIT
    found["strength: the paper's sqrt(1/n)"] = covers(plain.theta, paper, want["strength"])
    if len(votes) % JUDGES == 0 and votes.judge[:JUDGES].tolist() == list(range(JUDGES)) and want["agreement"][0] < 1:
        agree = agreement_by_context(votes)
        ends = percentile_interval((often @ agree[:, 0]) / (often @ agree[:, 1]), len(votes.contexts))
        found["agreement of two judges: bootstrap, expanded percentile"] = float(ends[0] <= want["agreement"][0] <= ends[1])
    latency = rng.lognormal(np.log(LATENCY_P50_MS), LATENCY_SPREAD, len(votes.contexts))
    ends = percentile_interval(weighted_quantile(latency, often, 0.5), len(votes.contexts))
    found["latency p50: bootstrap, expanded percentile"] = float(ends[0] <= LATENCY_P50_MS <= ends[1])
    rows = replace(votes, context=np.arange(len(votes)), contexts=tuple(str(k) for k in range(len(votes))))
    row_wins = bradley_terry.wins_by_context(rows)
    row = clustered(plain.bread, bradley_terry.scores_by_context(plain.theta, row_wins), None, size, "none")
    found["strength: row sandwich"] = covers(plain.theta, 1.96 * np.sqrt(np.diag(row.matrix)), want["strength"])

    fitted = ordinal.fit(ordinal_design.design(votes))
    all_of(
        "ordinal",
        fitted.theta,
        fitted.bread,
        ordinal.scores_by_context(fitted),
        ordinal.breads_by_context(fitted),
        ordinal_bootstrap.refit(fitted, votes, often),
    )
    return found


def run(contexts: int, draws: int, seed: int, out: Path, design: str) -> None:
    fixed = world(DESIGNS[design][0])
    want = truth(fixed, design)
    rng = np.random.default_rng([seed, contexts])
    total: dict[str, float] = defaultdict(float)
    for k in range(draws):
        for name, share in hits_of(draw(fixed, contexts, rng, design), want, rng, seed + k).items():
            total[name] += share
    line = {"design": design, "contexts": contexts, "draws": draws, "seed": seed, "covered": dict(total)}
    with out.open("a") as file:
        file.write(json.dumps(line) + "\n")


def table(source: Path, design: str) -> None:
    draws: dict[int, int] = defaultdict(int)
    covered: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for text in source.read_text().splitlines():
        line = json.loads(text)
        if line.get("design", "full") != design:
            continue
        draws[line["contexts"]] += line["draws"]
        for name, share in line["covered"].items():
            covered[name][line["contexts"]] += share
    sizes = sorted(draws)
    print("| interval | " + " | ".join(f"{c} contexts ({draws[c]:,} draws)" for c in sizes) + " |")
    print("|---|" + "--:|" * len(sizes))
    for name in sorted(covered):
        print(f"| {name} | " + " | ".join(f"{100 * covered[name][c] / draws[c]:.1f} %" for c in sizes) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runner = verbs.add_parser("run")
    runner.add_argument("--contexts", type=int, required=True)
    runner.add_argument("--draws", type=int, default=2000)
    runner.add_argument("--seed", type=int, default=0)
    runner.add_argument("--out", type=Path, default=Path("coverage.jsonl"))
    tabler = verbs.add_parser("table")
    tabler.add_argument("source", type=Path)
    for verb in (runner, tabler):
        verb.add_argument("--design", choices=list(DESIGNS), default="full")
    given = parser.parse_args()
    if given.verb == "run":
        run(given.contexts, given.draws, given.seed, given.out, given.design)
    else:
        table(given.source, given.design)


if __name__ == "__main__":
    main()
