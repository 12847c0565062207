"""One-line rules without any understanding, which a judge must beat on the same pairs that it is checked on.

Raters of other people's data often prefer the longer reply, or the one that asks; how often they do differs from set
to set. So each rule is applied to the same pairs, and shown with how often the judge and people chose the side that the rule
chooses: a judge that follows a rule more often than people do has learnt a style.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from harness.judging.peoples_labels import PeoplesPair

LONGER: Final = "the longer reply wins"
BASELINES: Final[dict[str, Callable[[str], float]]] = {
    LONGER: lambda text: len(text.split()),
    "more question marks win": lambda text: text.count("?"),
}


def by_rule(rule: Callable[[str], float], pair: PeoplesPair) -> float:
    """Score of a rule on a pair: 1 right, 0 wrong, ½ where it sees no difference."""
    return 0.5 + 0.5 * float(np.sign(rule(pair.better) - rule(pair.worse)))


def leanings(scored: Sequence[tuple[PeoplesPair, float]]) -> dict[str, tuple[float | None, float | None]]:
    """Per rule: the shares of pairs on which the judge, and people, chose its side, where it sees a difference.

    `scored`: a pair and the judge's score on it, 0 to 1.
    """
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, rule in BASELINES.items():
        told = [(by_rule(rule, pair), score) for pair, score in scored]
        sided = [(people, score if people == 1.0 else 1.0 - score) for people, score in told if people != 0.5]
        found[name] = (
            (float(np.mean([judge for _, judge in sided])), float(np.mean([people for people, _ in sided])))
            if sided
            else (None, None)
        )
    return found
