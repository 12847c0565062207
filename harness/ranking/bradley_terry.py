"""The strength-weighted Bradley–Terry fit: the paper's own, provided for comparison with it.

A verdict of strength 4 counts as four wins (HEART, section 9.8). That makes the fit a pseudo-likelihood: θ is stretched where
margins are wide, so exp(θ) is not the odds of winning, and only the order and the ratios of differences compare with the
ordinal fit, which is the primary one. The fit needs only the matrix of weighted wins, so bootstrap draws of conversations are
one matrix product, and all are refitted side by side from the fit of the whole data.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.ranking.connectivity import PRIOR_PRECISION, are_bounded, is_bounded
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Floats

TOLERANCE = 1e-11
"""Largest Newton step, in log-odds, at which a fit counts as converged (2e-9 Elo)."""
STEPS = 100
CLOSE = 2e-3
"""Log-odds (0.35 Elo). A Newton step no larger than this is the last: the rest is of the order of its square, which was under
0.001 Elo in every refit checked against full convergence."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted board: `theta` (systems,), mean zero; `bread` (systems, systems): minus the Hessian, prior included."""

    theta: Floats
    bread: Floats
    precision: float
    """Precision of the prior on each log-odds; 0 where the data alone decide."""


def wins_by_context(votes: Votes, *, weighted: bool = True) -> Floats:
    """(contexts, systems, systems): weight with which row beat column; a tie is half a win each way.

    This is a sufficient statistic of the weighted fit, and so of every bootstrap over contexts.
    """
    size = len(votes.systems)
    weight = np.maximum(np.abs(votes.level), 1).astype(np.float64) if weighted else np.ones(len(votes))
    for_first = np.where(votes.level > 0, weight, np.where(votes.level == 0, weight / 2, 0.0))
    ahead = (votes.context * size + votes.first) * size + votes.second
    behind = (votes.context * size + votes.second) * size + votes.first
    cells = len(votes.contexts) * size * size
    wins = np.bincount(ahead, for_first, cells) + np.bincount(behind, weight - for_first, cells)
    return np.asarray(wins.reshape(-1, size, size), dtype=np.float64)


def log_likelihood(theta: Floats, wins: Floats) -> float:
    """Σ w log P(win), by the weighted win matrix (systems, systems)."""
    return float(-(wins * np.logaddexp(0.0, theta[None, :] - theta[:, None])).sum())


def fit(wins: Floats, *, precision: float | None = None) -> Fit:
    """Maximum (pseudo-)likelihood by Newton's method, to full convergence.

    `wins`: (systems, systems), row beats column. `precision` of the prior: None decides by the data (none where a finite
    maximum exists, else `connectivity.PRIOR_PRECISION`).

    >>> fit(np.array([[0.0, 3.0], [1.0, 0.0]])).theta.round(3).tolist()  # a difference of ln 3
    [0.549, -0.549]
    """
    if precision is None:
        precision = 0.0 if is_bounded(wins) else PRIOR_PRECISION
    size = wins.shape[0]
    met = wins + wins.T
    won = wins.sum(axis=1)
    theta = np.zeros(size)
    ridge = precision * np.eye(size)
    value = log_likelihood(theta, wins)
    bread = np.eye(size)
    for _ in range(STEPS):
        chance = expit(theta[:, None] - theta[None, :])
        slope = won - (met * chance).sum(axis=1) - precision * theta
        curve = met * chance * (1 - chance)
        bread = np.diag(curve.sum(axis=1)) - curve + ridge
        # The level of θ is not identified; 11ᵀ pins its mean at zero and changes no difference.
        step = np.linalg.solve(bread + 1.0 / size, slope)
        if np.abs(step).max() < TOLERANCE:
            break
        scale = 1.0
        while True:
            tried = theta + scale * step
            reached = log_likelihood(tried, wins) - 0.5 * precision * float(tried @ tried)
            if reached >= value - 1e-12 * abs(value) or scale < 1e-6:
                break
            scale /= 2
        theta, value = tried - tried.mean(), reached
    return Fit(theta, bread, precision)


def scores_by_context(theta: Floats, wins: Floats) -> Floats:
    """(contexts, systems): Σ of w (y − p) over each context, for wins (contexts, systems, systems)."""
    chance = expit(theta[:, None] - theta[None, :])
    met = wins + wins.transpose(0, 2, 1)
    return np.asarray(wins.sum(axis=2) - (met * chance).sum(axis=2), dtype=np.float64)


def breads_by_context(theta: Floats, wins: Floats) -> Floats:
    """(contexts, systems, systems): each context's part of minus the Hessian."""
    chance = expit(theta[:, None] - theta[None, :])
    curve = (wins + wins.transpose(0, 2, 1)) * (chance * (1 - chance))
    bread = -curve
    corner = np.arange(theta.size)
    bread[:, corner, corner] += curve.sum(axis=2)
    return np.asarray(bread, dtype=np.float64)


def refit(wins: Floats, often: Floats, theta: Floats, precision: float) -> Floats:
    """Strength-weighted log-odds of every draw: (draws, systems), each with mean zero.

    `wins`: (contexts, systems, systems); `often`: (draws, contexts); `theta`, `precision`: the fit of the whole data. A draw
    without a finite maximum is regularised by the prior of `connectivity`, the others are not.
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
