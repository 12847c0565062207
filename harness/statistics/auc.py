"""AUC of one number that separates the ends of turns from the pauses inside them, with an interval over conversations.

The area under the ROC curve is the chance that a random end has a larger value than a random pause (ties count one half), so
0.5 says nothing and 1 gives every end away. Turns of one conversation share their speaker and writer, so whole conversations
are resampled. The pairs of any two conversations are counted once, and each draw is then two products of a matrix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.bootstrap import FINE_DRAWS, draw_contexts, percentile_interval
from harness.statistics.interval import FEWEST_CLUSTERS, Interval


@dataclass(frozen=True, slots=True)
class Separation:
    """An AUC. `auc` is None where there is no end or no pause; no interval under eight conversations."""

    auc: float | None
    interval: Interval | None
    ends: int
    pauses: int


def separation(ends: Mapping[str, Sequence[float]], pauses: Mapping[str, Sequence[float]], seed: int) -> Separation:
    """AUC of ends over pauses (both: context → values), with a 95 % interval over contexts.

    >>> separation({"c1": [3.0, 5.0]}, {"c1": [1.0], "c2": [4.0]}, seed=1)
    Separation(auc=0.75, interval=None, ends=2, pauses=2)
    """
    names = sorted(set(ends) | set(pauses))
    of_end = [np.asarray(ends.get(name, ()), dtype=float) for name in names]
    of_pause = [np.asarray(pauses.get(name, ()), dtype=float) for name in names]
    counts = np.array([[len(e), len(p)] for e, p in zip(of_end, of_pause, strict=True)], dtype=float).reshape(-1, 2)
    n_ends, n_pauses = (int(total) for total in counts.sum(axis=0))
    if not n_ends or not n_pauses:
        return Separation(None, None, n_ends, n_pauses)
    won = np.zeros((len(names), len(names)))
    for j, values in enumerate(of_pause):
        ordered = np.sort(values)
        for i, mine in enumerate(of_end):
            won[i, j] = (np.searchsorted(ordered, mine, "left").sum() + np.searchsorted(ordered, mine, "right").sum()) / 2
    auc = float(won.sum() / (n_ends * n_pauses))
    if len(names) < FEWEST_CLUSTERS:
        return Separation(auc, None, n_ends, n_pauses)
    often = draw_contexts(len(names), FINE_DRAWS, np.random.default_rng(seed))
    drawn = ((often @ won) * often).sum(axis=1)
    pairs = (often @ counts[:, 0]) * (often @ counts[:, 1])
    kept = drawn[pairs > 0] / pairs[pairs > 0]
    low, high = percentile_interval(kept, len(names))
    return Separation(auc, (max(0.0, float(low)), min(1.0, float(high))), n_ends, n_pauses)
