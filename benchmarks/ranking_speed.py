"""How long the fits take on a board of the paper's size, beside the libraries that do the same.

42,000 comparisons: 18 systems, 300 contexts, 28 pairs a context, 5 judges. Everything runs on one core in one process, one
after the other, so the ratios are of one run:

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 taskset -c 0 python benchmarks/ranking_speed.py

Times are processor time of the one thread, which a busy machine disturbs less than the wall clock does. The libraries refit
fewer resamples (LIBRARY_DRAWS), scaled up to a thousand; their cost is linear in the number of draws.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import arenakit
import evalica
import numpy as np

from harness.ranking import bradley_terry, ordinal, ordinal_bootstrap, ordinal_design
from harness.ranking.bradley_terry import refit
from harness.ranking.scale import ELO_PER_LOGIT
from harness.ranking.verdicts import Votes
from harness.statistics.bootstrap import draw_contexts

SYSTEMS, CONTEXTS, PAIRS, JUDGES = 18, 300, 28, 5
DRAWS = 1000
LIBRARY_DRAWS = 20
CHECKED = 25
"""Refits compared with their own full convergence."""


def votes(seed: int = 0) -> Votes:
    """A board with context effects, position bias, and lengths."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(SYSTEMS, 1)
    theta = np.linspace(-0.9, 0.7, SYSTEMS)
    reply = rng.normal(0, 0.5, (CONTEXTS, SYSTEMS))
    words = rng.integers(20, 60, (CONTEXTS, SYSTEMS))
    pair = np.concatenate([rng.choice(i.size, PAIRS, replace=False) for _ in range(CONTEXTS)]).repeat(JUDGES)
    context = np.arange(CONTEXTS).repeat(PAIRS * JUDGES)
    a, b = i[pair], j[pair]
    shown = rng.choice([-1, 1], pair.size)
    length = np.log1p(words[context, a]) - np.log1p(words[context, b])
    eta = (theta + reply)[context, a] - (theta + reply)[context, b] + 0.3 * shown + 0.2 * length
    y = eta + rng.logistic(size=pair.size)
    level = np.sign(y).astype(int) * (1 + np.searchsorted([0.5, 1.0, 1.8, 3.0], np.abs(y)))
    return Votes(
        tuple(f"s{k:02}" for k in range(SYSTEMS)),
        tuple(f"c{k:03}" for k in range(CONTEXTS)),
        tuple(f"j{k}" for k in range(JUDGES)),
        a,
        b,
        level,
        context,
        np.tile(np.arange(JUDGES), CONTEXTS * PAIRS),
        np.zeros(pair.size, dtype=np.int64),
        shown,
        length,
    )


def timed(work: Callable[[], object], times: int) -> float:
    """Median seconds, after one call that is not counted."""
    work()
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def main() -> None:
    board = votes()
    rng = np.random.default_rng(1)
    wins = bradley_terry.wins_by_context(board)
    total = wins.sum(axis=0)
    fitted = bradley_terry.fit(total)
    laid_out = ordinal_design.design(board)
    found = ordinal.fit(laid_out)
    often = draw_contexts(CONTEXTS, DRAWS, rng)

    ours = {
        "aggregate 42,000 rows": timed(lambda: bradley_terry.wins_by_context(board), 9),
        "one strength-weighted fit": timed(lambda: bradley_terry.fit(total), 51),
        "1,000 clustered strength-weighted refits": timed(
            lambda: refit(wins, draw_contexts(CONTEXTS, DRAWS, rng), fitted.theta, fitted.precision), 9
        ),
        "one ordinal fit, position and length": timed(lambda: ordinal.fit(laid_out), 3),
        "1,000 clustered ordinal refits, position and length": timed(lambda: ordinal_bootstrap.refit(found, board, often), 3),
    }

    drawn = refit(wins, often, fitted.theta, fitted.precision)
    exact = [bradley_terry.fit(np.tensordot(often[k], wins, axes=1)).theta for k in range(CHECKED)]
    strength_error = ELO_PER_LOGIT * np.abs(drawn[:CHECKED] - exact).max()
    drawn = ordinal_bootstrap.refit(found, board, often[:CHECKED])
    exact = [ordinal.fit(laid_out, weights=often[k]).theta for k in range(CHECKED)]
    ordinal_error = ELO_PER_LOGIT * np.abs(drawn - exact).max()

    names_a, names_b = ([board.systems[k] for k in side] for side in (board.first, board.second))
    winner = [evalica.Winner.X if v > 0 else evalica.Winner.Y for v in board.level]
    strength = np.abs(board.level).astype(float)
    index = evalica.indexing(names_a, names_b)[2]

    def evalica_fit(weights: np.ndarray) -> object:
        return evalica.bradley_terry(
            names_a, names_b, winner, index=index, weights=weights.tolist(), tolerance=1e-8, limit=1000
        )

    def evalica_draws() -> None:
        for k in range(LIBRARY_DRAWS):
            evalica_fit(strength * often[k][board.context])

    battles = [
        arenakit.Battle(model_a=a, model_b=b, winner="a" if v > 0 else "b", item_id=board.contexts[c])
        for a, b, v, c in zip(names_a, names_b, board.level, board.context, strict=True)
    ]
    arena = arenakit.Arena(battles)
    scale = DRAWS / LIBRARY_DRAWS
    libraries = {
        "evalica: one strength-weighted fit": timed(lambda: evalica_fit(strength), 5),
        "evalica: 1,000 clustered strength-weighted refits": scale * timed(evalica_draws, 1),
        "arenakit: one plain fit after aggregation": timed(lambda: arenakit.fit_bt(arena.counts()), 5),
        "arenakit: 1,000 clustered plain refits": scale
        * timed(lambda: arenakit.bootstrap(arena, n_resamples=LIBRARY_DRAWS, cluster="item"), 3),
    }
    plain = bradley_terry.wins_by_context(replace(board, level=np.sign(board.level)))
    plain_fit = bradley_terry.fit(plain.sum(axis=0))
    ours["1,000 clustered plain refits"] = timed(
        lambda: refit(plain, draw_contexts(CONTEXTS, DRAWS, rng), plain_fit.theta, 0.0), 9
    )

    print("| what | time |\n|---|--:|")
    for name, seconds in (ours | libraries).items():
        print(f"| {name} | {1000 * seconds:,.2f} ms |" if seconds < 1 else f"| {name} | {seconds:,.2f} s |")
    print(f"\nLargest distance from full convergence over {CHECKED} refits: {strength_error:.5f} Elo (strength), ", end="")
    print(f"{ordinal_error:.5f} Elo (ordinal).")
    strength_ratio = (
        libraries["evalica: 1,000 clustered strength-weighted refits"] / ours["1,000 clustered strength-weighted refits"]
    )
    plain_ratio = libraries["arenakit: 1,000 clustered plain refits"] / ours["1,000 clustered plain refits"]
    print(f"1,000 refits: evalica takes {strength_ratio:,.0f} times as long, arenakit {plain_ratio:,.0f} times.")


if __name__ == "__main__":
    main()
