"""People on the board: a random one, their mean, and the best of those who answered, without a winner's curse.

The paper's human row is the best-scoring of a context's human replies (it is called both "best" and "average"). A reply that is
picked for the highest score is picked partly for luck, so scoring the pick with the votes that picked it flatters people. Here
the voters are split in two halves: one picks the best reply of each context, the other scores it, then the roles change. The
uncorrected figure is shown beside it, so that the curse can be seen.

A random person is every human reply under one name. The mean is the mean rating of the people as separate systems. All come
from boards of the one rating model.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.ranking.board import Ends
from harness.ranking.columns import too_large
from harness.ranking.leaderboard import rate
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.scale import ELO_PER_LOGIT
from harness.statistics.arrays import Bools
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import Judgment
from harness.store.judgment_table import JudgmentTable, table_of

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
    """People's ratings; None when no system is human by `is_human`, or when nobody else competed with them.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> votes = [said | {"context": f"c{n}", "system_a": f"human:{n % 3}", "winner": "ab"[n % 4 == 0]} for n in range(12)]
    >>> round(people_ratings(map(Judgment.model_validate, votes), lambda name: name.startswith("human:")).random.elo)
    1595
    """
    rows = table_of(judgments)
    human = np.array([is_human(name) for name in rows.systems], dtype=bool)
    first, second = human[rows["first"]], human[rows["second"]]
    if not (first != second).any():
        return None
    # Votes of people among themselves rate nobody here: a random person, or the best, does not meet itself.
    mixed = ~(first & second)
    voter = np.where(rows["human"] == 1, 0, len(rows.judges)) + rows["judge"]
    voters = np.unique(voter)
    rng = np.random.default_rng(seed)
    corrected = []
    for _ in range(SPLITS if voters.size > 1 else 0):
        half = np.isin(voter, rng.permutation(voters)[: voters.size // 2])
        kept = mixed & ((_of_picks(rows, human, half) & ~half) | (_of_picks(rows, human, ~half) & half))
        # With few verdicts the scoring half may have no vote on the pick; such a split says nothing.
        if ((first | second) & kept).any():
            corrected.append(_rate(rows, kept, human, BEST, model))
    everyone = np.ones(len(rows), dtype=bool)
    return HumanRatings(
        random=_rate(rows, mixed, human, RANDOM, model),
        mean=_mean(rows, human, model),
        best=_average(corrected) if corrected else None,
        best_uncorrected=_rate(rows, mixed & _of_picks(rows, human, everyone), human, BEST, model),
    )


def _of_picks(rows: JudgmentTable, human: Bools, pickers: Bools) -> Bools:
    """(n,): rows without a person, or with the person whose reply won the largest share in its context by the pickers' rows.

    Equal shares go to the first name: an arbitrary choice that uses no further vote.
    """
    shape = len(rows.contexts), len(rows.systems)
    won, met = np.zeros(shape), np.zeros(shape)
    points = (1 + rows["winner"][pickers]) / 2
    for side, own in (("first", points), ("second", 1 - points)):
        place = rows["context"][pickers], rows[side][pickers]
        np.add.at(won, place, own)
        np.add.at(met, place, 1.0)
    share = np.where((met > 0) & human, won / np.maximum(met, 1.0), -1.0)
    best = np.where(share.max(axis=1) < 0, -1, share.argmax(axis=1))[rows["context"]]
    fits = [~human[rows[side]] | (rows[side] == best) for side in ("first", "second")]
    return np.asarray(fits[0] & fits[1], dtype=bool)


def _rate(rows: JudgmentTable, kept: Bools, human: Bools, name: str, model: RatingModel) -> HumanRating:
    """The rating of all people as one system of this name, on the rows that are kept."""
    names = tuple(sorted({name, *(system for system, is_person in zip(rows.systems, human, strict=True) if not is_person)}))
    code = np.array([names.index(name if is_person else s) for s, is_person in zip(rows.systems, human, strict=True)])
    some = rows.where(kept)
    columns = {**some.columns, "first": code[some["first"]], "second": code[some["second"]]}
    row = rate(replace(some, systems=names, columns=columns), model)[name]
    return HumanRating(row.elo, row.interval)


def _mean(rows: JudgmentTable, human: Bools, model: RatingModel) -> HumanRating | None:
    if too_large(rows):
        return None
    board = rate(rows, model)
    persons = {rows.systems[k] for k in np.flatnonzero(human)}
    people = [row for row in board.systems if row.system in persons]
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
