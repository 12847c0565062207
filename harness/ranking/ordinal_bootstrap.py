"""A thousand clustered refits of the ordinal model in seconds.

Verdicts share few distinct rows of the likelihood, so a draw is a count of each; rows are sparse, so slopes and Hessians of
many draws are sparse products; and a draw's Hessian at the fit of the whole data serves for several steps with exact slopes.
Where one conversation has a large part of the verdicts such steps stop shrinking: those draws get a fresh Hessian at their
parameters, and one that does not converge then either is fitted alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from harness.ranking import ordinal
from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.connectivity import PRIOR_PRECISION, are_bounded
from harness.ranking.ordinal import OrdinalFit, pin
from harness.ranking.ordinal_design import Design
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Floats, Ints

CLOSE = 3e-4
"""Log-odds (0.05 Elo): the largest step that may be the last. A chord step is at most half of the one before (else the draw
gets a fresh Hessian), so the rest is below 0.1 Elo."""
STEPS = 60
FAR = 1.0
"""Log-odds that one step may move: inside it Newton's method converges, and a full step from afar can overshoot."""
NARROWER = 0.25
"""Share of the distance between two cuts that a step must leave. Cuts that crossed have no likelihood."""
CELLS_AT_ONCE = 2**20
"""Distinct rows times draws in one go: 8 MB for each array of them, which suits a core's cache and memory."""


def refit(fitted: OrdinalFit, votes: Votes, often: Floats) -> Floats:
    """Log-odds of the systems in every draw: (draws, systems), mean zero. `often`: (draws, contexts)."""
    return refit_all(fitted, votes, often)[:, : fitted.design.systems]


def refit_all(fitted: OrdinalFit, votes: Votes, often: Floats) -> Floats:
    """All parameters of every draw: (draws, parameters)."""
    d = fitted.design
    ridge = np.tile(d.ridge, (often.shape[0], 1))
    if not d.ridge[: d.systems].any():
        held = ~_are_bounded(votes, often)
        ridge[held, : d.systems] = PRIOR_PRECISION
    found = np.empty((often.shape[0], d.size))
    at_once = max(1, CELLS_AT_ONCE // d.rows.shape[0])
    for low in range(0, often.shape[0], at_once):
        part = slice(low, low + at_once)
        found[part] = _refit_some(fitted, often[part], ridge[part])
    found[:, : d.systems] -= found[:, : d.systems].mean(axis=1, keepdims=True)
    return found


def _are_bounded(votes: Votes, often: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    wins = wins_by_context(votes, weighted=False)
    return are_bounded((often @ wins.reshape(wins.shape[0], -1)).reshape(-1, *wins.shape[1:]))


@dataclass(slots=True, eq=False)
class _Draws:
    """Some draws during their fit. Arrays over distinct rows have the draws in their columns, as sparse products need them."""

    d: Design
    half_seen: Floats
    """Half the number of verdicts with this cut beside them."""
    pull_at_even: Floats
    """Number of verdicts with it as their upper cut, less that half."""
    span_count: Floats
    ridge: Floats
    beta: Floats
    together: bool = False
    """True while all have the same parameters, as at the start."""

    def take(self, which: Ints) -> "_Draws":
        return replace(
            self,
            half_seen=self.half_seen[:, which],
            pull_at_even=self.pull_at_even[:, which],
            span_count=self.span_count[which],
            ridge=self.ridge[which],
            beta=self.beta[which],
        )

    def lean(self) -> Floats:
        """tanh(z / 2) = 2 σ(z) - 1 of each row's latent value z: numpy's tanh is four times as fast as scipy's expit, and it is
        most of the time here. The later formulas use it, so that large arrays are read fewer times."""
        at = self.beta[:1] if self.together else self.beta
        lean = self.d.rows @ (at.T / 2)
        return np.asarray(np.tanh(lean, out=lean), dtype=np.float64)

    def gap(self) -> Floats:
        return np.asarray(self.beta @ self.d.spans.T, dtype=np.float64)

    def slopes(self) -> Floats:
        """(draws, parameters): exact slope of each draw's penalised log-likelihood at its own parameters."""
        lean = self.lean()
        pull = np.multiply(lean, self.half_seen, out=None if self.together else lean)
        np.subtract(self.pull_at_even, pull, out=pull)
        # Distant cuts contribute exactly zero.
        with np.errstate(over="ignore"):
            push = self.span_count / np.expm1(self.gap())
        return np.asarray(self.d.slope(pull).T + push @ self.d.spans - self.ridge * self.beta, dtype=np.float64)

    def inverses(self) -> Floats:
        """(draws, parameters, parameters): inverse of minus the Hessian, pinned."""
        d = self.d
        lean = self.lean()
        lean *= lean
        lean *= -0.5
        lean += 0.5
        curve = np.multiply(lean, self.half_seen, out=None if self.together else lean)
        bread = d.squares.sums(curve)
        with np.errstate(over="ignore"):
            curve = self.span_count / (4 * np.sinh(self.gap() / 2) ** 2)
        bread += np.einsum("bs,si,sj->bij", curve, d.spans, d.spans, optimize=True)
        corner = np.arange(d.size)
        bread[:, corner, corner] += self.ridge
        return np.asarray(np.linalg.inv(pin(bread, d.systems)), dtype=np.float64)


def _refit_some(fitted: OrdinalFit, often: Floats, ridge: Floats) -> Floats:
    d, draws = fitted.design, often.shape[0]
    all_often = np.hstack([often, np.ones((draws, 1))])
    half_seen = np.asarray(d.seen @ (all_often.T / 2))
    whole = _Draws(
        d,
        half_seen,
        np.asarray(d.raised @ all_often.T) - half_seen,
        all_often @ d.span_count,
        ridge,
        np.tile(fitted.beta, (draws, 1)),
        together=True,
    )
    inverse = whole.inverses()
    beta, before = whole.beta.copy(), np.full(draws, np.inf)
    active, alone = np.arange(draws), np.empty(0, dtype=np.int64)
    here = whole
    for _ in range(STEPS):
        step = np.einsum("bij,bj->bi", inverse[active], here.slopes())
        largest = np.abs(step).max(axis=1)
        lost = ~np.isfinite(largest)
        alone = np.concatenate([alone, active[lost]])
        share = _share_of_step(here, step, largest)
        beta[active[~lost]] += (share[:, None] * step)[~lost]
        here.beta, here.together = beta[active], False
        stuck = (largest > before[active] / 2) | (share < 1)
        before[active] = np.where(stuck, np.inf, largest)
        done = lost | (~stuck & (largest <= CLOSE))
        fresh = np.flatnonzero(stuck & ~lost)
        if fresh.size:
            inverse[active[fresh]] = here.take(fresh).inverses()
        if done.any():
            here, active = here.take(np.flatnonzero(~done)), active[~done]
        if active.size == 0:
            break
    for k in [*alone.tolist(), *active.tolist()]:
        beta[k] = ordinal.fit(d, weights=often[k], start=fitted.beta, ridge=ridge[k]).beta
    return beta


def _share_of_step(here: _Draws, step: Floats, largest: Floats) -> Floats:
    """Share of each step that may be taken: no parameter moves far, and no two cuts come too close."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(1.0, FAR / largest)
        closing = -(step @ here.d.spans.T)
        room = (1.0 - NARROWER) * here.gap() / np.where(closing > 0, closing, np.nan)
    return np.fmin(share, np.fmin.reduce(room, axis=1)) if room.size else share
