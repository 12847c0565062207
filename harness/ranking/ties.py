"""The two classical models with ties, for boards that ask who won and not by how much.

Rao and Kupper (1967): a difference below a threshold is seen as a tie; this is the ordinal model with three levels, and is
fitted as that. Davidson (1970): P(tie) is proportional to the geometric mean of the two strengths, so that the odds of a
win given no tie stay Bradley–Terry. Both are ablations beside the primary fit.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from harness.ranking import ordinal
from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.ordinal import pin
from harness.ranking.reach import PRIOR_PRECISION, is_bounded
from harness.ranking.scale import Floats
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


def fit(votes: Votes, model: TieModel, *, penalty: ordinal.Penalty | None = None, often: Floats | None = None) -> TieFit:
    """Fit by maximum likelihood. `penalty`: that of `ordinal`, used by both models; default by the data. `often`: (contexts,),
    how often each context counts (a draw; Davidson's model alone).
    """
    held = penalty or ordinal.Penalty()
    if model == "rao-kupper":
        fitted = ordinal.fit(design(signs(votes), held))
        tie = fitted.terms.get("cut:judge:1", 0.0)
        return TieFit(fitted.theta, tie, fitted.bread, ordinal.scores_by_context(fitted), ordinal.breads_by_context(fitted))
    return _davidson(votes, held, np.ones(len(votes.contexts)) if often is None else often)


def signs(votes: Votes) -> Votes:
    """The votes as win, tie or loss, with one threshold for all: which scale a voter used no longer matters."""
    return replace(votes, level=np.sign(votes.level), source=np.zeros_like(votes.source))


def design(votes: Votes, penalty: ordinal.Penalty) -> ordinal.Design:
    """Rao and Kupper's model of such votes as the ordinal likelihood that it is."""
    return ordinal.design(votes, penalty, position=False, length=False)


def _davidson(votes: Votes, penalty: ordinal.Penalty, often: Floats) -> TieFit:
    # Multinomial logit over (first wins, tie, second wins) with utilities (η/2, log ν, −η/2).
    size = len(votes.systems)
    # Equal verdicts of one context are counted, not repeated.
    rows = np.stack([votes.context, votes.first, votes.second, np.sign(votes.level)])
    (context, first, second, outcome), rows_alike = np.unique(rows, axis=1, return_counts=True)
    n, count = rows_alike.size, rows_alike * often[context]
    x = np.zeros((n, size + 1))
    x[np.arange(n), first] = 0.5
    x[np.arange(n), second] = -0.5
    system = penalty.system
    if system is None:
        wins = np.tensordot(often, wins_by_context(votes, weighted=False), axes=1)
        system = 0.0 if is_bounded(wins) else PRIOR_PRECISION
    ridge = np.full(size + 1, system)
    ridge[size] = TIE_PRECISION if penalty.nuisance else 0.0

    def value(beta: Floats) -> float:
        lean, tie = x @ beta, beta[size]
        chosen = np.where(outcome == 0, tie, outcome * lean)
        total = np.logaddexp(np.logaddexp(lean, -lean), tie)
        return float(count @ (chosen - total) - 0.5 * ridge @ beta**2)

    def slopes(beta: Floats) -> tuple[Floats, Floats, Floats]:
        lean, tie = x @ beta, beta[size]
        top = np.logaddexp(np.logaddexp(lean, -lean), tie)
        win, loss, even = np.exp(lean - top), np.exp(-lean - top), np.exp(tie - top)
        score = x * (outcome - (win - loss))[:, None]
        score[:, size] = (outcome == 0) - even
        return score * count[:, None], win - loss, even

    beta = np.zeros(size + 1)
    reached = value(beta)
    for _ in range(STEPS):
        score, lead, even = slopes(beta)
        bread = _bread(x, lead, even, count).sum(axis=0) + np.diag(ridge)
        step = np.linalg.solve(pin(bread, size), score.sum(axis=0) - ridge * beta)
        if np.abs(step).max() < TOLERANCE:
            break
        scale = 1.0
        while value(beta + scale * step) < reached - 1e-12 * abs(reached) and scale > 1e-8:
            scale /= 2
        beta = beta + scale * step
        beta[:size] -= beta[:size].mean()
        reached = value(beta)
    score, lead, even = slopes(beta)
    each = _bread(x, lead, even, count)
    scores = np.zeros((len(votes.contexts), size + 1))
    breads = np.zeros((len(votes.contexts), size + 1, size + 1))
    np.add.at(scores, context, score)
    np.add.at(breads, context, each)
    return TieFit(beta[:size], float(beta[size]), breads.sum(axis=0) + np.diag(ridge), scores, breads)


def _bread(x: Floats, lead: Floats, even: Floats, count: Floats) -> Floats:
    """(verdicts, P, P): minus the Hessian of each verdict, times its count."""
    size = x.shape[1] - 1
    bread = x[:, :, None] * x[:, None, :] * ((1 - even) - lead**2)[:, None, None]
    cross = -(x * (lead * even)[:, None])
    bread[:, size, :] += cross
    bread[:, :, size] += cross
    bread[:, size, size] = even * (1 - even)
    return np.asarray(bread * count[:, None, None], dtype=np.float64)
