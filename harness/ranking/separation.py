"""Separation of systems: differences with bands that cover all of them at once.

Two overlapping intervals do not say that two systems are alike, and many pairs tested one by one find a difference by
luck. So every difference gets one band, from the quantile of the largest |t| among all of them (a multivariate t with the
board's covariance clustered by context): the chance that no band misses is `level`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.ranking.board import Board, Ends, swept_gap
from harness.ranking.elo_intervals import Covariance, max_t
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.interval import FEWEST_CLUSTERS


@dataclass(frozen=True, slots=True)
class Gap:
    """Elo of one system above another; `band` covers all gaps of one call at once (None: too few contexts)."""

    better: str
    worse: str
    elo: float
    band: Ends | None

    @property
    def apart(self) -> bool:
        """True if the band leaves out zero."""
        return self.band is not None and self.band[0] is not None and self.band[0] > 0


def gaps(board: Board, pairs: Sequence[tuple[str, str]], *, level: float = 0.95) -> tuple[Gap, ...]:
    """The difference of each pair on one part of the board, better system first, in the order given.

    A pair of which one won every comparison has a band with only a lower end, from its contexts and Bonferroni's share.

    >>> from harness.ranking.leaderboard import leaderboard
    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> rows = [Judgment.model_validate(said | {"context": f"c{n}", "winner": "ab"[n % 4 == 0]}) for n in range(12)]
    >>> (gap,) = gaps(leaderboard(rows), [("curt", "warm")])
    >>> gap.better, round(gap.elo), gap.apart
    ('warm', 191, False)
    """
    part = {row.system: row.part for row in board.systems}
    known = [(a, b) for a, b in pairs if a in part and b in part and a != b and part[a] == part[b]]
    if not known or board.covariance is None:
        return ()
    elo = {row.system: row.elo for row in board.systems}
    seen = {row.system: row.contexts for row in board.systems}
    ordered = [(a, b) if elo[a] >= elo[b] else (b, a) for a, b in known]
    contrast = np.zeros((len(ordered), len(board.names)))
    for k, (better, worse) in enumerate(ordered):
        contrast[k, board.names.index(better)], contrast[k, board.names.index(worse)] = 1.0, -1.0
    covariance = Covariance(contrast @ board.covariance.matrix @ contrast.T, board.covariance.freedom)
    half = ELO_PER_LOGIT * max_t(covariance, level=level) * np.sqrt(np.clip(np.diag(covariance.matrix), 0.0, None))
    found = []
    for (better, worse), width in zip(ordered, half.tolist(), strict=True):
        gap = elo[better] - elo[worse]
        band: Ends | None = None
        if min(seen[better], seen[worse]) >= FEWEST_CLUSTERS:
            if contexts := board.swept.get((better, worse), 0):
                band = (swept_gap(contexts, (1 - level) / len(ordered)), None)
            elif not {better, worse} & board.separated:
                band = (gap - width, gap + width)
        found.append(Gap(better, worse, gap, band))
    return tuple(found)
