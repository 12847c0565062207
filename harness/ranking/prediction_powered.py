"""Prediction-powered Bradley–Terry: people's log-odds from few votes and many verdicts of a judge.

Votes are few, and a judge's verdicts are many and may be wrong in any way. Pooling them lets the judge decide. Here the
judge only predicts votes: its verdicts on *all* pairs enter with weight λ, and the same verdicts on the pairs that people
voted on are taken off again with the same weight. So a judge's error cancels in expectation, whatever it is, and people's
log-odds are estimated without bias; where the judge agrees with people, the difference of vote and verdict varies less than
the vote, and the interval becomes narrower (PPI++ for generalised linear models: Angelopoulos, Duchi and Zrnic 2023, "PPI++:
Efficient Prediction-Powered Inference").

    λ/N Σ_all ℓ(θ; verdict)  +  1/n Σ_votes w [ ℓ(θ; vote) − λ ℓ(θ; verdict) ]

ℓ is the logistic loss of a pair of systems, a tie one half, and w is the inverse of the rate at which a pair was drawn for
people. The sum is convex for 0 ≤ λ ≤ 1. A pair that a rule decided, because one side gave no reply, needs no vote: it is in
the first sum with weight 1/N. The covariance is a sandwich with all scores of a context added before squaring, and of a
rater too.

λ is the one with the least trace of that covariance at the fit of the votes alone; it is chosen from the same votes, so it
is not used under `FEWEST_FOR_POWER` contexts with a vote. The judge's certainty is calibrated on the votes first, by one
slope for each fold of contexts from the votes of the other folds, so that no vote calibrates the verdict that it is compared
with.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from harness.ranking.elo_intervals import FEWEST_CONTEXTS, LEAST_SHARE, Covariance, at_least, clustered, two_way, unclustered
from harness.ranking.scale import Floats, Ints

FEWEST_FOR_POWER: Final = 20
"""Contexts with a vote under which the judge has no weight."""
FOLDS: Final = 5
STEPS: Final = 100
TOLERANCE: Final = 1e-10
SLOPE_PRECISION: Final = 1.0
"""Precision of the prior on the slope of a judge's certainty (log-odds a unit of `stated`), around 0: a judge that nobody has
compared with a vote predicts nothing."""


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
    """(n,): index of the pair in the frame."""
    vote: Floats
    """(n,): 1 for `first`, 0 for `second`, ½ for a tie."""
    rater: Ints
    weight: Floats
    """(n,): inverse of the rate at which the pair was drawn; only ratios matter."""


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
    alone: Covariance
    """Covariance of the votes without the judge."""


def fit(sample: Sample, power: float | None = None) -> PeoplesFit:
    """People's log-odds. `power`: λ; None chooses it. The votes must connect the systems both ways (`connectivity.is_bounded`).

    Raises ValueError: no votes.
    """
    if not sample.vote.size:
        raise ValueError("no votes: people's log-odds are unknown")
    predicted = _predictions(sample)
    alone = _Terms(sample, predicted, 0.0)
    theta_alone = alone.solve(np.zeros(sample.systems))
    if power is None:
        power = _tuned(sample, predicted, theta_alone)
    chosen = _Terms(sample, predicted, power)
    theta = chosen.solve(theta_alone) if power else theta_alone
    covariance, by_context = chosen.covariance(theta)
    of_alone, _ = alone.covariance(theta_alone) if power else (covariance, by_context)
    voted = np.unique(sample.context[sample.voted]).size
    # λ is fitted to these contexts, which alone shrinks the trace by about one part in their number.
    share = np.trace(covariance.matrix) / np.trace(of_alone.matrix) * (voted / max(voted - 1, 1) if power else 1.0)
    return PeoplesFit(theta, covariance, by_context, power, sample.vote.size / min(share, 1.0), of_alone)


class _Terms:
    """The sum for one λ, as a logistic regression: weights and weighted outcomes by pair of the frame, with the votes'."""

    def __init__(self, sample: Sample, predicted: Floats, power: float) -> None:
        self._s = s = sample
        ruled = ~np.isnan(s.decided)
        judged = ~np.isnan(predicted)
        # The votes estimate the mean of all pairs that no rule decided, so they have the share of those pairs.
        share = 1.0 - float(ruled.sum()) / s.pairs
        each_vote = share * s.weight / s.weight.sum()
        self.pair = np.concatenate([np.arange(s.first.size), s.voted])
        held_back = np.where(judged[s.voted], power, 0.0)
        outcome = np.where(judged, predicted, 0.5)
        base = np.where(ruled, 1.0, np.where(judged, power, 0.0)) / s.pairs
        self.load = np.concatenate([base, each_vote * (1.0 - held_back)])
        """Factor of the chance σ in the score, by row."""
        self.pull = np.concatenate(
            [base * np.where(ruled, np.nan_to_num(s.decided), outcome), each_vote * (s.vote - held_back * outcome[s.voted])]
        )
        self.context = s.context[self.pair]
        self.rater = np.concatenate([np.full(s.first.size, -1), s.rater])

    def _scores(self, theta: Floats) -> tuple[Floats, Floats]:
        """(rows,): slope of the log-likelihood along first − second, and curvature, of each row."""
        s = self._s
        chance = expit(theta[s.first] - theta[s.second])[self.pair]
        return self.pull - self.load * chance, self.load * chance * (1 - chance)

    def _gather(self, slope: Floats, curve: Floats, label: Ints, labels: int) -> tuple[Floats, Floats]:
        """(labels, systems) and (labels, systems, systems): sums of slopes and curvatures over rows of each label."""
        k, i, j = self._s.systems, self._s.first[self.pair], self._s.second[self.pair]
        slopes = np.bincount(label * k + i, slope, labels * k) - np.bincount(label * k + j, slope, labels * k)
        cell = label * k * k
        breads = np.zeros(labels * k * k)
        for one, other, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            breads += sign * np.bincount(cell + one * k + other, curve, labels * k * k)
        return np.asarray(slopes.reshape(labels, k), dtype=np.float64), breads.reshape(labels, k, k)

    def solve(self, start: Floats) -> Floats:
        theta, size = start, self._s.systems
        every = np.zeros(self.pair.size, dtype=np.int64)
        for _ in range(STEPS):
            slopes, breads = self._gather(*self._scores(theta), every, 1)
            step = np.linalg.solve(breads[0] + 1.0 / size, slopes[0])
            largest = float(np.abs(step).max())
            theta = theta + step / max(1.0, largest)
            theta = theta - theta.mean()
            if largest < TOLERANCE:
                break
        return theta

    def influence(self, theta: Floats) -> tuple[Floats, Floats]:
        """(contexts, systems) scores by context, and (systems, systems) inverse of the curvature."""
        scores, breads = self._gather(*self._scores(theta), self.context, self._s.contexts)
        return scores, np.linalg.inv(breads.sum(axis=0) + 1.0 / self._s.systems)

    def covariance(self, theta: Floats) -> tuple[Covariance, Floats]:
        slope, curve = self._scores(theta)
        scores, breads = self._gather(slope, curve, self.context, self._s.contexts)
        bread, systems = breads.sum(axis=0), self._s.systems
        seen = breads.any(axis=(1, 2))
        found = clustered(bread, scores[seen], breads[seen], systems)
        voted = np.unique(self._s.context[self._s.voted]).size
        found = Covariance(found.matrix, max(voted - 1, 1))
        raters = np.unique(self._s.rater)
        if raters.size >= FEWEST_CONTEXTS:
            # A row of the frame has no rater: it is alone in its context, and cancels in the difference.
            people = self.rater >= 0
            by_rater = np.where(people, self._s.contexts + self.rater, self.context)
            by_both = np.where(people, (1 + self.rater) * self._s.contexts + self.context, self.context)
            found = two_way(found, *(self._by(slope, curve, bread, label) for label in (by_rater, by_both)))
        floor = LEAST_SHARE * unclustered(bread, systems) * float(self.load.sum()) / self._s.vote.size
        by_context = scores @ np.linalg.inv(bread + 1.0 / systems)
        return at_least(found, floor), by_context

    def _by(self, slope: Floats, curve: Floats, bread: Floats, label: Ints) -> Covariance:
        _, index = np.unique(label, return_inverse=True)
        scores, breads = self._gather(slope, curve, index, int(index.max()) + 1)
        return clustered(bread, scores, breads, self._s.systems)


