"""Prediction-powered Bradley–Terry: people's log-odds from few votes and many verdicts of a judge.

Votes are few, and a judge's verdicts are many and may be wrong in any way. Pooling them lets the judge decide. Here the
judge only predicts votes: its verdicts on *all* pairs enter with weight λ, and the same verdicts on the pairs that people
voted on are taken off again with the same weight. So a judge's error cancels in expectation, whatever it is, and people's
log-odds are estimated without bias; where the judge agrees with people, the difference of vote and verdict varies less than
the vote, and the interval becomes narrower (PPI++ for generalised linear models: Angelopoulos, Duchi and Zrnic 2023, "PPI++:
Efficient Prediction-Powered Inference").

    λ/N Σ_all ℓ(θ; verdict)  +  1/n Σ_votes w [ ℓ(θ; vote) − λ ℓ(θ; verdict) ]

ℓ is the logistic loss of a pair of systems, a tie one half, and w is the inverse of the rate at which a pair was drawn for
people, scaled to mean one. The sum is convex for 0 ≤ λ ≤ 1. A pair that a rule decided, because one side gave no reply, needs
no vote: it is in the first sum with weight 1/N, and the votes have the share of the others.

The covariance is a sandwich over conversations, with the verdicts and votes of one added before squaring, and over raters too
where the votes are worth eight raters or more, (Σn)² / Σn²; Student's freedom is of that number. Both sums are means: one
conversation more makes N, n and the sum of w larger too. With these fixed, the part of a judge's bias that cancels would count
as noise.

λ is the one with the least trace of that covariance at the fit of the votes alone. The judge's certainty is first calibrated on
the votes by one slope. Both come from the same votes, and that is harmless from as few conversations as have an interval
(docs/decisions/ranking-people-axis.md).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from harness.ranking.bradley_terry import breads_by_context, scores_by_context
from harness.ranking.elo_intervals import LEAST_SHARE, Covariance, at_least, two_way, unclustered
from harness.ranking.ordinal import pin
from harness.statistics.arrays import Floats, Ints
from harness.statistics.effective import ENOUGH, effective_number

SLOPE_PRECISION: Final = 1.0
"""Precision of the prior on the slope of a judge's certainty (log-odds for its root mean square), around 0: a judge that nobody
has compared with a vote predicts nothing. On 60 votes a tenth of it makes no difference, and ten times costs a good judge an
eighth of its worth (`benchmarks/ranking_people_coverage.py choose`)."""
STEPS: Final = 100
TOLERANCE: Final = 1e-10
"""Largest Newton step, in log-odds, at which a fit counts as converged."""
FARTHEST: Final = 17.0
"""Log-odds from the mean beyond which there is no minimum: the curvature between systems twice as far apart is lost in
rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A frame of N pairs of replies, and n votes on some of them. A pair with neither vote nor verdict need not be listed."""

    pairs: int
    """N; the arrays below have M ≤ N."""
    systems: int
    contexts: int
    first: Ints
    """(M,): index of a system."""
    second: Ints
    context: Ints
    stated: Floats
    """(M,): a judge's certainty that `first` is better, positive or negative, in any unit; NaN where it gave no verdict."""
    decided: Floats
    """(M,): 1, ½ or 0 where a rule decided the pair; NaN elsewhere."""
    voted: Ints
    """(n,): index of the pair in the frame; none that a rule decided."""
    vote: Floats
    """(n,): 1 for `first`, 0 for `second`, ½ for a tie."""
    rater: Ints
    weight: Floats
    """(n,): inverse of the rate at which the pair was drawn; only ratios matter."""
    heft: Floats | None = None
    """(M,): how many pairs of an even frame each one counts as, Σ over all N of them N; None: one each."""
    open: Floats | None = None
    """(M,): how many pairs the votes speak for at each listed one, 0 where a rule decided; None: all alike."""


@dataclass(frozen=True, slots=True, eq=False)
class PeoplesFit:
    """`theta` (systems,): people's log-odds, mean zero."""

    theta: Floats
    covariance: Covariance
    by_context: Floats
    """(contexts, systems): change of `theta` when the context counts twice, to first order; for resampling conversations."""
    power: float
    """λ, the weight of the judge's verdicts, 0 to 1."""
    worth: float
    """Votes without a judge that would give as narrow intervals."""


