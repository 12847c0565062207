"""Bounds of a share that are valid however similar the trials of one conversation are.

Turns of a conversation share its topic, its caller and the load of its minute. How similar they are (their intraclass
correlation, ICC) cannot be estimated from the few conversations of a run, least of all where no event was seen at all. An
effective number of turns that is guessed from the spread that happened to be seen is therefore wrong twice: it is far too large
where by luck the few events were in different conversations (a limit that is missed passed in 3.8 to 5.4 % of simulated runs at
an ICC of 0.3 to 0.9, where 1 % was promised), and one more bad event can raise it, so that the worse of two runs passed alone.

So only conversations count as independent. Each has a number of hits among its trials, any value between none and all,
and the bound is Gaffke's (2005): the mean with random weights, flat on the simplex, over the conversations seen and one more,
unknown, which counts as all hits. The bound is the value that this weighted mean exceeds with a chance of `tail`:

* with one trial a conversation it *is* the bound of Clopper and Pearson;
* where conversations differ little it is nearly as narrow as Student's, and where none has a hit it is 1 − tail^(1/n), and no
  bound that is valid for every ICC can be lower;
* it rises with every hit, because each weight is positive, so no run is helped by a further bad event;
* that it is missed no oftener than `tail` is proved for one trial a conversation, and beyond that a conjecture that nobody has
  refuted (Learned-Miller and Thomas, 2019; Phan, Thomas and Learned-Miller, 2021, prove a wider relative). A search over laws
  of up to five values, 8 to 20 conversations, every outcome counted out, came to 0.9997 of the error at most, which is where
  the law is that of one trial a conversation.

Where conversations have unequal numbers of trials, the share is Σ hits / Σ trials with the same weights on both, and the one
that was not seen has as many as the largest. The distribution of such a mean is that of a sum of exponential variables, one per
conversation, weighted by hits − share · trials: found by integrating its transform along the line through its saddle point, to
seven digits or more in any tail (Monte Carlo has no digit left at one in 2,000).
"""

from typing import Final

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import bdtrc

from harness.statistics.arrays import Floats

_STEP: Final = 0.04
_STEPS: Final = np.arange(0.0, 9.0, _STEP)
"""Steps of the integral. Against Clopper and Pearson's bounds of 8 to 2,000 conversations the largest error is 1.4e-8."""
_EVERY: Final = 12
_COARSE: Final = _STEPS[::_EVERY]
_NOTHING: Final = 50.0
"""The integrand only falls; the sum ends where it is e^−50 of its peak: of 450 conversations after a third of the steps."""


def highest(hits: Floats, of: Floats, tail: float) -> float:
    """The upper bound of Σ hits / Σ of over conversations, missed with a chance of at most `tail` (under a half).

    `hits` and `of`: (conversations,), 0 ≤ hits ≤ of and of > 0; a hit may be a half.

    >>> round(highest(hits=np.zeros(20), of=np.full(20, 4.0), tail=0.025), 3)  # none of 80 turns, of 20 conversations
    0.168
    """
    if _is_one_trial_each(hits, of):
        return clopper_pearson(float((hits > 0).sum()), float(of.size), tail)[1]
    if (hits >= of).all():
        return 1.0
    seen, counts = alike(hits, of)
    least = float(hits.sum() / of.sum())

    def beyond(share: float) -> float:
        return _log_chance(seen, counts, share) - float(np.log(tail))

    # Weights are skewed where one conversation has most of the trials: the tail can then begin under the figure itself.
    while beyond(least) < 0:
        least /= 2
    most = 1.0 - 1e-12
    return 1.0 if beyond(most) > 0 else float(brentq(beyond, least, most, xtol=1e-10))


def lowest(hits: Floats, of: Floats, tail: float) -> float:
    """The lower bound of the same.

    >>> round(lowest(hits=np.full(20, 4.0), of=np.full(20, 4.0), tail=0.025), 3)
    0.832
    """
    return 1.0 - highest(of - hits, of, tail)


def tail_of(share: float, hits: Floats, of: Floats) -> float:
    """The chance of a miss with which the lower bound of Σ hits / Σ of is `share`.

    >>> [round(tail_of(share, np.ones(8), np.ones(8)), 4) for share in (0.5, lowest(np.ones(8), np.ones(8), 0.05))]
    [0.0039, 0.05]
    """
    if share <= 0:
        return 0.0
    if _is_one_trial_each(hits, of):
        most = float((hits > 0).sum())
        return float(bdtrc(most - 1, of.size, share)) if most else 1.0
    return chance_over(1.0 - share, *alike(of - hits, of))


