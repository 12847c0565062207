"""Figures beside a judge's accuracy on people's pairs: rules that it must beat, raters whom it cannot, and its own strength.

*Baselines*: raters often prefer the longer reply, or the one that asks, so each rule is applied to the same pairs; a judge that
follows it more often than people do has learnt a style. *Agreement* is Cohen's κ of single persons (Kumar et al. 2025): replies
come in random order, so it is 2 × agreement − 1, a tie one half. *Reliability* groups judges that know their odds by the
probability that these give, all others by strength (DeGroot and Fienberg 1983).
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from harness.judging.judge import Verdict
from harness.judging.validation.peoples_labels import PeoplesLabels, PeoplesPair
from harness.store.judgment import Reliability

LONGER: Final = "the longer reply wins"
BASELINES: Final[dict[str, Callable[[str], float]]] = {
    LONGER: lambda text: len(text.split()),
    "more question marks win": lambda text: text.count("?"),
}
EQUAL_LENGTH: Final = 0.2
"""Most words that the longer reply may have beyond the shorter one, as a share of the shorter one's: a fifth more is a word or
two in a short reply, which no reader takes for a difference in length."""
BINS: Final = ((0.5, 0.6), (0.6, 0.75), (0.75, 0.9), (0.9, 1.01))
"""Bands of the probability that the chosen reply is better, from and to (exclusive): few, so that each has enough verdicts."""


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


def raters_agree(labels: PeoplesLabels) -> float | None:
    """Share of clear pairs that one rater orders as all the others do, ties counting one half; None where no two raters saw one
    pair."""
    each = labels.raters
    if len(each) < 2 or labels.bunches == "rater":
        return None
    agreed = []
    for rater in each:
        own = labels.leanings_of(rater)
        others = [pair for pair in labels.pairs(frozenset(each) - {rater}) if pair.clear]
        agreed += [0.5 + 0.5 * leaning for pair in others if (leaning := own(pair)) is not None]
    return _mean(agreed)


def kappas(labels: PeoplesLabels, scored: Sequence[tuple[PeoplesPair, float]]) -> tuple[float | None, float | None]:
    """κ of the judge with one rater, and of one rater with another, over the same pairs; None where nobody compared.

    `scored`: a pair and the judge's score on it, 0 to 1.
    """
    leanings = [labels.leanings_of(rater) for rater in labels.raters]
    with_judge, with_rater = [], []
    for pair, score in scored:
        given = [leaning for of in leanings if (leaning := of(pair)) is not None]
        with_judge += [leaning * (2 * score - 1) for leaning in given]
        with_rater += [one * other for one, other in combinations(given, 2)]
    return _mean(with_judge), _mean(with_rater)


def reliability(said: Sequence[tuple[Verdict, bool]]) -> tuple[Reliability, ...]:
    """The reliability curve of verdicts, each with True if it was right. Levels that no verdict is at are left out."""
    groups: dict[tuple[float, str], list[tuple[float | None, bool]]] = {}
    for verdict, right in said:
        if verdict.log_odds is None:
            groups.setdefault((verdict.strength, f"strength {verdict.strength}"), []).append((None, right))
            continue
        stated = 1 / (1 + math.exp(-min(abs(verdict.log_odds), 700.0)))
        low, high = next((low, high) for low, high in BINS if low <= stated < high)
        name = f"sure of {low:.0%} to {min(high, 1.0):.0%}"
        groups.setdefault((low, name), []).append((stated, right))
    return tuple(
        Reliability(
            stated=name,
            verdicts=len(group),
            right=sum(right for _, right in group) / len(group),
            expected=_mean([p for p, _ in group if p is not None]),
        )
        for (_, name), group in sorted(groups.items())
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