def fit(sample: Sample, power: float | None = None) -> PeoplesFit:
    """People's log-odds. `power`: λ; None chooses it. The votes must connect the systems both ways (`connectivity.is_bounded`).

    Raises ValueError: no votes, or votes without a finite answer.
    """
    if not sample.vote.size:
        raise ValueError("no votes: people's log-odds are unknown")
    predicted = _predictions(sample) if power != 0 else np.full(sample.stated.size, np.nan)
    alone = _Terms(sample, predicted, 0.0)
    theta_alone = alone.solve(np.zeros(sample.systems))
    if theta_alone is None:
        raise ValueError("the votes do not connect the systems both ways: people's log-odds have no end")
    of_alone = alone.covariance(theta_alone)
    if power is None:
        power = _tuned(sample, predicted, theta_alone)
    chosen = _Terms(sample, predicted, power)
    theta = chosen.solve(theta_alone) if power else None
    if theta is None:
        # Votes have a finite answer alone; a few of them far from a judge's verdicts may have none together.
        return PeoplesFit(theta_alone, of_alone, alone.influence(theta_alone), 0.0, float(sample.vote.size))
    covariance = chosen.covariance(theta)
    voted = np.unique(sample.context[sample.voted]).size
    # λ is fitted to these contexts, which alone shrinks the trace by about one part in their number.
    share = np.trace(covariance.matrix) / np.trace(of_alone.matrix) * voted / max(voted - 1, 1)
    return PeoplesFit(theta, covariance, chosen.influence(theta), power, sample.vote.size / min(share, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Wins:
    """The two parts of N times the objective by label, as weights with which row beat column; a difference may be negative."""

    frame: Floats
    """(labels, systems, systems)."""
    open: Floats
    """(labels,): pairs that no rule decided, for which the votes speak."""
    votes: Floats
    """(labels, systems, systems)."""
    weight: Floats
    """(labels,): sum of the votes' weights."""


class _Terms:
    """The objective for one λ."""

    def __init__(self, sample: Sample, predicted: Floats, power: float) -> None:
        self._s = s = sample
        ruled, judged = ~np.isnan(s.decided), ~np.isnan(predicted)
        outcome = np.where(judged, predicted, 0.5)
        heft = np.ones(ruled.size) if s.heft is None else s.heft
        self._met = heft * np.where(ruled, 1.0, np.where(judged, power, 0.0))
        self._won = self._met * np.where(ruled, np.nan_to_num(s.decided), outcome)
        taken = np.where(judged[s.voted], power, 0.0)
        self._vote_met = s.weight * (1.0 - taken)
        self._vote_won = s.weight * (s.vote - taken * outcome[s.voted])
        # A pair that is not listed is taken to lie where those listed do.
        alike = np.where(ruled, 0.0, (s.pairs - ruled.sum()) / max(1, (~ruled).sum()))
        self._open = alike if s.open is None else s.open
        self._whole = self._wins(np.zeros_like(s.context), np.zeros_like(s.voted), 1)
        self._joined = self._whole.frame + self._whole.open / self._whole.weight * self._whole.votes

    def _wins(self, frame: Ints | None, votes: Ints, labels: int) -> _Wins:
        """Wins by label of each pair of the frame (None: no pair has one), and of each vote."""
        s = self._s
        voted = self._gather(s.first[s.voted], s.second[s.voted], self._vote_won, self._vote_met, votes, labels)
        weight = np.asarray(np.bincount(votes, s.weight, labels), dtype=np.float64)
        if frame is None:
            return _Wins(np.zeros_like(voted), np.zeros(labels), voted, weight)
        listed = self._gather(s.first, s.second, self._won, self._met, frame, labels)
        return _Wins(listed, np.asarray(np.bincount(frame, self._open, labels), dtype=np.float64), voted, weight)

    def _gather(self, first: Ints, second: Ints, won: Floats, met: Floats, label: Ints, labels: int) -> Floats:
        k = self._s.systems
        cells = labels * k * k
        ahead, behind = (label * k + first) * k + second, (label * k + second) * k + first
        found = np.bincount(ahead, won, cells) + np.bincount(behind, met - won, cells)
        return np.asarray(found.reshape(labels, k, k), dtype=np.float64)

    def bread(self, theta: Floats) -> Floats:
        """(systems, systems): curvature of N times the objective."""
        return np.asarray(breads_by_context(theta, self._joined)[0], dtype=np.float64)

    def solve(self, start: Floats) -> Floats | None:
        """The minimum, by Newton's method; None where there is none."""
        theta: Floats = start
        for _ in range(STEPS):
            step = np.linalg.solve(pin(self.bread(theta), theta.size), scores_by_context(theta, self._joined)[0])
            largest = float(np.abs(step).max())
            theta = theta + step / max(1.0, largest)
            theta -= theta.mean()
            if largest < TOLERANCE:
                return theta
            if np.abs(theta).max() > FARTHEST:
                break
        return None

    def influence(self, theta: Floats, bread: Floats | None = None) -> Floats:
        """(contexts, systems): change of the minimum when a context counts twice, to first order."""
        s = self._s
        return self._influence(theta, self._wins(s.context, s.context[s.voted], s.contexts), bread)

    def _influence(self, theta: Floats, each: _Wins, bread: Floats | None = None) -> Floats:
        """(labels, systems): change of the minimum when a label counts twice, to first order.

        The votes' part is a mean with the sum of weights below it, and the number of pairs that it speaks for above it; both
        change with the label.
        """
        whole = self._whole
        mean = scores_by_context(theta, whole.votes)[0] / whole.weight
        votes = scores_by_context(theta, each.votes) - each.weight[:, None] * mean
        slope = scores_by_context(theta, each.frame) + each.open[:, None] * mean + whole.open / whole.weight * votes
        bread = self.bread(theta) if bread is None else bread
        return np.asarray(slope @ np.linalg.inv(pin(bread, self._s.systems)), dtype=np.float64)

    def covariance(self, theta: Floats) -> Covariance:
        """Of the minimum, over conversations; over raters too, where there are enough."""
        s = self._s
        context = s.context[s.voted]
        found = _squared(self.influence(theta), np.unique(context).size)
        rater = np.unique(s.rater, return_inverse=True)[1]
        people = int(rater.max()) + 1
        effective = effective_number(np.bincount(rater))
        if effective >= ENOUGH:
            both, cell = np.unique(rater * s.contexts + context, return_inverse=True)
            by_rater = self._without_each(theta, rater, people, effective)
            by_both = _squared(self._influence(theta, self._wins(None, cell, both.size)), both.size)
            found = two_way(found, by_rater, by_both)
        return at_least(found, LEAST_SHARE * unclustered(self.bread(theta), s.systems) * s.pairs / s.vote.size)

    def _without_each(self, theta: Floats, rater: Ints, people: int, effective: float) -> Covariance:
        """Covariance over raters: a rater who leads moves the minimum more by leaving than a first-order change says."""
        parts = self._wins(None, rater, people)
        moved = self._influence(theta, parts) / (1 - parts.weight / parts.weight.sum())[:, None]
        moved -= moved.mean(axis=0)
        return Covariance((people - 1) / people * moved.T @ moved, effective - 1)


def _squared(influence: Floats, voted: int) -> Covariance:
    """Covariance from the influence of each label; `voted`: labels with a vote."""
    freedom = max(voted - 1, 1)
    return Covariance(influence.T @ influence * (freedom + 1) / freedom, freedom)


def _predictions(s: Sample) -> Floats:
    """(M,): the judge's chance that a person prefers `first`; NaN without a verdict, or where a rule decided."""
    known = ~np.isnan(s.stated) & np.isnan(s.decided)
    if not known.any():
        return np.full(s.stated.size, np.nan)
    certainty = np.where(known, s.stated, np.nan)
    certainty = certainty / max(float(np.sqrt(np.nanmean(certainty**2))), np.finfo(float).tiny)
    use = known[s.voted]
    return np.asarray(expit(_slope(certainty[s.voted][use], s.vote[use], s.weight[use]) * certainty), dtype=np.float64)


def _slope(stated: Floats, vote: Floats, weight: Floats) -> float:
    """Log-odds of a vote for each unit of `stated`, not below 0: a judge wrong more often than right predicts nothing."""
    slope = 0.0
    if not stated.size:
        return slope
    weight = weight / weight.mean()
    for _ in range(STEPS):
        chance = expit(slope * stated)
        gain = float((weight * stated * (vote - chance)).sum()) - SLOPE_PRECISION * slope
        bend = float((weight * stated**2 * chance * (1 - chance)).sum()) + SLOPE_PRECISION
        moved = max(0.0, slope + float(np.clip(gain / bend, -1.0, 1.0)))
        if abs(moved - slope) < TOLERANCE:
            return moved
        slope = moved
    return slope


def _tuned(s: Sample, predicted: Floats, theta: Floats) -> float:
    """λ with the least trace of the covariance by context, at the log-odds of the votes alone."""
    if np.isnan(predicted[s.voted]).all():
        return 0.0
    alone = _Terms(s, predicted, 0.0)
    bread = alone.bread(theta)
    people = alone.influence(theta, bread)
    more = _Terms(s, predicted, 1.0).influence(theta, bread) - people
    size = float((more**2).sum())
    return float(np.clip(-(people * more).sum() / size, 0.0, 1.0)) if size > 0 else 0.0
