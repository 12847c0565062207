"""The strength-weighted Bradley–Terry fit: the paper's own, provided for comparison with it.

A verdict of strength 4 counts as four wins (HEART, section 9.8). That makes the fit a pseudo-likelihood: θ is stretched
where margins are wide, so exp(θ) is not the odds of winning, and only the order and the ratios of differences compare with
the ordinal fit, which is the primary one. The fit needs only the matrix of weighted wins.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.ranking.connectivity import PRIOR_PRECISION, is_bounded
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Floats

TOLERANCE = 1e-11
"""Largest Newton step, in log-odds, at which a fit counts as converged (2e-9 Elo)."""
STEPS = 100


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
