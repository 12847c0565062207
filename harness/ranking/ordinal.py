"""Ordinal (cumulative-logit) Bradley–Terry: the primary fit.

A verdict is one of ordered levels, from "b, decisively" over a tie to "a, decisively". Counting strength as repeated wins would
stretch θ; here a latent preference η + noise falls between cuts, so P(win) keeps its meaning:

    P(level ≤ k) = σ(cut_k − η),   η = θ_a − θ_b + position_judge · shown + length · log(length ratio)

Cuts are symmetric about zero and differ between judges and people; each judge has a position term (people share one). With
three levels this is Rao and Kupper's model (1967). The log-likelihood is concave, and a logistic regression with one row for
each finite cut around a verdict (`Design.rows`), plus a term for each level between two cuts (`Design.spans`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, dia_array
from scipy.special import expit

from harness.ranking.ordinal_design import Design
from harness.statistics.arrays import Floats

STEPS = 200
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class OrdinalFit:
    """`beta` by `design.names`; `theta` (systems,) is its first part, mean zero; `bread` is minus the Hessian."""

    design: Design
    beta: Floats
    bread: Floats
    log_likelihood: float

    @property
    def theta(self) -> Floats:
        """Log-odds of each system."""
        return self.beta[: self.design.systems]

    @property
    def terms(self) -> dict[str, float]:
        """Cuts, position and length terms by name."""
        first = self.design.systems
        return dict(zip(self.design.names[first:], self.beta[first:].tolist(), strict=True))


def pin(bread: Floats, systems: int) -> Floats:
    """Add 11ᵀ/systems to the block of systems: their level is not identified, and this sets their mean to zero."""
    pinned = bread.copy()
    pinned[..., :systems, :systems] += 1.0 / systems
    return pinned


def _value(d: Design, beta: Floats, seen: Floats, raised: Floats, span_count: Floats) -> float:
    z = d.rows @ beta
    gap = d.spans @ beta
    if (gap <= 0).any():
        return -np.inf
    inside = raised @ np.logaddexp(0.0, -z) + (seen - raised) @ np.logaddexp(0.0, z)
    total = -inside + span_count @ np.log(-np.expm1(-gap)) - 0.5 * float(d.ridge @ beta**2)
    return float(total)


def fit(d: Design, *, weights: Floats | None = None, start: Floats | None = None, ridge: Floats | None = None) -> OrdinalFit:
    """Penalised maximum likelihood by Newton's method with step halving.

    `weights`: (contexts,), how often each context counts (a bootstrap draw); default once each.
    """
    if ridge is not None:
        d = replace(d, ridge=ridge)
    often = np.ones(d.contexts + 1) if weights is None else np.append(weights, 1.0)
    seen, raised = np.asarray(d.seen @ often), np.asarray(d.raised @ often)
    span_count = often @ d.span_count
    beta = d.start if start is None else start
    value = _value(d, beta, seen, raised, span_count)
    bread = np.eye(d.size)
    for _ in range(STEPS):
        chance = expit(d.rows @ beta)
        gap = d.spans @ beta
        slope = d.slope(raised - seen * chance) + d.spans.T @ (span_count / np.expm1(gap)) - d.ridge * beta
        bread = d.squares.sums(seen * chance * (1 - chance)) + np.diag(d.ridge)
        bread += (d.spans * (span_count / (4 * np.sinh(gap / 2) ** 2))[:, None]).T @ d.spans
        step = np.linalg.solve(pin(bread, d.systems), slope)
        if np.abs(step).max() < TOLERANCE:
            break
        scale = 1.0
        while True:
            tried = beta + scale * step
            reached = _value(d, tried, seen, raised, span_count)
            if reached >= value - 1e-12 * abs(value) or scale < 1e-8:
                break
            scale /= 2
        beta, value = tried, reached
    beta = beta.copy()
    beta[: d.systems] -= beta[: d.systems].mean()
    return OrdinalFit(d, beta, bread, value)


def scores_by_context(fitted: OrdinalFit) -> Floats:
    """(contexts, parameters): each context's part of the slope of the log-likelihood."""
    d = fitted.design
    chance = dia_array((expit(d.rows @ fitted.beta)[None], [0]), shape=(d.rows.shape[0],) * 2)
    pull = (d.raised - chance @ d.seen)[:, :-1]
    scores = (d.columns @ pull).toarray().T
    return np.asarray(scores + (d.span_count[:-1] / np.expm1(d.spans @ fitted.beta)) @ d.spans, dtype=np.float64)


def breads_by_context(fitted: OrdinalFit) -> Floats:
    """(contexts, parameters, parameters): each context's part of minus the Hessian."""
    d = fitted.design
    chance = expit(d.rows @ fitted.beta)
    curve = dia_array(((chance * (1 - chance))[None], [0]), shape=(d.rows.shape[0],) * 2) @ d.seen
    gap = d.spans @ fitted.beta
    outer = d.spans[:, :, None] * d.spans[:, None, :] / (4 * np.sinh(gap / 2) ** 2)[:, None, None]
    found = d.squares.sums(csr_array(curve)[:, :-1])
    found += np.tensordot(d.span_count[:-1], outer, axes=1)
    return np.asarray(found, dtype=np.float64)
