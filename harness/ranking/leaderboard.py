"""A leaderboard from judgment rows.

One function for all votes: judges or people or both, speech or text, regular or adversarial, by the given model
(`RatingModel`). Weaknesses of a board (few contexts, systems that never met, a judge of the same model family) are stated in
`warnings`, in words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.ranking import board_rows, bradley_terry, connectivity
from harness.ranking import unbounded as edge
from harness.ranking.board import Board, Ends, SystemRating
from harness.ranking.board_rows import Source
from harness.ranking.columns import Counted, CountedBoard
from harness.ranking.elo_intervals import SMALL_SAMPLE, Covariance, max_t
from harness.ranking.fits import Fitted, fit_votes, refits
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.scale import ELO_PER_LOGIT, on_scale, to_elo
from harness.ranking.verdicts import Votes
from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.statistics.interval import FEWEST_CLUSTERS, Interval
from harness.store.judgment import Judgment
from harness.store.judgment_table import JudgmentTable, table_of


def leaderboard(
    judgments: Iterable[Judgment],
    model: RatingModel = PRIMARY,
    *,
    presentation: str | None = None,
    source: Source | None = None,
    bootstrap_draws: int = 0,
    seed: int = 0,
) -> Board:
    """Rate the systems. `bootstrap_draws` adds the interval of resampled conversations to the sandwich's.

    Raises harness.errors.UserError: no rows, rows of several presentations with none chosen, bad axis weights.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> rows = [Judgment.model_validate(said | {"context": f"c{n}", "winner": "ab"[n % 4 == 0]}) for n in range(12)]
    >>> board = leaderboard(rows)
    >>> [(row.system, round(row.elo), row.win_rate) for row in board.systems]
    [('warm', 1595, 0.75), ('curt', 1405, 0.25)]
    >>> [round(end) for end in board.difference("warm", "curt").interval]  # twelve conversations do not decide
    [-75, 457]
    """
    table = table_of(judgments)
    rows, notes = board_rows.once(table, presentation, source=source)
    return rate(table.where(rows), model, notes=notes, bootstrap_draws=bootstrap_draws, seed=seed)


def rate(
    rows: JudgmentTable, model: RatingModel, *, notes: Sequence[str] = (), bootstrap_draws: int = 0, seed: int = 0
) -> Board:
    """Rate the systems of exactly these rows. Systems that no chain connects are rated separately, each part on its own scale.

    Raises harness.errors.UserError: no rows, or bad axis weights.
    """
    return rate_counted(model.counted(rows), model, notes=notes, bootstrap_draws=bootstrap_draws, seed=seed)


def rate_counted(
    counted: CountedBoard, model: RatingModel, *, notes: Sequence[str] = (), bootstrap_draws: int = 0, seed: int = 0
) -> Board:
    """Rate the systems of counted rows."""
    whole = counted.whole
    found = [_part(part, model, bootstrap_draws, seed) for part in counted.parts]
    if len(found) > 1:
        shown = "; ".join(", ".join(sorted(part.votes.systems)) for part in found)
        notes = [
            *notes,
            f"The systems fall into {len(found)} groups that never met ({shown}): each is rated separately, and ratings "
            "of different groups cannot be compared.",
        ]
    terms = {
        f"part {k}: {name}" if len(found) > 1 else name: value
        for k, part in enumerate(found, start=1)
        for name, value in part.fitted.terms.items()
    }
    return Board(
        method=model.title(name for part in found for name in part.fitted.terms),
        systems=tuple(row for k, part in enumerate(found, start=1) for row in part.ratings(k)),
        warnings=(*notes, *_warnings(whole, found)),
        presentation=whole.presentation,
        judgments=len(whole.votes),
        contexts=len(whole.votes.contexts),
        terms=terms,
        names=tuple(name for part in found for name in part.votes.systems),
        covariance=_together([part.covariance for part in found]),
        separated=frozenset(
            name for part in found for name, core in zip(part.votes.systems, part.stands.core, strict=True) if not core
        ),
        unmoved=frozenset(
            name for part in found for name, moves in zip(part.votes.systems, part.fitted.moves, strict=True) if not moves
        ),
        swept={pair: count for part in found for pair, count in part.swept().items()},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Systems that met, on one scale: log-odds from the mean of the core (of all, where there is none)."""

    counted: Counted
    fitted: Fitted
    wins: Floats
    stands: edge.Standing
    theta: Floats
    covariance: Covariance
    draws: Floats | None
    """(2, systems): ends of the bootstrap's intervals in Elo."""

    @property
    def votes(self) -> Votes:
        """Its verdicts."""
        return self.counted.votes

    def ratings(self, number: int) -> list[SystemRating]:
        """Best first."""
        return sorted(_ratings(self, number), key=lambda rating: -rating.elo)

    def swept(self) -> dict[tuple[str, str], int]:
        """(winner, loser) → contexts, of the pairs whose difference has no upper bound from the verdicts."""
        apart = edge.levels(self.wins)
        won = (self.wins > 0) & (apart[:, None] != apart[None, :])
        met = {(int(i), int(j)) for i, j in zip(*np.nonzero(won), strict=True)}
        names = self.votes.systems
        return {(names[i], names[j]): _contexts_between(self.votes, i, j) for i, j in sorted(met)}


