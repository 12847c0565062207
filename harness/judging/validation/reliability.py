"""How often a judge is right at each strength that it states, and how far raters agree: the ceiling of any judge.

A strength is useful only if it predicts being right. A judge that states 5 and is right no more often than at 4 adds nothing by
it, but a rating that weighs by strength counts it all the same. Judges that know their own odds are grouped by the probability
that these odds give, all others by their strength 1 to 5 (DeGroot and Fienberg 1983, "The comparison and evaluation of
forecasters").

Agreement is Cohen's κ of single persons, because a mean over raters is steadier than any of them: a judge that agrees with one
rater as far as another rater does is as good as a person (Kumar et al. 2025 compare so). Both κ are of the same pairs. Replies
come in random order, so both sides choose each place half of the time, and κ is 2 × agreement − 1; a rater's tie counts one
half.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from harness.judging.judge import Verdict
from harness.judging.validation.peoples_labels import PeoplesLabels, PeoplesPair
from harness.store.judgment import Reliability

BINS: Final = ((0.5, 0.6), (0.6, 0.75), (0.75, 0.9), (0.9, 1.01))
"""Bands of the probability that the chosen reply is better, from and to (exclusive): few, so that each has enough verdicts."""


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


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
