"""Agreement beyond chance: κ of Cohen and of Fleiss, α of Krippendorff.

Each is a function of a few sums (a confusion matrix, category totals, a coincidence matrix), and each takes stacks of such
sums. So a bootstrap over conversations adds up the sums of the drawn contexts and needs no verdict again.
"""

from typing import Literal

import numpy as np

from harness.statistics.arrays import Floats

Metric = Literal["nominal", "ordinal", "interval"]


def kappa(observed: float, shares: Floats) -> float:
    """Chance-corrected agreement for categories chosen with `shares` (sum 1): (observed − expected) / (1 − expected).

    >>> round(kappa(0.8, np.array([0.5, 0.5])), 2)
    0.6
    """
    expected = float((np.asarray(shares) ** 2).sum())
    return (observed - expected) / (1 - expected)


def cohen_kappa(confusion: Floats) -> Floats:
    """κ of two raters (Cohen 1960). `confusion`: (…, categories, categories); NaN where chance agreement is certain.

    >>> cohen_kappa(np.array([[40.0, 10.0], [10.0, 40.0]])).round(2).item()
    0.6
    """
    total = confusion.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(confusion, axis1=-2, axis2=-1) / total
        expected = (confusion.sum(axis=-1) * confusion.sum(axis=-2)).sum(axis=-1) / total**2
        return np.asarray((observed - expected) / (1 - expected), dtype=np.float64)


def fleiss_sums(counts: Floats) -> Floats:
    """(…, categories + 2): agreement and number of the units rated twice or more, then category totals.

    `counts`: (…, units, categories), number of raters who chose each category. Units may have unequal numbers of raters.

    >>> fleiss_sums(np.array([[3.0, 0.0], [1.0, 2.0]])).round(2).tolist()
    [1.33, 2.0, 4.0, 2.0]
    """
    raters = counts.sum(axis=-1)
    rated = raters >= 2
    pairs = np.where(rated, raters * (raters - 1), 1.0)
    agree = np.where(rated, (counts * (counts - 1)).sum(axis=-1) / pairs, 0.0)
    totals = (counts * rated[..., None]).sum(axis=-2)
    return np.concatenate([agree.sum(axis=-1)[..., None], rated.sum(axis=-1)[..., None], totals], axis=-1)


def fleiss_kappa(sums: Floats) -> Floats:
    """κ of many raters (Fleiss 1971) from `fleiss_sums`, stacked or added up over contexts.

    >>> fleiss_kappa(fleiss_sums(np.array([[3.0, 0.0], [0.0, 3.0]]))).item()
    1.0
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., 0] / sums[..., 1]
        shares = sums[..., 2:] / sums[..., 2:].sum(axis=-1, keepdims=True)
        expected = (shares**2).sum(axis=-1)
        return np.asarray((observed - expected) / (1 - expected), dtype=np.float64)


def coincidences(counts: Floats) -> Floats:
    """(…, values, values): Krippendorff's coincidence matrix. `counts`: (…, units, values), missing ratings simply absent.

    >>> coincidences(np.array([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[2.0, 1.0], [1.0, 0.0]]
    """
    raters = counts.sum(axis=-1)
    weight = np.where(raters >= 2, 1.0 / np.maximum(raters - 1, 1), 0.0)
    pairs = np.einsum("...u,...ui,...uj->...ij", weight, counts, counts)
    own = (weight[..., None] * counts).sum(axis=-2)
    at = np.arange(counts.shape[-1])
    pairs[..., at, at] -= own
    return np.asarray(pairs, dtype=np.float64)


def krippendorff_alpha(matrix: Floats, metric: Metric = "nominal", values: Floats | None = None) -> Floats:
    """α (Krippendorff 2018) from a coincidence matrix (…, values, values). `values`: the numbers, for the interval metric.

    >>> krippendorff_alpha(coincidences(np.array([[2.0, 0.0], [0.0, 2.0]]))).item()
    1.0
    """
    totals = matrix.sum(axis=-1)
    n = totals.sum(axis=-1)
    distance = _distance(totals, metric, values)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (matrix * distance).sum(axis=(-2, -1)) / n
        expected = (totals[..., :, None] * totals[..., None, :] * distance).sum(axis=(-2, -1)) / (n * (n - 1))
        return np.asarray(1 - observed / expected, dtype=np.float64)


def _distance(totals: Floats, metric: Metric, values: Floats | None) -> Floats:
    size = totals.shape[-1]
    if metric == "nominal":
        return 1.0 - np.eye(size)
    if metric == "interval":
        number = np.arange(size, dtype=np.float64) if values is None else values
        return np.asarray((number[:, None] - number[None, :]) ** 2, dtype=np.float64)
    # Ordinal: squared number of ratings that lie between two values, half of each end counted.
    middle = np.cumsum(totals, axis=-1) - totals / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2, dtype=np.float64)
