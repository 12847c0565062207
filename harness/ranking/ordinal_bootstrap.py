"""A thousand clustered refits of the ordinal model in seconds.

Two things make it fast. The model is a logistic regression on rows that are sparse and fixed, so all draws' latent values
are one matrix product, and so are all their slopes. And a draw's Hessian is taken once, at the fit of the whole data,
where it is a weighted sum of each context's: after that first Newton step the following ones reuse it (chord steps) with
exact slopes, so what they converge to is the draw's own fit, not an approximation of it. A draw that does not settle so is
fitted alone, by the ordinary route.
"""

import numpy as np

from harness.ranking import ordinal
from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.ordinal import OrdinalFit, pin
from harness.ranking.reach import PRIOR_PRECISION, are_bounded
from harness.ranking.scale import Floats
from harness.ranking.verdicts import Votes

CLOSE = 3e-4
"""Log-odds (0.05 Elo): the largest chord step that may be the last. The step shrinks at least two-fold each time (else the
draw is fitted alone), so what remains is below 0.1 Elo."""
CHORD_STEPS = 12
DRAWS_AT_ONCE = 32
PRODUCT_SIZE = 2**18
"""Multiplications in one matrix product. OpenBLAS keeps smaller ones on the calling thread; larger ones wait for the other
cores, and on a machine that was busy with speech models that wait made a thousand refits take 60 s instead of 2 s."""


def refit(fitted: OrdinalFit, votes: Votes, often: Floats) -> Floats:
    """Log-odds of the systems in every draw: (draws, systems), mean zero. `often`: (draws, contexts)."""
    return refit_all(fitted, votes, often)[:, : fitted.design.systems]


def refit_all(fitted: OrdinalFit, votes: Votes, often: Floats) -> Floats:
    """All parameters of every draw: (draws, parameters)."""
    d = fitted.design
    wins = wins_by_context(votes, weighted=False)
    ridge = np.tile(d.ridge, (often.shape[0], 1))
    if not d.ridge[: d.systems].any():
        held = ~are_bounded(np.tensordot(often, wins, axes=1))
        ridge[held, : d.systems] = PRIOR_PRECISION
    found = np.empty((often.shape[0], d.size))
    slopes, breads = _at_the_fit(fitted)
    for low in range(0, often.shape[0], DRAWS_AT_ONCE):
        part = slice(low, low + DRAWS_AT_ONCE)
        found[part] = _refit_some(fitted, often[part], ridge[part], slopes, breads)
    found[:, : d.systems] -= found[:, : d.systems].mean(axis=1, keepdims=True)
    return found


def _at_the_fit(fitted: OrdinalFit) -> tuple[Floats, Floats]:
    """Slope and minus Hessian by context, the imagined context last."""
    d = fitted.design
    slopes, breads = ordinal.scores_by_context(fitted), ordinal.breads_by_context(fitted)
    # The penalties are what the fit balances: total slope zero, total Hessian the bread.
    last_slope = d.ridge * fitted.beta - slopes.sum(axis=0)
    last_bread = fitted.bread - np.diag(d.ridge) - breads.sum(axis=0)
    return np.vstack([slopes, last_slope]), np.concatenate([breads, last_bread[None]])


def _refit_some(fitted: OrdinalFit, often: Floats, ridge: Floats, slopes: Floats, breads: Floats) -> Floats:
    d = fitted.design
    all_often = np.hstack([often, np.ones((often.shape[0], 1))])
    bread = (all_often @ breads.reshape(d.contexts + 1, -1)).reshape(-1, d.size, d.size)
    corner = np.arange(d.size)
    bread[:, corner, corner] += ridge
    inverse = np.linalg.inv(pin(bread, d.systems))
    step = np.einsum("bij,bj->bi", inverse, all_often @ slopes - ridge * fitted.beta)
    beta: Floats = fitted.beta + step
    span_count = all_often @ d.span_count
    active = np.arange(often.shape[0])
    before = np.full(often.shape[0], np.inf)
    alone: list[int] = []
    for _ in range(CHORD_STEPS):
        slope = _slopes(d, beta[active], all_often[active], span_count[active]) - ridge[active] * beta[active]
        step = np.einsum("bij,bj->bi", inverse[active], slope)
        largest = np.abs(step).max(axis=1)
        wild = ~np.isfinite(largest) | (largest > before[active] / 2)
        alone += active[wild].tolist()
        beta[active] += step
        before[active] = largest
        active = active[~wild & (largest > CLOSE)]
        if active.size == 0:
            break
    for k in [*alone, *active.tolist()]:
        beta[k] = ordinal.fit(d, weights=often[k], start=fitted.beta, ridge=ridge[k]).beta
    return beta


def _slopes(d: ordinal.Design, beta: Floats, often: Floats, span_count: Floats) -> Floats:
    """(draws, parameters): exact slope of each draw's log-likelihood at its own parameters."""
    found = np.zeros_like(beta)
    at_once = max(32, PRODUCT_SIZE // (beta.shape[0] * d.size))
    for low in range(0, d.rows.shape[0], at_once):
        part = slice(low, low + at_once)
        rows = d.rows[part]
        # σ(z) = (1 + tanh(z/2)) / 2: numpy's tanh is four times as fast as scipy's expit, which is most of the time here.
        miss = np.tanh(beta @ (rows.T / 2))
        miss *= -0.5
        miss += d.upper[part] - 0.5
        miss *= often[:, d.context[part]]
        miss *= d.count[part]
        found += miss @ rows
    gap = beta @ d.spans.T
    # Cuts that crossed have no likelihood; the draw is then fitted alone. Cuts far apart pull with exactly nothing.
    with np.errstate(over="ignore"):
        push = span_count / np.expm1(np.maximum(gap, 1e-12))
    pull = np.where((gap > 0).all(axis=1, keepdims=True), push, np.nan)
    return np.asarray(found + pull @ d.spans, dtype=np.float64)
