"""The two classical models with ties, for boards that ask who won and not by how much.

Rao and Kupper (1967): a difference below a threshold is seen as a tie; this is the ordinal model with three levels, and is
fitted as that. Davidson (1970): P(tie) is proportional to the geometric mean of the two strengths, so that the odds of a
win given no tie stay Bradley–Terry. Both are ablations beside the primary fit.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from harness.ranking import ordinal
from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.ordinal import pin
from harness.ranking.reach import PRIOR_PRECISION, are_bounded, is_bounded
from harness.ranking.scale import Floats, Ints
from harness.ranking.verdicts import Votes

TieModel = Literal["davidson", "rao-kupper"]
STEPS = 200
TOLERANCE = 1e-10
TIE_PRECISION = 0.01
"""Normal(0, 10) on log ν: without a single tie its maximum lies at minus infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class TieFit:
    """`tie`: log ν, in either model's own meaning. `scores`, `breads`: by context, parameters = systems then tie."""

    theta: Floats
    tie: float
    bread: Floats
    scores: Floats
    breads: Floats


def fit(votes: Votes, model: TieModel, *, penalty: ordinal.Penalty | None = None) -> TieFit:
    """Fit by maximum likelihood. `penalty`: that of `ordinal`, used by both models; default by the data."""
    held = penalty or ordinal.Penalty()
    if model == "rao-kupper":
        fitted = ordinal.fit(design(signs(votes), held))
        tie = fitted.terms.get("cut:judge:1", 0.0)
        return TieFit(fitted.theta, tie, fitted.bread, ordinal.scores_by_context(fitted), ordinal.breads_by_context(fitted))
    return _davidson(votes, held)


def refit(votes: Votes, often: Floats) -> Floats:
    """Davidson's log-odds in every draw: (draws, systems). `often`: (draws, contexts)."""
    outcomes, wins = _outcomes(votes), wins_by_context(votes, weighted=False)
    bounded = are_bounded(np.tensordot(often, wins, axes=1))
    found = np.empty((often.shape[0], len(votes.systems)))
    start = np.zeros(len(votes.systems) + 1)
    for k, draw in enumerate(often):
        count = outcomes.count * draw[outcomes.context]
        # The first draw's answer is nearer to the others than nought is.
        beta = _climb(outcomes, count, _ridge(votes, ordinal.Penalty(), bool(bounded[k])), start)
        found[k] = beta[:-1]
        start = beta if k == 0 else start
    return found


def signs(votes: Votes) -> Votes:
    """The votes as win, tie or loss, with one threshold for all: which scale a voter used no longer matters."""
    return replace(votes, level=np.sign(votes.level), source=np.zeros_like(votes.source))


def design(votes: Votes, penalty: ordinal.Penalty) -> ordinal.Design:
    """Rao and Kupper's model of such votes as the ordinal likelihood that it is."""
    return ordinal.design(votes, penalty, position=False, length=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """Equal verdicts of one context, counted: a multinomial logit over (first wins, tie, second wins) with utilities
    (η/2, log ν, −η/2).
    """

    x: Floats
    """(n, systems + 1): half of the difference; the last column is the tie's."""
    outcome: Ints
    count: Floats
    context: Ints


def _outcomes(votes: Votes) -> _Outcomes:
    size = len(votes.systems)
    rows = np.stack([votes.context, votes.first, votes.second, np.sign(votes.level)])
    (context, first, second, outcome), count = np.unique(rows, axis=1, return_counts=True)
    x = np.zeros((count.size, size + 1))
    x[np.arange(count.size), first] = 0.5
    x[np.arange(count.size), second] = -0.5
    return _Outcomes(x, outcome, count.astype(np.float64), context)


def _ridge(votes: Votes, penalty: ordinal.Penalty, bounded: bool) -> Floats:
    size = len(votes.systems)
    system = penalty.system
    if system is None:
        system = 0.0 if bounded else PRIOR_PRECISION
    ridge = np.full(size + 1, system)
    ridge[size] = TIE_PRECISION if penalty.nuisance else 0.0
    return ridge


def _slopes(o: _Outcomes, beta: Floats) -> tuple[Floats, Floats, Floats]:
    """Score of each row (uncounted), P(first) − P(second), P(tie)."""
    lean, tie = o.x @ beta, beta[-1]
    top = np.logaddexp(np.logaddexp(lean, -lean), tie)
    win, loss, even = np.exp(lean - top), np.exp(-lean - top), np.exp(tie - top)
    score = o.x * (o.outcome - (win - loss))[:, None]
    score[:, -1] = (o.outcome == 0) - even
    return score, win - loss, even


def _climb(o: _Outcomes, count: Floats, ridge: Floats, beta: Floats) -> Floats:
    """Newton's method with step halving."""
    size = ridge.size - 1

    def value(beta: Floats) -> float:
        lean, tie = o.x @ beta, beta[size]
        chosen = np.where(o.outcome == 0, tie, o.outcome * lean)
        total = np.logaddexp(np.logaddexp(lean, -lean), tie)
        return float(count @ (chosen - total) - 0.5 * ridge @ beta**2)

    reached = value(beta)
    for _ in range(STEPS):
        score, lead, even = _slopes(o, beta)
        bread = _bread(o.x, lead, even, count) + np.diag(ridge)
        step = np.linalg.solve(pin(bread, size), count @ score - ridge * beta)
        if np.abs(step).max() < TOLERANCE:
            break
        scale = 1.0
        while value(beta + scale * step) < reached - 1e-12 * abs(reached) and scale > 1e-8:
            scale /= 2
        beta = beta + scale * step
        beta[:size] -= beta[:size].mean()
        reached = value(beta)
    return beta


def _davidson(votes: Votes, penalty: ordinal.Penalty) -> TieFit:
    size, o = len(votes.systems), _outcomes(votes)
    ridge = _ridge(votes, penalty, is_bounded(wins_by_context(votes, weighted=False).sum(axis=0)))
    beta = _climb(o, o.count, ridge, np.zeros(size + 1))
    score, lead, even = _slopes(o, beta)
    scores = np.zeros((len(votes.contexts), size + 1))
    np.add.at(scores, o.context, score * o.count[:, None])
    edges = np.searchsorted(o.context, np.arange(len(votes.contexts) + 1))
    each = [slice(low, high) for low, high in pairwise(edges)]
    breads = np.array([_bread(o.x[s], lead[s], even[s], o.count[s]) for s in each])
    return TieFit(beta[:size], float(beta[size]), breads.sum(axis=0) + np.diag(ridge), scores, breads)


def _bread(x: Floats, lead: Floats, even: Floats, count: Floats) -> Floats:
    """(P, P): minus the Hessian of these rows."""
    bread = (x * (count * ((1 - even) - lead**2))[:, None]).T @ x
    cross = -(count * lead * even) @ x
    bread[-1, :] += cross
    bread[:, -1] += cross
    bread[-1, -1] = float(count @ (even * (1 - even)))
    return np.asarray(bread, dtype=np.float64)