def _part(counted: Counted, model: RatingModel, draws: int, seed: int) -> _Part:
    votes = counted.votes
    fitted = fit_votes(votes, model.method)
    wins = bradley_terry.wins_by_context(votes, weighted=False).sum(axis=0)
    stands = edge.standing(wins)
    mean = stands.core if stands.core.any() else np.ones_like(stands.core)
    centre = np.eye(mean.size) - mean / mean.sum()
    theta = fitted.theta - fitted.theta[mean].mean()
    covariance = Covariance(centre @ fitted.covariance.matrix @ centre.T, fitted.covariance.freedom)
    ends = None
    if draws > 0 and len(votes.contexts) >= FEWEST_CLUSTERS and stands.core.all():
        often = draw_contexts(len(votes.contexts), draws, np.random.default_rng(seed))
        ends = percentile_interval(to_elo(refits(votes, model.method, often, fitted)), len(votes.contexts))
    return _Part(counted, fitted, wins, stands, theta, covariance, ends)


def _together(each: Sequence[Covariance]) -> Covariance:
    """The covariance block by block, with the fewest degrees of freedom of any block."""
    size = sum(one.matrix.shape[0] for one in each)
    matrix, at = np.zeros((size, size)), 0
    for one in each:
        upto = at + one.matrix.shape[0]
        matrix[at:upto, at:upto] = one.matrix
        at = upto
    return Covariance(matrix, min(one.freedom for one in each))


def _ratings(part: _Part, number: int) -> list[SystemRating]:
    votes, core = part.votes, part.stands.core
    elo = on_scale(part.theta)
    error = ELO_PER_LOGIT * np.sqrt(np.clip(np.diag(part.covariance.matrix), 0.0, None))
    half = error * part.covariance.quantile()
    at = np.flatnonzero(core)
    wide = error * max_t(Covariance(part.covariance.matrix[np.ix_(at, at)], part.covariance.freedom)) if at.size else error
    shares, axes, contexts = part.counted.shares, part.counted.axes, _contexts_by_system(votes)
    found = []
    for k, system in enumerate(votes.systems):
        mine = int(((votes.first == k) | (votes.second == k)).sum())
        seen = contexts[k]
        known = seen >= FEWEST_CLUSTERS and bool(core[k])
        drawn = known and part.draws is not None and bool(part.fitted.moves[k])
        found.append(
            SystemRating(
                system=system,
                elo=float(elo[k]),
                interval=_around(elo[k], half[k]) if known else _one_end(part, k),
                win_rate=shares[system],
                axes=axes.get(system, {}),
                judgments=mine,
                contexts=seen,
                band=_around(elo[k], wide[k]) if known else None,
                error=float(error[k]) if known else None,
                paper_interval=_around(elo[k], paper_half_width(mine)) if known else None,
                bootstrap_interval=(float(part.draws[0, k]), float(part.draws[1, k]))
                if drawn and part.draws is not None
                else None,
                part=number,
            )
        )
    return found


def _one_end(part: _Part, system: int) -> Ends | None:
    """The bound of a system that won or lost everything; None where it has none, or is of the core with few verdicts."""
    side = int(part.stands.side[system])
    if side not in (-1, 1):
        return None
    at = edge.bound(part.votes, part.theta, part.stands, system)
    if at is None:
        return None
    # The fitted Elo is the prior's, and may fall short of a bound that many contexts give.
    both = on_scale(np.array([at, part.theta[system]]))
    return (float(both.min()), None) if side == 1 else (None, float(both.max()))


def paper_half_width(comparisons: int) -> float:
    """Half width, in Elo, of the paper's interval: 1.96 · sqrt(1/n) on log-odds (HEART, section 9.8)."""
    return float(1.959963984540054 * ELO_PER_LOGIT / np.sqrt(comparisons))


def _around(centre: float, half: float) -> Interval:
    return float(centre - half), float(centre + half)


def _contexts_by_system(votes: Votes) -> list[int]:
    """Number of contexts in which each system was judged."""
    seen = np.zeros((len(votes.contexts), len(votes.systems)), dtype=bool)
    seen[votes.context, votes.first] = True
    seen[votes.context, votes.second] = True
    return [int(count) for count in seen.sum(axis=0)]


def _contexts_between(votes: Votes, one: int, other: int) -> int:
    here = (np.minimum(votes.first, votes.second) == min(one, other)) & (
        np.maximum(votes.first, votes.second) == max(one, other)
    )
    return int(np.unique(votes.context[here]).size)


def _warnings(whole: Counted, found: Sequence[_Part]) -> tuple[str, ...]:
    votes = whole.votes
    notes = [text for part in found for text in connectivity.explain(part.wins, part.votes.systems)]
    contexts = len(votes.contexts)
    if contexts < FEWEST_CLUSTERS:
        notes.append(f"{contexts} contexts are too few for an interval (at least {FEWEST_CLUSTERS}).")
    elif contexts < SMALL_SAMPLE:
        notes.append(f"{contexts} contexts: intervals rest on a small-sample correction.")
    seen = zip(votes.systems, _contexts_by_system(votes), strict=True)
    rare = [name for name, count in seen if count < FEWEST_CLUSTERS <= contexts]
    if rare:
        notes.append(f"Judged in fewer than {FEWEST_CLUSTERS} contexts, so without an interval: {', '.join(rare)}.")
    still = [name for part in found for name, moves in zip(part.votes.systems, part.fitted.moves, strict=True) if not moves]
    if still:
        notes.append(
            f"Resampling conversations says nothing about {', '.join(still)}: in every conversation verdicts cancel, or in "
            "all they favour one side. So they have no P(frontier), no P(best) and no bootstrap interval."
        )
    if whole.own_family:
        notes.append(f"{whole.own_family} of {len(votes)} verdicts come from a judge of one side's own model family.")
    return tuple(notes)
