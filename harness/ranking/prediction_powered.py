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

The covariance is the jackknife's: each conversation is left out with its verdicts and its votes, N, n and the sum of w
included, one Newton step each; where enough people voted, each rater is left out as well. Counting the rows only, with N and
n fixed, would take the part of the judge's bias that cancels for noise.

λ is the one with the least trace of that covariance at the fit of the votes alone; it is chosen from the same votes, so it
is not used under `FEWEST_FOR_POWER` contexts with a vote. The judge's certainty is calibrated on the votes first, for each
conversation by one slope from the votes on the others, so that no vote calibrates the verdict that it is compared with.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from harness.ranking.bradley_terry import breads_by_context, scores_by_context
from harness.ranking.elo_intervals import FEWEST_CONTEXTS, LEAST_SHARE, Covariance, at_least, clustered, two_way, unclustered
from harness.ranking.ordinal import pin
from harness.ranking.scale import Floats, Ints

FEWEST_FOR_POWER: Final = 20
"""Contexts with a vote under which the judge has no weight."""
SLOPE_PRECISION: Final = 1.0
"""Precision of the prior on the slope of a judge's certainty (log-odds for its root mean square), around 0: a judge that nobody
has compared with a vote predicts nothing."""
STEPS: Final = 100
TOLERANCE: Final = 1e-10
"""Largest Newton step, in log-odds, at which a fit counts as converged."""
FARTHEST: Final = 17.0
"""Log-odds from the mean beyond which there is no minimum: the curvature of two systems twice as far apart is lost in rounding."""


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

    Raises ValueError: no votes, or votes without a finite answer.
    """
    if not sample.vote.size:
        raise ValueError("no votes: people's log-odds are unknown")
    predicted = _predictions(sample)
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
        return PeoplesFit(theta_alone, of_alone, alone.influence(theta_alone), 0.0, float(sample.vote.size), of_alone)
    covariance = chosen.covariance(theta)
    voted = np.unique(sample.context[sample.voted]).size
    # λ is fitted to these contexts, which alone shrinks the trace by about one part in their number.
    share = np.trace(covariance.matrix) / np.trace(of_alone.matrix) * voted / max(voted - 1, 1)
    return PeoplesFit(theta, covariance, chosen.influence(theta), power, sample.vote.size / min(share, 1.0), of_alone)


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

    def without(self, each: "_Wins") -> "_Wins":
        """These less those of each label in turn."""
        return _Wins(self.frame - each.frame, self.open - each.open, self.votes - each.votes, self.weight - each.weight)

    def joined(self) -> Floats:
        """(labels, systems, systems): both parts in the unit of a pair of the frame."""
        return np.asarray(self.frame + (self.open / self.weight)[:, None, None] * self.votes, dtype=np.float64)


class _Terms:
    """The objective for one λ."""

    def __init__(self, sample: Sample, predicted: Floats, power: float) -> None:
        self._s = s = sample
        ruled, judged = ~np.isnan(s.decided), ~np.isnan(predicted)
        outcome = np.where(judged, predicted, 0.5)
        self._met = np.where(ruled, 1.0, np.where(judged, power, 0.0))
        self._won = self._met * np.where(ruled, np.nan_to_num(s.decided), outcome)
        taken = np.where(judged[s.voted], power, 0.0)
        self._vote_met = s.weight * (1.0 - taken)
        self._vote_won = s.weight * (s.vote - taken * outcome[s.voted])
        # A pair that is not listed is taken to lie where those listed do.
        self._open = np.where(ruled, 0.0, (s.pairs - ruled.sum()) / max(1, (~ruled).sum()))
        self._by_context = self._wins(s.context, s.context[s.voted], s.contexts)
        self._whole = self._wins(np.zeros_like(s.context), np.zeros_like(s.voted), 1)

    def _wins(self, frame: Ints | None, votes: Ints, labels: int) -> _Wins:
        """Wins by label of each pair of the frame (None: no pair has one), and of each vote."""
        s = self._s
        voted = self._gather(s.first[s.voted], s.second[s.voted], self._vote_won, self._vote_met, votes, labels)
        weight = np.bincount(votes, s.weight, labels)
        if frame is None:
            return _Wins(np.zeros_like(voted), np.zeros(labels), voted, weight)
        listed = self._gather(s.first, s.second, self._won, self._met, frame, labels)
        return _Wins(listed, np.bincount(frame, self._open, labels), voted, weight)

    def _gather(self, first: Ints, second: Ints, won: Floats, met: Floats, label: Ints, labels: int) -> Floats:
        k = self._s.systems
        cells = labels * k * k
        ahead, behind = (label * k + first) * k + second, (label * k + second) * k + first
        found = np.bincount(ahead, won, cells) + np.bincount(behind, met - won, cells)
        return np.asarray(found.reshape(labels, k, k), dtype=np.float64)

    def solve(self, start: Floats) -> Floats | None:
        """The minimum, by Newton's method; None where there is none."""
        theta, wins = start, self._whole.joined()
        for _ in range(STEPS):
            step = np.linalg.solve(
                pin(breads_by_context(theta, wins)[0], theta.size), scores_by_context(theta, wins)[0]
            )  # fmt: skip
            largest = float(np.abs(step).max())
            theta = theta + step / max(1.0, largest)
            theta = theta - theta.mean()
            if largest < TOLERANCE:
                return theta
            if np.abs(theta).max() > FARTHEST:
                break
        return None

    def influence(self, theta: Floats) -> Floats:
        """(contexts, systems): change of the minimum when a context counts twice, to first order."""
        return np.asarray(self.pulls(theta) @ self.inverse(theta), dtype=np.float64)

    def pulls(self, theta: Floats) -> Floats:
        """(contexts, systems): change of the slope when a context counts twice; mean zero."""
        each, whole = self._by_context, self._whole
        mean = scores_by_context(theta, whole.votes)[0] / whole.weight
        votes = scores_by_context(theta, each.votes) - each.weight[:, None] * mean
        change = scores_by_context(theta, each.frame) + each.open[:, None] * mean + whole.open / whole.weight * votes
        return np.asarray(change - change.mean(axis=0), dtype=np.float64)

    def inverse(self, theta: Floats) -> Floats:
        """(systems, systems): inverse of the curvature."""
        return np.asarray(np.linalg.inv(pin(self._bread(theta), self._s.systems)), dtype=np.float64)

    def _bread(self, theta: Floats) -> Floats:
        return breads_by_context(theta, self._whole.joined())[0]

    def covariance(self, theta: Floats) -> Covariance:
        """Of the minimum, over conversations; over raters too, where there are enough."""
        s = self._s
        context = s.context[s.voted]
        found = self._jackknife(theta, self._by_context, np.unique(context).size)
        rater = np.unique(s.rater, return_inverse=True)[1]
        people = int(rater.max()) + 1
        if people >= FEWEST_CONTEXTS:
            both, cell = np.unique(rater * s.contexts + context, return_inverse=True)
            by_rater = self._jackknife(theta, self._wins(None, rater, people), people)
            by_both = self._jackknife(theta, self._wins(None, cell, both.size), both.size)
            found = two_way(found, by_rater, by_both)
        return at_least(found, LEAST_SHARE * unclustered(self._bread(theta), s.systems) * s.pairs / s.vote.size)

    def _jackknife(self, theta: Floats, each: _Wins, voted: int) -> Covariance:
        """Covariance of leaving out each label; `voted`: labels with a vote."""
        informs = (each.frame.any(axis=(1, 2)) | (each.weight > 0)) & (each.weight < self._whole.weight)
        left = self._whole.without(each).joined()[informs]
        bread = self._bread(theta)
        # The slope of the whole is zero, so that of a label is what its absence changes.
        found = clustered(bread, -scores_by_context(theta, left), bread - breads_by_context(theta, left), self._s.systems)
        return Covariance(found.matrix, max(voted - 1, 1))


