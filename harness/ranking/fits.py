"""Log-odds of each system with their covariance, by any of the models; and the same fit on resampled conversations.

The covariance is clustered by context, and by rater too where enough people judged. It is never far below what independent
verdicts would leave open: where all verdicts of a conversation cancel, or all are ties, their spread over conversations is
zero, and a sandwich alone would call that certainty.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from harness.ranking import bradley_terry, ordinal, ordinal_bootstrap, ordinal_design
from harness.ranking.bradley_terry import refit
from harness.ranking.elo_intervals import LEAST_SHARE, Covariance, at_least, clustered, two_way, unclustered
from harness.ranking.model import Method
from harness.ranking.ordinal import OrdinalFit
from harness.ranking.ordinal_design import Penalty
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Bools, Floats, Ints
from harness.statistics.interval import FEWEST_CLUSTERS

LEAST_MOVE: Final = 1e-3
"""Share of the standard error that independent verdicts would leave. Boards that cancel came to 1e-16, the least of 360
ordinary ones (8 to 50 contexts, 2 to 6 systems, 1 to 3 judges) to 0.05."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Log-odds (systems,), their clustered covariance, and the other terms of the fit."""

    theta: Floats
    covariance: Covariance
    terms: Mapping[str, float]
    moves: Bools
    """(systems,): True if a rating changes with the conversations that are drawn. Where the verdicts of every conversation
    cancel it does not, and a bootstrap over conversations says nothing about it."""
    whole: OrdinalFit | None = None
    """The ordinal fit itself, if this is one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    theta: Floats
    terms: Mapping[str, float]
    bread: Floats
    scores: Floats
    breads: Floats
    whole: OrdinalFit | None = None
    repeated: float = 1.0
    """Factor by which the fit overstates the information of independent verdicts, because it counts each several times."""

    def covariance(self) -> Covariance:
        whole = clustered(self.bread, self.scores, self.breads, self.theta.size)
        return Covariance(whole.matrix[: self.theta.size, : self.theta.size], whole.freedom)


def fit_votes(votes: Votes, method: Method = "ordinal") -> Fitted:
    """The fit of votes. Where no chain connects systems, or they are separated, the prior of `connectivity` regularises it."""
    fit = _fit(votes, method)
    by_context = covariance = fit.covariance()
    people = votes.source == 1
    if np.unique(votes.judge[people]).size >= FEWEST_CLUSTERS:
        # A judge is one of a chosen few and is fixed; its rows cluster by context alone, and cancel in the difference.
        label = np.where(people, len(votes.contexts) + votes.judge, votes.context)
        both = np.where(people, (votes.judge + 1) * len(votes.contexts) + votes.context, votes.context)
        covariance = two_way(
            covariance,
            _fit(_relabelled(votes, label), method).covariance(),
            _fit(_relabelled(votes, both), method).covariance(),
        )
    independent = fit.repeated * unclustered(fit.bread, fit.theta.size)
    moves = _spread(by_context.matrix) > LEAST_MOVE * _spread(independent)
    return Fitted(fit.theta, at_least(covariance, LEAST_SHARE * independent), fit.terms, moves, fit.whole)


def rao_kupper(votes: Votes, penalty: Penalty | None = None) -> OrdinalFit:
    """Rao and Kupper's fit (1967): a difference below a threshold is seen as a tie. It is the ordinal model of three levels."""
    return ordinal.fit(ordinal_design.design(_signs(votes), penalty or Penalty(), position=False, length=False))


def _signs(votes: Votes) -> Votes:
    """The votes as win, tie or loss, with one threshold for all: which scale a voter used no longer matters."""
    return replace(votes, level=np.sign(votes.level), source=np.zeros_like(votes.source))


def _spread(matrix: Floats) -> Floats:
    """(systems,): standard error of each log-odds from the mean of all, by their covariance."""
    centre = np.eye(matrix.shape[0]) - 1.0 / matrix.shape[0]
    return np.asarray(np.sqrt(np.clip(np.diag(centre @ matrix @ centre), 0.0, None)), dtype=np.float64)


def refits(votes: Votes, method: Method, often: Floats, fitted: Fitted | None = None) -> Floats:
    """Log-odds in every draw: (draws, systems), each with mean zero.

    `often`: (draws, contexts). `fitted`: the fit of the same votes, if it exists already.
    """
    if method == "ordinal":
        known = fitted.whole if fitted is not None else None
        return ordinal_bootstrap.refit(known or ordinal.fit(ordinal_design.design(votes)), votes, often)
    if method == "rao-kupper":
        return ordinal_bootstrap.refit(rao_kupper(votes), _signs(votes), often)
    wins = bradley_terry.wins_by_context(votes, weighted=method == "strength")
    whole = bradley_terry.fit(wins.sum(axis=0))
    return refit(wins, often, whole.theta, whole.precision)


def _relabelled(votes: Votes, label: Ints) -> Votes:
    _, index = np.unique(label, return_inverse=True)
    return replace(votes, context=index, contexts=tuple(str(k) for k in range(int(index.max()) + 1)))


def _fit(votes: Votes, method: Method) -> _Fit:
    if method == "ordinal":
        fit = ordinal.fit(ordinal_design.design(votes))
        return _ordinal(fit, fit.terms, fit)
    if method in ("strength", "plain"):
        wins = bradley_terry.wins_by_context(votes, weighted=method == "strength")
        theta, bread = (found := bradley_terry.fit(wins.sum(axis=0))).theta, found.bread
        scores, breads = bradley_terry.scores_by_context(theta, wins), bradley_terry.breads_by_context(theta, wins)
        weight = np.maximum(np.abs(votes.level), 1) if method == "strength" else np.ones(len(votes))
        return _Fit(theta, {}, bread, scores, breads, repeated=float((weight**2).sum() / weight.sum()))
    tied = rao_kupper(votes)
    return _ordinal(tied, {"tie": tied.terms.get("cut:judge:1", 0.0)})


def _ordinal(fit: OrdinalFit, terms: Mapping[str, float], whole: OrdinalFit | None = None) -> _Fit:
    return _Fit(fit.theta, terms, fit.bread, ordinal.scores_by_context(fit), ordinal.breads_by_context(fit), whole)
