"""Does a judge give the same answer twice?

A flip is a verdict that changes its winner when the two replies change places; a slip one that changes when nothing does. The
design keeps a tenth of the pairs swapped and a twentieth repeated for this. Both are shares of pairs, each pair counted once.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from harness.store.judgment import Judgment


@dataclass(frozen=True, slots=True)
class Consistency:
    """Shares in 0–1, None where no pair was asked so."""

    judge: str
    flip_rate: float | None
    swapped_pairs: int
    self_consistency: float | None
    repeated_pairs: int


def consistency(judgments: Iterable[Judgment]) -> tuple[Consistency, ...]:
    """One row a judge or rater, by name."""
    asked: dict[str, dict[tuple[str, str, str, str, int], list[tuple[str | None, str | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in judgments:
        first, second = sorted((row.system_a, row.system_b))
        winner = None if row.winner == "tie" else row.system_a if row.winner == "a" else row.system_b
        shown = None if row.shown_first is None else row.system_a if row.shown_first == "a" else row.system_b
        asked[row.judge][row.context, first, second, row.condition, row.replicate].append((shown, winner))
    found = []
    for judge, pairs in sorted(asked.items()):
        flips, same = [], []
        for answers in pairs.values():
            known = [(s, w) for s, w in answers if s is not None]
            couples = list(combinations(known, 2))
            swapped = [one[1] != two[1] for one, two in couples if one[0] != two[0]]
            repeated = [one[1] == two[1] for one, two in couples if one[0] == two[0]]
            flips += [sum(swapped) / len(swapped)] if swapped else []
            same += [sum(repeated) / len(repeated)] if repeated else []
        found.append(
            Consistency(
                judge,
                sum(flips) / len(flips) if flips else None,
                len(flips),
                sum(same) / len(same) if same else None,
                len(same),
            )
        )
    return tuple(found)
