"""Early end of a batch: once the systems in question are separated, further verdicts only cost money.

Repeated analyses of a growing batch find a difference sooner or later where there is none. So the looks (interim analyses) are
planned before the first question: at most five, after equal shares of whole contexts drawn at random, none before sixteen
contexts; and each look spends an equal part of the 5 % (at five looks every band is of 99 %). By Bonferroni's inequality the
chance that a batch ends on a difference that is not there stays under 5 % however the looks depend on one another. For systems
that no chain of comparisons connects, verdicts show no difference, and they are never called separated.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from harness.ranking.board import Board, Ends, swept_gap
from harness.ranking.elo_intervals import Covariance, max_t
from harness.ranking.leaderboard import leaderboard
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import Judgment, is_reference


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


Goal = Literal["best", "order"]
"""`best`: one system is above every other. `order`: every two systems are separated."""
GOALS: tuple[Goal, ...] = ("best", "order")
MOST_LOOKS = 5
"""More looks gain little (each spends of the same 5 %) and cost power at every one of them."""
FEWEST_CONTEXTS_A_LOOK = 16
"""Twice the fewest on which any interval is given: with 7 degrees of freedom a look spends of the 5 % and finds nothing."""
ERROR = 0.05


def planned_looks(contexts: int) -> tuple[int, ...]:
    """Numbers of contexts after which the rows are analysed; the last is all of them.

    >>> planned_looks(80), planned_looks(12)
    ((16, 32, 48, 64, 80), (12,))
    """
    count = max(1, min(MOST_LOOKS, contexts // FEWEST_CONTEXTS_A_LOOK))
    return tuple(round(contexts * (k + 1) / count) for k in range(count))


@dataclass(frozen=True, slots=True)
class Look:
    """Result of one interim analysis. `apart`: the goal was reached."""

    contexts: int
    verdicts: int
    level: float
    gaps: tuple[Gap, ...]
    apart: bool


class UntilSeparated:
    """The rule that ends a batch, with the results of its interim analyses. Call it once per analysis, in order.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> rows = [Judgment.model_validate(said | {"context": f"c{n}", "winner": "ab"[n % 4 == 0]}) for n in range(12)]
    >>> rule = UntilSeparated("best", ["warm", "curt"], looks=1)
    >>> rule(rows), rule(rows * 1)
    (False, False)
    """

    def __init__(self, goal: Goal, systems: Sequence[str], looks: int) -> None:
        self.goal: Goal = goal
        self.level = 1 - ERROR / looks
        self.looks: list[Look] = []
        self._pairs = pairs_in_question(systems)

    @classmethod
    def of(cls, goal: Goal, replies: Iterable[tuple[str, str]]) -> "UntilSeparated":
        """The rule for a batch of these replies, each as (context, system)."""
        given = list(replies)
        looks = planned_looks(sum(count > 1 for count in Counter(context for context, _ in given).values()))
        return cls(goal, sorted({system for _, system in given}), len(looks))

    def __call__(self, rows: Sequence[Judgment]) -> bool:
        """True if the rows so far separate the systems in question."""
        main = [row for row in rows if row.purpose == "main"]
        if not main:
            return False
        board = leaderboard(main)
        found = gaps(board, self._pairs, level=self.level)
        apart = len(found) == len(self._pairs) and board.parts == 1 and all(gap.apart for gap in self._asked(found))
        self.looks.append(Look(board.contexts, len(main), self.level, found, apart))
        return apart

    def _asked(self, found: Sequence[Gap]) -> list[Gap]:
        """The gaps that must be separated. The best system is found from the same data, so all gaps share one band."""
        if self.goal == "order" or not found:
            return list(found)
        best = max(found, key=lambda gap: sum(gap.better == other.better for other in found)).better
        return [gap for gap in found if best in (gap.better, gap.worse)]


def pairs_in_question(systems: Sequence[str]) -> list[tuple[str, str]]:
    """Every two systems under test; where there is only one, that system and each reference reply.

    >>> pairs_in_question(["mine", "ref:good", "ref:plain"])
    [('mine', 'ref:good'), ('mine', 'ref:plain')]
    """
    tested = sorted({s for s in systems if not is_reference(s)})
    if len(tested) > 1:
        return list(combinations(tested, 2))
    references = sorted({s for s in systems if is_reference(s)})
    return [(tested[0], r) for r in references] if tested else list(combinations(references, 2))