def stays_under(share: float, hits: Floats, of: Floats, tail: float) -> bool:
    """True if the upper bound is at or under a share; the same as comparing the bound, but quicker than computing it.

    >>> [stays_under(share, np.zeros(20), np.full(20, 4.0), tail=0.025) for share in (0.1, 0.2)]
    [False, True]
    """
    if _is_one_trial_each(hits, of):
        return highest(hits, of, tail) <= share
    return share >= 1.0 or chance_over(share, *alike(hits, of)) <= tail


def clopper_pearson(hits: float, of: float, tail: float) -> tuple[float, float]:
    """Bounds of a share of independent trials, each with an error of at most `tail`; `hits` and `of` need not be whole.

    >>> tuple(round(end, 3) for end in clopper_pearson(8, 10, 0.025))
    (0.444, 0.975)
    """
    missed = of - hits
    low = 0.0 if hits <= 0 else float(stats.beta.ppf(tail, hits, missed + 1))
    high = 1.0 if missed <= 0 else float(stats.beta.isf(tail, hits + 1, missed))
    return low, high


def _is_one_trial_each(hits: Floats, of: Floats) -> bool:
    """True if each conversation, all of one size, has all hits or none: the law is binomial, its bound has a closed form."""
    return bool((of == of[0]).all() and ((hits == 0) | (hits == of)).all())


def chance_over(share: float, seen: Floats, counts: Floats) -> float:
    """The chance that the weighted mean exceeds a share.

    `seen` and `counts` are those of `alike`; counts need not be whole.

    >>> round(chance_over(0.168, *alike(np.zeros(20), np.full(20, 4.0))), 3)
    0.025
    """
    return float(np.exp(_log_chance(seen, counts, share)))


def alike(hits: Floats, of: Floats) -> tuple[Floats, Floats]:
    """The kinds of conversation, (kinds, 2) of hits and trials, and the number of conversations of each kind.

    >>> kinds, counts = alike(np.array([0.0, 1.0, 0.0]), np.array([4.0, 4.0, 4.0]))
    >>> kinds.tolist(), counts.tolist()
    ([[0.0, 4.0], [1.0, 4.0]], [2.0, 1.0])
    """
    # Complex numbers sort by both parts; numpy's own way over rows takes ten times as long.
    kinds, counts = np.unique(hits + 1j * of, return_counts=True)
    return np.stack([kinds.real, kinds.imag], axis=1), counts.astype(np.float64)


def _log_chance(seen: Floats, counts: Floats, share: float) -> float:
    """log P(Σ weight · Gamma(count) > 0), weights in units of the largest conversation."""
    largest = float(seen[:, 1].max())
    weight = np.append(seen[:, 0] - share * seen[:, 1], (1.0 - share) * largest) / largest
    count = np.append(counts, 1.0)
    if not (weight < 0).any():
        return 0.0
    # ∫ Π (1 − s w)^−c ds / s along Re s = at, where the integrand is least on the real axis: no cancellation there.
    at, spread = _saddle(weight, count)
    sizes = -np.log(np.abs(1.0 - (at + 1j * spread * np.sinh(_COARSE))[:, None] * weight)) @ count
    steps = _STEPS[: 1 + _EVERY * (1 + int((sizes > sizes[0] - _NOTHING).sum()))]
    s = at + 1j * spread * np.sinh(steps)
    values = -np.log(1.0 - s[:, None] * weight) @ count - np.log(s)
    peak = float(values[0].real)
    terms = (np.exp(values - peak) * np.cosh(steps)).real
    return peak + float(np.log(spread * _STEP * (terms.sum() - terms[0] / 2) / np.pi))


def _saddle(weight: Floats, count: Floats) -> tuple[float, float]:
    """Point where the integrand is least between 0 and its first pole, and the width of its peak across."""
    pole = 1.0 / float(weight.max())

    def slope(s: float) -> float:
        return float((count * weight / (1.0 - s * weight)).sum()) - 1.0 / s

    at = float(brentq(slope, pole * 1e-12, pole * (1.0 - 1e-12), xtol=pole * 1e-13, rtol=1e-7))
    bend = float((count * (weight / (1.0 - at * weight)) ** 2).sum()) + 1.0 / at**2
    return at, 1.0 / np.sqrt(bend)