def _predictions(s: Sample) -> Floats:
    """(M,): the judge's chance that a person prefers `first`; NaN without a verdict, or where a rule decided."""
    known = ~np.isnan(s.stated) & np.isnan(s.decided)
    if not known.any():
        return np.full(s.stated.size, np.nan)
    certainty = np.where(known, s.stated, np.nan)
    certainty = certainty / max(float(np.sqrt(np.nanmean(certainty**2))), np.finfo(float).tiny)
    use = known[s.voted]
    slopes = _slopes(certainty[s.voted][use], s.vote[use], s.weight[use], s.context[s.voted][use], s.contexts)
    return np.asarray(expit(slopes[s.context] * certainty), dtype=np.float64)


def _slopes(stated: Floats, vote: Floats, weight: Floats, context: Ints, contexts: int) -> Floats:
    """(contexts,): log-odds of a vote for each unit of `stated`, from the votes on the other contexts; not below 0: a judge wrong
    more often than right predicts nothing.
    """
    slopes = np.zeros(contexts)
    if not stated.size:
        return slopes
    weight = weight / weight.mean()
    voted, place = np.unique(context, return_inverse=True)
    # The last row has all votes, and is the slope of a context without one.
    counts = np.vstack([np.where(place == np.arange(voted.size)[:, None], 0.0, weight), weight])
    found = np.zeros(voted.size + 1)
    for _ in range(STEPS):
        chance = expit(found[:, None] * stated)
        gain = (counts * (vote - chance)) @ stated - SLOPE_PRECISION * found
        bend = (counts * chance * (1 - chance)) @ stated**2 + SLOPE_PRECISION
        step = np.clip(gain / bend, -1.0, 1.0)
        moved = np.maximum(0.0, found + step)
        settled = np.abs(moved - found).max() < TOLERANCE
        found = moved
        if settled:
            break
    slopes[:] = found[-1]
    slopes[voted] = found[:-1]
    return slopes


def _tuned(s: Sample, predicted: Floats, theta: Floats) -> float:
    """λ with the least trace of the covariance by context, at the log-odds of the votes alone."""
    if np.unique(s.context[s.voted]).size < FEWEST_FOR_POWER or np.isnan(predicted[s.voted]).all():
        return 0.0
    alone, full = _Terms(s, predicted, 0.0), _Terms(s, predicted, 1.0)
    pulls, inverse = alone.pulls(theta), alone.inverse(theta)
    people, more = pulls @ inverse, (full.pulls(theta) - pulls) @ inverse
    size = float((more**2).sum())
    return float(np.clip(-(people * more).sum() / size, 0.0, 1.0)) if size > 0 else 0.0
