"""Rules without any understanding, which a judge must beat on the pairs that it is checked on, and pairs on which length says
nothing.

Raters of other people's data often prefer the longer reply, or the one that asks; how often they do differs from set to set. So
each rule is applied to the same pairs, and shown with how often the judge and people chose the side that the rule chooses: a
judge that follows a rule more often than people do has learnt a style. Where two replies are about equally long, the strongest
of these rules has nothing to go by; accuracy there is the judge's own.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from harness.judging.validation.peoples_labels import PeoplesPair

LONGER: Final = "the longer reply wins"
BASELINES: Final[dict[str, Callable[[str], float]]] = {
    LONGER: lambda text: len(text.split()),
    "more question marks win": lambda text: text.count("?"),
}
EQUAL_LENGTH: Final = 0.2
"""Most words that the longer reply may have beyond the shorter one, as a share of the shorter one's: a fifth more is a word or
two in a short reply, which no reader takes for a difference in length."""


def by_rule(rule: Callable[[str], float], pair: PeoplesPair) -> float:
    """Score of a rule on a pair: 1 right, 0 wrong, ½ where it sees no difference."""
    return 0.5 + 0.5 * float(np.sign(rule(pair.better) - rule(pair.worse)))


def equally_long(better: str, worse: str) -> bool:
    """True if two replies differ so little in words that length cannot decide."""
    shorter, longer = sorted((len(better.split()), len(worse.split())))
    return longer <= (1 + EQUAL_LENGTH) * shorter


def leanings(scored: Sequence[tuple[PeoplesPair, float]]) -> dict[str, tuple[float | None, float | None]]:
    """Per rule: the shares of pairs on which the judge, and people, chose its side, where it sees a difference.

    `scored`: a pair and the judge's score on it, 0 to 1.
    """
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, rule in BASELINES.items():
        ruled = [(by_rule(rule, pair), score) for pair, score in scored]
        sided = [(people, score if people == 1.0 else 1.0 - score) for people, score in ruled if people != 0.5]
        found[name] = (
            (float(np.mean([judge for _, judge in sided])), float(np.mean([people for people, _ in sided])))
            if sided
            else (None, None)
        )
    return found
