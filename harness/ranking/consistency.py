"""Consistency of a judge: the same answer to the same pair, asked twice.

A flip is a verdict that changes its winner when the two replies change places; a slip one that changes when nothing does. The
design asks a tenth of the pairs swapped and a twentieth repeated for this. Both are shares of pairs, each pair counted once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from harness.store.judgment import Judgment


@dataclass(frozen=True, slots=True)
class Consistency:
    """Consistency of one judge or rater; shares in 0–1, None where no pair was asked so."""

    judge: str
    flip_rate: float | None
    swapped_pairs: int
    self_consistency: float | None
    repeated_pairs: int


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _couples_within(known: Counter[tuple[str, str | None]], part: int) -> int:
    """Couples of answers that agree in one part: 0 which reply was shown first, 1 who won."""
    together: Counter[str | None] = Counter()
    for answer, n in known.items():
        together[answer[part]] += n
    return sum(map(_pairs, together.values()))


def consistency(judgments: Iterable[Judgment]) -> tuple[Consistency, ...]:
    """One row per judge or rater, by name.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> asked = [Judgment.model_validate(said | {"winner": "a", "shown_first": side}) for side in "ab"]
    >>> consistency(asked)[0].flip_rate
    0.0
    """
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
            known = Counter((shown, winner) for shown, winner in answers if shown is not None)
            repeated = _couples_within(known, 0)
            swapped = _pairs(known.total()) - repeated
            # Couples with the same winner, less those that were shown in the same order.
            kept_winner = _couples_within(known, 1) - sum(map(_pairs, known.values()))
            flips += [1 - kept_winner / swapped] if swapped else []
            same += [sum(map(_pairs, known.values())) / repeated] if repeated else []
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