def _predictions(s: Sample) -> Floats:
    """(M,): the judge's chance that a person prefers `first`; NaN without a verdict, or where a rule decided."""
    fold = s.context % FOLDS
    known = ~np.isnan(s.stated) & np.isnan(s.decided)
    of_vote, voted = fold[s.voted], known[s.voted]
    found = np.full(s.stated.size, np.nan)
    for k in range(FOLDS):
        others = voted & (of_vote != k)
        slope = _slope(s.stated[s.voted][others], s.vote[others], s.weight[others])
        mine = known & (fold == k)
        found[mine] = expit(slope * s.stated[mine])
    return found


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
        step = gain / bend
        slope = max(0.0, slope + float(np.clip(step, -1.0, 1.0)))
        if abs(step) < TOLERANCE or (slope == 0.0 and step < 0):
            break
    return slope


def _tuned(s: Sample, predicted: Floats, theta: Floats) -> float:
    """λ with the least trace of the covariance by context, at the log-odds of the votes alone."""
    if np.unique(s.context[s.voted]).size < FEWEST_FOR_POWER or np.isnan(predicted[s.voted]).all():
        return 0.0
    none, inverse = _Terms(s, predicted, 0.0).influence(theta)
    full, _ = _Terms(s, predicted, 1.0).influence(theta)
    people, more = none @ inverse, (full - none) @ inverse
    people, more = people - people.mean(axis=0), more - more.mean(axis=0)
    size = float((more**2).sum())
    return float(np.clip(-(people * more).sum() / size, 0.0, 1.0)) if size > 0 else 0.0
