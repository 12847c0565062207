"""Refits of a board on bootstrap draws of its conversations, a thousand at a time.

The weighted win matrix of each context is a sufficient statistic, so a draw needs no verdict again: the draws' matrices are one
matrix product, and all draws are refitted side by side by Newton's method from the fit of the whole data.
"""

import numpy as np
from scipy.special import expit

from harness.ranking.connectivity import PRIOR_PRECISION, are_bounded
from harness.statistics.arrays import Floats

STEPS = 60
CLOSE = 2e-3
"""Log-odds (0.35 Elo). A Newton step no larger than this is the last: the rest is of the order of its square, which was
under 0.001 Elo in every refit checked against full convergence."""


def refit(wins: Floats, often: Floats, theta: Floats, precision: float) -> Floats:
    """Strength-weighted log-odds of every draw: (draws, systems), each with mean zero.

    `wins`: (contexts, systems, systems); `often`: (draws, contexts); `theta`, `precision`: the fit of the whole data. A
    draw without a finite maximum is regularised by the prior of `connectivity`, the others are not.
    """
    size = theta.size
    i, j = np.triu_indices(size, 1)
    used = (wins[:, i, j] + wins[:, j, i]).sum(axis=0) > 0
    i, j = i[used], j[used]
    won = often @ wins[:, i, j]
    met = won + often @ wins[:, j, i]
    incidence = np.zeros((i.size, size))
    incidence[np.arange(i.size), i] = 1.0
    incidence[np.arange(i.size), j] = -1.0
    outer = (incidence[:, :, None] * incidence[:, None, :]).reshape(i.size, -1)
    prior = np.full(often.shape[0], precision)
    if precision == 0:
        matrix = np.zeros((often.shape[0], size, size), dtype=bool)
        matrix[:, i, j] = won > 0
        matrix[:, j, i] = met > won
        prior[~are_bounded(matrix)] = PRIOR_PRECISION
    found = np.tile(theta, (often.shape[0], 1))
    active = np.arange(often.shape[0])
    corner = np.arange(size)
    for _ in range(STEPS):
        chance = expit(found[active] @ incidence.T)
        slope = (won[active] - met[active] * chance) @ incidence - prior[active, None] * found[active]
        bread = ((met[active] * chance * (1 - chance)) @ outer).reshape(-1, size, size) + 1.0 / size
        bread[:, corner, corner] += prior[active, None]
        step = np.linalg.solve(bread, slope[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1)
        # A full step from afar can overshoot; one unit of log-odds is inside the region where Newton's method settles.
        found[active] += step * np.minimum(1.0, 1.0 / np.maximum(largest, 1e-300))[:, None]
        active = active[largest > CLOSE]
        if active.size == 0:
            break
    return np.asarray(found - found.mean(axis=1, keepdims=True), dtype=np.float64)
