"""People on the board: a random one, their mean, and the best of those who answered, without a winner's curse.

The paper's human row is the best-scoring of a context's human replies (it is called both "best" and "average"). A reply that is
picked for the highest score is picked partly for luck, so scoring the pick with the votes that picked it flatters people. Here
the voters are split in two halves: one picks the best reply of each context, the other scores it, then the roles change. The
uncorrected figure is shown beside it, so that the curse can be seen.

A random person is every human reply under one name. The mean is the mean rating of the people as separate systems. All come
from boards of the one rating model.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.ranking.board import Ends
from harness.ranking.columns import too_large
from harness.ranking.leaderboard import rate
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import Judgment
from harness.store.judgment_table import table_of

SPLITS = 10
"""Random halves of the voters; each gives both roles to both halves, and the figures are averaged."""
RANDOM, BEST = "a random human", "the best human"


@dataclass(frozen=True, slots=True)
class HumanRating:
    """Elo on a board where this person takes the place of all people; interval as on a board."""

    elo: float
    interval: Ends | None


@dataclass(frozen=True, slots=True)
class HumanRatings:
    """People's ratings. `best` is None where nobody scored a reply that another picked, as with a single voter; `mean` where
    some people never met, or they are more than a board can rate."""

    random: HumanRating
    mean: HumanRating | None
    best: HumanRating | None
    best_uncorrected: HumanRating


def people_ratings(
    judgments: Iterable[Judgment],
    is_human: Callable[[str], bool],
    model: RatingModel = PRIMARY,
    *,
    seed: int = 0,
) -> HumanRatings | None:
    """People's ratings; None when no system is human by `is_human`, or when nobody else competed with them."""
    rows = list(judgments)
    mixed = [row for row in rows if is_human(row.system_a) != is_human(row.system_b)]
    if not mixed:
        return None
    voters = sorted({(row.source, row.judge) for row in rows})
    everyone = frozenset(voters)
    rng = np.random.default_rng(seed)
    corrected = []
    for _ in range(SPLITS if len(voters) > 1 else 0):
        shuffled = [voters[k] for k in rng.permutation(len(voters))]
        half = frozenset(shuffled[: len(voters) // 2])
        halves = ((half, everyone - half), (everyone - half, half))
        scored = _as_best(rows, is_human, halves)
        # With few verdicts the scoring half may have no vote on the pick; such a split says nothing.
        if any(BEST in (row.system_a, row.system_b) for row in scored):
            corrected.append(_rate(scored, BEST, model))
    return HumanRatings(
        random=_rate(_as_random(rows, is_human), RANDOM, model),
        mean=_mean(rows, is_human, model),
        best=_average(corrected) if corrected else None,
        best_uncorrected=_rate(_as_best(rows, is_human, ((everyone, everyone),)), BEST, model),
    )


def _as_random(rows: Sequence[Judgment], is_human: Callable[[str], bool]) -> list[Judgment]:
    return _renamed(
        [r for r in rows if not (is_human(r.system_a) and is_human(r.system_b))],
        lambda s: RANDOM if is_human(s) else s,
    )


def _as_best(
    rows: Sequence[Judgment],
    is_human: Callable[[str], bool],
    halves: Sequence[tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]],
) -> list[Judgment]:
    """Rows with each context's best human reply as one system; for each (pickers, scorers) the rows of the scorers."""
    found = []
    for pickers, scorers in halves:
        best = _picks([r for r in rows if (r.source, r.judge) in pickers], is_human)
        kept = [
            r
            for r in rows
            if (r.source, r.judge) in scorers
            and not (is_human(r.system_a) and is_human(r.system_b))
            and all(not is_human(s) or best.get(r.context) == s for s in (r.system_a, r.system_b))
        ]
        found += _renamed(kept, lambda s: BEST if is_human(s) else s)
    return found


def _picks(rows: Sequence[Judgment], is_human: Callable[[str], bool]) -> dict[str, str]:
    by_context: dict[str, list[Judgment]] = defaultdict(list)
    for row in rows:
        by_context[row.context].append(row)
    found = {}
    for context, here in by_context.items():
        shares = {s: share for s, share in PRIMARY.counted(table_of(here)).whole.shares.items() if is_human(s)}
        if shares:
            # Equal shares go to the first name: an arbitrary choice that uses no further vote.
            found[context] = max(sorted(shares), key=lambda s: shares[s])
    return found


def _renamed(rows: Sequence[Judgment], name: Callable[[str], str]) -> list[Judgment]:
    return [r.model_copy(update={"system_a": name(r.system_a), "system_b": name(r.system_b)}) for r in rows]


def _rate(rows: Sequence[Judgment], system: str, model: RatingModel) -> HumanRating:
    row = rate(table_of(rows), model)[system]
    return HumanRating(row.elo, row.interval)


def _mean(rows: Sequence[Judgment], is_human: Callable[[str], bool], model: RatingModel) -> HumanRating | None:
    table = table_of(rows)
    if too_large(table):
        return None
    board = rate(table, model)
    people = [row for row in board.systems if is_human(row.system)]
    if len({row.part for row in people}) > 1:
        return None
    elo = float(np.mean([row.elo for row in people]))
    known = {row.system for row in people}
    if board.covariance is None or board.contexts < FEWEST_CLUSTERS or known & board.separated:
        return HumanRating(elo, None)
    weight = np.isin(board.names, sorted(known)) / len(known)
    half = ELO_PER_LOGIT * float(np.sqrt(weight @ board.covariance.matrix @ weight)) * board.covariance.quantile()
    return HumanRating(elo, (elo - half, elo + half))


def _average(ratings: Sequence[HumanRating]) -> HumanRating:
    elo = float(np.mean([r.elo for r in ratings]))
    halves = [
        (r.interval[1] - r.interval[0]) / 2
        for r in ratings
        if r.interval is not None and r.interval[0] is not None and r.interval[1] is not None
    ]
    # The mean of the splits varies no more than one split does, so this half width is rather too wide.
    half = float(np.mean(halves)) if halves else 0.0
    return HumanRating(elo, (elo - half, elo + half) if len(halves) == len(ratings) else None)
