"""Is HEART one quality or several? Reliability and factors of the five axes.

The printed table would answer "one" whatever the truth, since eighteen system averages share a halo. So marks are brought to
single replies: of each reply the mean signed strength on each axis over all its verdicts, and the factors are those of the
correlations over replies (HEART, section 9.11). Factors are principal-axis factors with squared multiple correlations
iterated; how many there are is Horn's parallel analysis; rotation is varimax.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from harness.ranking.scale import Floats
from harness.store.judgment import AXES, Judgment

ITERATIONS = 10_000
TOLERANCE = 1e-10
"""Change of a communality. Principal-axis steps are many and cheap (an eigenproblem of five by five)."""
RANDOM_TABLES = 200
"""For parallel analysis."""


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """`loadings` (variables, factors), rotated; shares of the total variance; `eigenvalues` of the correlation matrix."""

    loadings: Floats
    uniqueness: Floats
    variance_shares: Floats
    eigenvalues: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ReplyMarks:
    """`marks` (replies, axes): mean signed strength; `wins` (replies,): share of overall comparisons won."""

    replies: tuple[tuple[str, str, int], ...]
    """(context, system)."""
    axes: tuple[str, ...]
    marks: Floats
    wins: Floats


def reply_marks(judgments: Iterable[Judgment]) -> ReplyMarks:
    """Axis marks gathered by reply; an axis left unmarked in a marked row counts zero. Rows without axes are left out."""
    rows = [row for row in judgments if row.axes]
    axes = tuple(axis for axis in AXES if any(axis in row.axes for row in rows))
    marks: dict[tuple[str, str, int], list[list[float]]] = defaultdict(list)
    wins: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    sign = {"a": 1.0, "tie": 0.0, "b": -1.0}
    for row in rows:
        given = [sign[m.winner] * m.strength if (m := row.axes.get(axis)) else 0.0 for axis in axes]  # type: ignore[call-overload]
        for system, side in ((row.system_a, 1.0), (row.system_b, -1.0)):
            marks[row.context, system, row.replicate].append([side * value for value in given])
            wins[row.context, system, row.replicate].append((1 + side * sign[row.winner]) / 2)
    replies = tuple(sorted(marks))
    table = np.array([np.mean(marks[reply], axis=0) for reply in replies]).reshape(len(replies), len(axes))
    return ReplyMarks(replies, axes, table, np.array([np.mean(wins[reply]) for reply in replies]))


def cronbach_alpha(table: Floats) -> float:
    """Cronbach's α of (cases, items), from raw covariances."""
    items = table.shape[1]
    covariance = np.cov(table, rowvar=False)
    return float(items / (items - 1) * (1 - np.trace(covariance) / covariance.sum()))


def parallel_count(table: Floats, seed: int = 0) -> int:
    """Factors whose eigenvalue exceeds the 95th percentile of those of random tables (Horn 1965), at least one."""
    rng = np.random.default_rng(seed)
    found = _eigenvalues(_correlations(table))
    chance = [_eigenvalues(_correlations(rng.standard_normal(table.shape))) for _ in range(RANDOM_TABLES)]
    above = found > np.quantile(chance, 0.95, axis=0)
    return max(1, int(np.argmin(above)) if not above.all() else above.size)


def factors(table: Floats, count: int | None = None, *, rotate: bool = True) -> Factors:
    """Exploratory factor analysis of (cases, variables). `count` None: by parallel analysis.

    Raises ValueError when a variable is constant or there are no more cases than variables.
    """
    if table.shape[0] <= table.shape[1]:
        raise ValueError(f"factor analysis needs more replies than axes: {table.shape[0]} replies, {table.shape[1]} axes")
    if (table.std(axis=0) < 1e-12).any():
        raise ValueError("factor analysis needs axes that vary; one is constant")
    correlation = _correlations(table)
    wanted = parallel_count(table) if count is None else count
    # Squared multiple correlations: what each variable shares with the rest. The pseudo-inverse allows a halo of rank one.
    shared = 1 - 1 / np.clip(np.diag(np.linalg.pinv(correlation)), 1.0, None)
    loadings = np.zeros((table.shape[1], wanted))
    for _ in range(ITERATIONS):
        reduced = correlation.copy()
        np.fill_diagonal(reduced, shared)
        values, vectors = np.linalg.eigh(reduced)
        top = np.argsort(values)[::-1][:wanted]
        loadings = vectors[:, top] * np.sqrt(np.clip(values[top], 0, None))
        updated = np.clip((loadings**2).sum(axis=1), 0, 1)
        moved = float(np.abs(updated - shared).max())
        shared = updated
        if moved < TOLERANCE:
            break
    if rotate and wanted > 1:
        loadings = varimax(loadings)
    loadings = loadings * np.where(loadings.sum(axis=0) < 0, -1, 1)
    return Factors(loadings, 1 - shared, (loadings**2).sum(axis=0) / table.shape[1], _eigenvalues(correlation))


def varimax(loadings: Floats) -> Floats:
    """Orthogonal rotation that makes squared loadings vary most within a factor (Kaiser 1958)."""
    size, count = loadings.shape
    turn = np.eye(count)
    before = 0.0
    for _ in range(ITERATIONS):
        turned = loadings @ turn
        target = turned**3 - turned * (turned**2).sum(axis=0) / size
        left, singular, right = np.linalg.svd(loadings.T @ target)
        turn = left @ right
        if singular.sum() < before * (1 + 1e-10):
            break
        before = float(singular.sum())
    return np.asarray(loadings @ turn, dtype=np.float64)


def _correlations(table: Floats) -> Floats:
    return np.asarray(np.corrcoef(table, rowvar=False), dtype=np.float64)


def _eigenvalues(correlation: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(correlation)[::-1], dtype=np.float64)
