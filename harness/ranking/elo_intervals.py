"""Standard errors clustered by conversation.

Judges of one context see the same replies, so their verdicts are one observation of it; Fisher information and row sandwiches
cover the truth far too seldom (docs/evidence/ranking.md). Here V = H⁻¹ (Σ_c s_c s_cᵀ) H⁻¹ with the scores of the fit without
the context (one Newton step of the jackknife, "CR3"; MacKinnon, Nielsen & Webb 2023) and Student's quantile with contexts − 1
degrees.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from harness.ranking.ordinal import pin
from harness.statistics.arrays import Floats

SMALL_SAMPLE = 50
"""Below this an interval is labelled as resting on a small-sample correction (which is always applied, and vanishes)."""
LEAST_SHARE = 0.25
"""Least share of the variance that independent verdicts would leave, so that no interval is under half as wide. Not all of
it, because verdicts of a biased judge in both orders do vary less, and ordinary boards would be 7 % wider."""
Correction = Literal["none", "CR1", "CR3"]


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """`matrix` (parameters, parameters); `freedom`: degrees of freedom of Student's t that goes with it."""

    matrix: Floats
    freedom: float

    def quantile(self, level: float = 0.95) -> float:
        """Half width, in standard errors, of a two-sided interval."""
        return float(stats.t.ppf(0.5 + level / 2, self.freedom))


def clustered(bread: Floats, scores: Floats, breads: Floats | None, systems: int, correction: Correction = "CR3") -> Covariance:
    """Clustered covariance. `bread` (P, P); `scores` (clusters, P); `breads` (clusters, P, P), needed for CR3.

    Only clusters with data may be given: an empty one would count as a degree of freedom.
    """
    clusters = scores.shape[0]
    inverse = np.linalg.inv(pin(bread, systems))
    if correction == "CR3" and breads is not None:
        shift = _without_each(bread, scores, breads, systems)
        matrix = (clusters - 1) / clusters * shift.T @ shift
    else:
        pulled = scores @ inverse
        matrix = pulled.T @ pulled * (clusters / (clusters - 1) if correction == "CR1" else 1.0)
    return Covariance(matrix, max(clusters - 1, 1))


def _without_each(bread: Floats, scores: Floats, breads: Floats, systems: int) -> Floats:
    """(clusters, P): change of the estimate when each cluster is left out, one Newton step each."""
    pinned = pin(bread, systems)
    left = pinned - breads
    try:
        shift = np.linalg.solve(left, scores[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        shift = np.full_like(scores, np.nan)
    # A parameter that only one cluster informs has no jackknife; there the plain score is used.
    plain = scores @ np.linalg.inv(pinned)
    wild = ~np.isfinite(shift).all(axis=1) | (np.abs(shift) > 10 * (np.abs(plain).max() + 1e-12)).any(axis=1)
    shift[wild] = plain[wild]
    return np.asarray(shift - shift.mean(axis=0), dtype=np.float64)


def two_way(by_context: Covariance, by_rater: Covariance, by_both: Covariance) -> Covariance:
    """Covariance clustered by context and by rater at once: V_context + V_rater − V_both (Cameron, Gelbach & Miller 2011).

    It need not be positive; negative eigenvalues are set to zero, as those authors do.
    """
    values, vectors = np.linalg.eigh(by_context.matrix + by_rater.matrix - by_both.matrix)
    matrix = (vectors * np.clip(values, 0.0, None)) @ vectors.T
    return Covariance(matrix, min(by_context.freedom, by_rater.freedom))


def unclustered(bread: Floats, systems: int) -> Floats:
    """(systems, systems): covariance if every verdict were independent of the others. The part for the common
    level comes from the pin, and has no meaning.
    """
    return np.asarray(np.linalg.inv(pin(bread, systems))[:systems, :systems], dtype=np.float64)


def at_least(covariance: Covariance, floor: Floats) -> Covariance:
    """The covariance, raised in each direction in which it is smaller than `floor`, and only there."""
    size = floor.shape[0]
    if size < 2:
        return covariance
    # No verdict informs the common level, so they are compared in the directions across it.
    across = np.linalg.svd(np.eye(size) - 1.0 / size)[0][:, : size - 1]
    root = np.linalg.cholesky(across.T @ floor @ across)
    inverse = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(inverse @ across.T @ covariance.matrix @ across @ inverse.T)
    if values.min() >= 1.0:
        return covariance
    back = across @ root @ vectors
    return Covariance((back * np.maximum(values, 1.0)) @ back.T, covariance.freedom)


def of_differences(matrix: Floats) -> Floats:
    """(systems, systems): standard error of each difference θ_i − θ_j."""
    own = np.diag(matrix)
    return np.asarray(np.sqrt(np.clip(own[:, None] + own[None, :] - 2 * matrix, 0.0, None)), dtype=np.float64)


def max_t(covariance: Covariance, *, level: float = 0.95, draws: int = 20_000, seed: int = 0) -> float:
    """Half width, in standard errors, of bands that cover all systems at once.

    The quantile of the largest |t| among the systems, drawn from a multivariate t with this covariance.
    """
    own = np.sqrt(np.clip(np.diag(covariance.matrix), 0.0, None))
    kept = own > 1e-12
    if not kept.any():
        return covariance.quantile(level)
    values, vectors = np.linalg.eigh(covariance.matrix[np.ix_(kept, kept)] / np.outer(own[kept], own[kept]))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((draws, root.shape[1])) @ root.T
    chi = rng.chisquare(covariance.freedom, draws) / covariance.freedom
    return float(np.quantile(np.abs(normal).max(axis=1) / np.sqrt(chi), level))
