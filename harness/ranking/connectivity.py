"""Test that the votes connect the systems, and the prior that is used when they do not.

Bradley–Terry has a finite maximum only if every system can be reached from every other along a chain of wins (Ford,
1957); a tie counts as a win both ways. For systems that no chain connects, data show no difference; they are
rated separately (`columns`). A system that never lost has no upper bound, and a fit would answer with a silent infinity. Here
it is named instead, and the fit is then regularised by a stated prior: log-odds of each system ~ Normal(0, PRIOR_SD).
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harness.statistics.arrays import Bools, Floats

PRIOR_SD = 2.0
"""SD in log-odds: ±347 Elo. The printed board of the paper spans −157 … +112, so the prior matters only without data."""
PRIOR_PRECISION = 1.0 / PRIOR_SD**2


def is_bounded(wins: Floats) -> bool:
    """True if the unpenalised fit has a finite maximum: the graph of wins is strongly connected.

    >>> is_bounded(np.array([[0, 3], [1, 0]])), is_bounded(np.array([[0, 3], [0, 0]]))
    (True, False)
    """
    count, _ = connected_components(csr_array(wins > 0), directed=True, connection="strong")
    return bool(count == 1)


def are_bounded(wins: Floats) -> Bools:
    """`is_bounded` for a stack of win matrices (draws, systems, systems) at once."""
    size = wins.shape[-1]
    reach = ((wins > 0) | np.eye(size, dtype=bool)).astype(np.float32)
    for _ in range(max(1, int(np.ceil(np.log2(max(size, 2)))))):
        if reach.all():
            break
        reach = (np.matmul(reach, reach) > 0).astype(np.float32)
    return np.asarray((reach > 0).all(axis=(-2, -1)), dtype=np.bool_)


def explain(wins: Floats, names: tuple[str, ...]) -> tuple[str, ...]:
    """Reasons why systems that met have no finite fit, in words; empty when there is one."""
    if is_bounded(wins):
        return ()
    _, label = connected_components(csr_array(wins > 0), directed=True, connection="strong")
    met = wins + wins.T > 0
    notes = []
    for g in np.unique(label):
        inside = label == g
        lost = (wins[np.ix_(~inside, inside)] > 0).any()
        won = (wins[np.ix_(inside, ~inside)] > 0).any()
        who = ", ".join(names[k] for k in np.flatnonzero(inside))
        if (inside.any() and met[np.ix_(inside, ~inside)].any()) and lost != won:
            notes.append(f"{who} won {'every' if won else 'no'} comparison with the rest.")
    held = f"With a prior (log-odds ~ Normal(0, {PRIOR_SD:g})): the Elo of such a system is no measurement, its bound is."
    return (" ".join([*notes, held]),)
