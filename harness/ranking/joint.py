"""Quality and latency together, from one bootstrap of the same conversations: how often a system is on the frontier, and how
often it is the best of those within the budget.

Elo and its interval are the board's own, percentiles the latency table's. Repeats of a context are drawn with it, a missing
reply is slower than any, and systems that no chain connects are neither better nor worse than one another. A turn may have a
low and a high end, as others on the machine can only delay it: a chance is least where its system is at its high end and all
others are at their low ones. The least is quoted, so that no busy machine flatters. A slope needs six systems.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.errors import UserError
from harness.experiment import BUDGET_MS
from harness.ranking import board_rows
from harness.ranking.board import Board, Ends
from harness.ranking.columns import CountedBoard
from harness.ranking.fits import refits
from harness.ranking.leaderboard import rate_counted
from harness.ranking.model import PRIMARY, RatingModel
from harness.ranking.peoples_axis import PeoplesAxis
from harness.ranking.scale import ELO_PER_LOGIT, to_elo
from harness.statistics.arrays import Bools, Floats, Ints
from harness.statistics.bootstrap import DRAWS, draw_contexts, percentile_interval
from harness.statistics.bounds import share_of
from harness.statistics.interval import FEWEST_CLUSTERS, Interval
from harness.statistics.percentiles import weighted_quantile
from harness.store.judgment import Judgment
from harness.store.judgment_table import table_of
from harness.timing.quantiles import Quantiles, quantiles_of

Turn = float | tuple[float, float]
"""Milliseconds of a turn; where others could have delayed it, its low and its high end. Infinite: no reply."""
Latencies = Mapping[str, Mapping[str, Sequence[Turn]]]
"""System → context → its turns."""
Events = Mapping[str, Mapping[str, Sequence[bool]]]
"""System → context → True where it happened (a cut-in), turn by turn."""
SYSTEMS_FOR_SLOPE = 6
MOST_ALIKE = 0.05
"""Share of replies with another answer than TTFA up to which TTFA alone describes a system: as many turns may be discarded."""
ALIKE_ELO = 0.01
"""Ratings of one draw that differ by less are equal: a refit is exact to 0.001 Elo (`bootstrap.CLOSE`)."""


@dataclass(frozen=True, slots=True)
class JointPoint:
    """One system in the plane of quality and latency. Intervals of 95 %."""

    system: str
    elo: float
    elo_interval: Ends | None
    """The board's own interval."""
    latency: Quantiles
    """Percentiles of the latency that places the point."""
    p_frontier: float | None
    """Share of draws in which no other system is both better and faster; None where some of the points never met, where
    resampling says nothing about them, or where one has no bound on its Elo or too few conversations: such a system may be
    ahead of all. The least of `p_frontier_range`."""
    p_best_within_budget: float | None
    """Share of draws in which it is within the budget and the best of those that are, a draw shared by equals; None as
    above. The least of its range."""
    p_frontier_range: Interval | None = None
    """The least and the greatest share, whatever part others on the machines had; equal where they had none."""
    p_best_within_budget_range: Interval | None = None
    others: Mapping[str, Quantiles] = field(default_factory=dict)
    """Percentiles of every other latency given (`ttft`, `first_word`, …)."""
    cut_in_rate: float | None = None
    cut_in_interval: Interval | None = None

    @property
    def quoted(self) -> float | None:
        """The Elo as it may be shown; None where neither end of its interval is known."""
        return self.elo if self.elo_interval is not None else None

    @property
    def without_chances(self) -> "JointPoint":
        """The same point for a run whose figures may not be quoted: shares of draws mean nothing there."""
        return replace(self, p_frontier=None, p_best_within_budget=None, p_frontier_range=None, p_best_within_budget_range=None)


@dataclass(frozen=True, slots=True)
class Slope:
    """Elo gained per ten-fold latency (least squares on log10 of p50), over the systems that have one."""

    elo_per_decade: float
    """With the medians as measured."""
    interval: Interval | None
    """From the lower bound of the least to the upper bound of the greatest; None where others may have caused a whole wait."""
    systems: int
    range: Interval | None = None
    """The least and the greatest, whatever part others on the machines had."""


@dataclass(frozen=True, slots=True)
class JointFigure:
    """The points, best first, and the slope (None under six systems)."""

    points: tuple[JointPoint, ...]
    slope: Slope | None
    latency: str
    budget_ms: float
    draws: int


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Drawn conversations and the ratings in them; every latency that is added shares those conversations."""

    board: Board
    contexts: tuple[str, ...]
    often: Floats
    systems: tuple[str, ...]
    """Systems with latencies, best first."""
    seed: int
    elo_draws: Floats | None
    """(draws, systems); None where they never met in a chain of comparisons, or where their verdicts cancel in every
    conversation: all draws are then equal but for rounding."""


def resample(
    counted: CountedBoard,
    latencies: Iterable[Latencies],
    model: RatingModel = PRIMARY,
    *,
    board: Board,
    draws: int = DRAWS,
    seed: int = 0,
) -> Resampled:
    """Draw the conversations that occur in any of `latencies` or in a verdict, and refit; `board` is that of the verdicts."""
    rated, tables = board, list(latencies)
    timed = tuple(row.system for row in rated.systems if any(table.get(row.system) for table in tables))
    mine = next((part for part in counted.parts if set(part.votes.systems) >= set(timed)), None)
    judged = set((mine or counted.whole).votes.contexts)
    contexts = sorted(judged | {c for table in tables for s in timed for c in table.get(s, {})})
    often = draw_contexts(len(contexts), draws, np.random.default_rng(seed))
    # A draw without one judged context has no rating; with eight contexts or more this is next to impossible.
    often = often[(often[:, np.isin(contexts, sorted(judged))] > 0).any(axis=1)]
    spread = None
    if mine is not None and not rated.unmoved >= set(timed):
        votes = mine.votes.among(contexts)
        spread = to_elo(refits(votes, model.method, often))[:, [votes.systems.index(s) for s in timed]]
    return Resampled(rated, tuple(contexts), often, timed, seed, spread)


def resample_people(people: PeoplesAxis, latencies: Iterable[Latencies], *, draws: int = DRAWS, seed: int = 0) -> Resampled:
    """Draw the conversations that occur in any of `latencies` or in people's axis, and move its ratings with them.

    A refit of few votes in every draw would often have no finite maximum. The first-order change of each conversation is known,
    so ratings move by it, and by noise of the covariance that conversations do not explain (raters, small-sample correction).
    """
    board, tables = people.board, list(latencies)
    timed = tuple(row.system for row in board.systems if any(table.get(row.system) for table in tables))
    contexts = sorted(set(people.contexts) | {c for table in tables for s in timed for c in table.get(s, {})})
    rng = np.random.default_rng(seed)
    often = draw_contexts(len(contexts), draws, rng)
    if people.by_context is None or board.covariance is None:
        return Resampled(board, tuple(contexts), often, timed, seed, None)
    place = {name: k for k, name in enumerate(contexts)}
    moved = (often[:, [place[name] for name in people.contexts]] - 1.0) @ people.by_context
    rest, vectors = np.linalg.eigh(board.covariance.matrix - people.by_context.T @ people.by_context)
    moved += (rng.standard_normal(moved.shape) * np.sqrt(np.clip(rest, 0.0, None))) @ vectors.T
    elo = np.array([board[name].elo for name in board.names])
    drawn = elo + ELO_PER_LOGIT * moved
    return Resampled(board, tuple(contexts), often, timed, seed, drawn[:, [board.names.index(s) for s in timed]])


def joint_figure(
    judgments: Iterable[Judgment],
    latencies: Latencies,
    model: RatingModel = PRIMARY,
    *,
    board: Board | None = None,
    budget_ms: float = BUDGET_MS,
    draws: int = DRAWS,
    seed: int = 0,
) -> JointFigure:
    """The joint figure of verdicts on one latency.

    Systems without latencies (references) are rated, but are no points. `board`: that of the same verdicts
    and model, if it exists already.

    Raises harness.errors.UserError: no rows, several presentations, no system with both verdicts and latencies, or
    `audio_with_delay`, which would put latency on both axes.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> rows = [Judgment.model_validate(said | {"context": f"c{n}", "winner": "ab"[n % 4 == 0]}) for n in range(12)]
    >>> waits = {name: {f"c{n}": [ms] for n in range(12)} for name, ms in (("warm", 900.0), ("curt", 400.0))}
    >>> [(p.system, p.latency.p50, p.p_frontier > 0.9) for p in joint_figure(rows, waits, draws=200).points]
    [('warm', 900.0, True), ('curt', 400.0, True)]
    """
    table = table_of(judgments)
    rows = table.where(board_rows.once(table)[0])
    if rows.named("presentation", "audio_with_delay").any():
        raise UserError("the joint figure takes no audio_with_delay judgments: latency would be on both axes")
    counted = model.counted(rows.where(board_rows.of_source(rows, board_rows.one_source(rows))))
    board = board or rate_counted(counted, model)
    drawn = resample(counted, [latencies], model, board=board, draws=draws, seed=seed)
    return lay_over(drawn, latencies, budget_ms=budget_ms)


def lay_over(
    drawn: Resampled,
    latencies: Latencies,
    *,
    name: str = "ttfa",
    others: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = BUDGET_MS,
) -> JointFigure:
    """The joint figure of ratings already drawn: for filler-aware variants, one call per latency (first sound, first word).

    On TTFA, `others["answer"]` decides the frontier and the budget of every system whose answers differ from it (`deciding`).

    Raises harness.errors.UserError when no system has both verdicts and latencies.
    """
    often, size = drawn.often, len(drawn.contexts)
    decides = deciding(latencies, (others or {}).get("answer", {})) if name == "ttfa" else latencies
    turns = {s: _turns(decides.get(s, {}), drawn.contexts) for s in drawn.systems}
    systems = [s for s, (values, _) in turns.items() if values.size]
    if not systems:
        raise UserError("no system has both judgments and latencies: nothing to put into the joint figure")
    elo_draws = None if drawn.elo_draws is None else drawn.elo_draws[:, [drawn.systems.index(s) for s in systems]]
    low, high = (
        np.stack([weighted_quantile(turns[s][0][end], often[:, turns[s][1]], 0.5) for s in systems], axis=1) for end in (0, 1)
    )
    frontier = best = None
    if elo_draws is not None and all(_is_known(drawn.board, latencies, system) for system in systems):
        # Comparing all with all is most of the work, and mostly nothing is owed to others.
        cases = ((high, low),) if np.array_equal(low, high, equal_nan=True) else ((high, low), (low, high))
        frontier = [on_frontier(elo_draws, own, rivals).mean(axis=0) for own, rivals in cases]
        best = [best_within(elo_draws, own, budget_ms, rivals).mean(axis=0) for own, rivals in cases]
    points = []
    for k, system in enumerate(systems):
        rate, rate_interval = share_of((cut_ins or {}).get(system, {}))
        ahead, within = _ends(frontier, k), _ends(best, k)
        points.append(
            JointPoint(
                system=system,
                elo=drawn.board[system].elo,
                elo_interval=drawn.board[system].interval,
                latency=quantiles_of(at_end(latencies[system], 1), drawn.seed),
                p_frontier=None if ahead is None else ahead[0],
                p_best_within_budget=None if within is None else within[0],
                p_frontier_range=ahead,
                p_best_within_budget_range=within,
                others={n: quantiles_of(at_end(t[system], 1), drawn.seed) for n, t in (others or {}).items() if t.get(system)},
                cut_in_rate=rate,
                cut_in_interval=rate_interval,
            )
        )
    slope = None
    if elo_draws is not None and len(systems) >= SYSTEMS_FOR_SLOPE:
        medians = [[_median_ms(at_end(decides[system], end)) for system in systems] for end in (0, 1)]
        slope = _slope(np.array([point.elo for point in points]), np.array(medians), elo_draws, np.stack([low, high]), size)
    return JointFigure(tuple(points), slope, name, budget_ms, often.shape[0])


def at_end(turns: Mapping[str, Sequence[Turn]], end: int) -> Mapping[str, Sequence[float]]:
    """Context → milliseconds of its turns at their low (0) or high (1) end."""
    return {c: [turn[end] if isinstance(turn, tuple) else turn for turn in group] for c, group in turns.items()}


def _ends(chances: Sequence[Floats] | None, system: int) -> Interval | None:
    return None if chances is None else (float(chances[0][system]), float(chances[-1][system]))


def deciding(ttfa: Latencies, answers: Latencies) -> Latencies:
    """The latencies that decide who is fast: a system's answers where they differ from TTFA on over 5 % of its replies, else
    its TTFA. A filler in front of an answer would otherwise buy the frontier."""
    return {system: answers[system] if _differ(mine, answers.get(system, {})) else mine for system, mine in ttfa.items()}


def _differ(ttfa: Mapping[str, Sequence[Turn]], answers: Mapping[str, Sequence[Turn]]) -> bool:
    first, later = at_end(ttfa, 1), at_end(answers, 1)
    replies = [pair for c in first for pair in zip(first[c], later.get(c, ()), strict=False) if np.isfinite(pair[0])]
    return sum(heard != answer for heard, answer in replies) > MOST_ALIKE * len(replies)


def _is_known(board: Board, latencies: Latencies, system: str) -> bool:
    """True if resamples of a system show where it may be: not with so few conversations that no interval is given."""
    timed = sum(len(values) > 0 for values in latencies[system].values())
    return board[system].quoted is not None and timed >= FEWEST_CLUSTERS


def _median_ms(turns: Mapping[str, Sequence[float]]) -> float:
    values = np.array([value for group in turns.values() for value in group])
    return float(weighted_quantile(values, np.ones((1, values.size)), 0.5)[0])


def _turns(given: Mapping[str, Sequence[Turn]], contexts: Sequence[str]) -> tuple[Floats, Ints]:
    """(2, turns) milliseconds of every turn at both ends, and the index in `contexts` of its conversation."""
    low, high = at_end(given, 0), at_end(given, 1)
    each = [(*ends, k) for k, c in enumerate(contexts) for ends in zip(low.get(c, ()), high.get(c, ()), strict=True)]
    values = np.array([ends[:2] for ends in each], dtype=float).reshape(-1, 2).T
    return values, np.array([ends[2] for ends in each], dtype=np.int64)


def on_frontier(elo: Floats, latency_ms: Floats, rivals_ms: Floats | None = None) -> Bools:
    """(draws, systems): True if no other is at least as good and at least as fast, and better in one of the two.

    A system without a latency in a draw is not on the frontier and beats nobody. `rivals_ms`: latencies of the same systems
    as rivals of each other; None: the same.
    """
    rivals_ms = latency_ms if rivals_ms is None else rivals_ms
    ahead = elo[:, None, :] - elo[:, :, None]
    better = (ahead >= -ALIKE_ELO) & ~np.eye(elo.shape[1], dtype=bool)
    faster = rivals_ms[:, None, :] <= latency_ms[:, :, None]
    strictly = (ahead > ALIKE_ELO) | (rivals_ms[:, None, :] < latency_ms[:, :, None])
    return np.asarray(~(better & faster & strictly).any(axis=2) & np.isfinite(latency_ms), dtype=np.bool_)


def best_within(elo: Floats, latency_ms: Floats, budget_ms: float, rivals_ms: Floats | None = None) -> Floats:
    """(draws, systems): 1 where it is the best rated of those within the budget; n equally good ones have 1/n each.

    `rivals_ms`: as in `on_frontier`.
    """
    reach = np.where((latency_ms if rivals_ms is None else rivals_ms) <= budget_ms, elo, -np.inf)
    others = np.where(np.eye(elo.shape[1], dtype=bool), -np.inf, reach[:, None, :])
    top = np.maximum(others.max(axis=2), elo) - ALIKE_ELO
    best = (latency_ms <= budget_ms) & (elo >= top)
    return np.asarray(best / (1 + (others >= top[:, :, None]).sum(axis=2)), dtype=np.float64)


def _slope(elo: Floats, p50: Floats, elo_draws: Floats, p50_draws: Floats, contexts: int) -> Slope | None:
    """`p50` (2, systems), `p50_draws` (2, draws, systems): medians at both ends."""
    usable = np.isfinite(p50[1]) & (p50[1] > 0)
    if usable.sum() < SYSTEMS_FOR_SLOPE:
        return None
    # A turn of which others could have caused all has no logarithm at its low end.
    x, drawn_x = (np.log10(np.where(ms > 0, ms, np.nan))[..., usable] for ms in (p50, p50_draws))
    y, drawn_y = elo[usable], elo_draws[:, usable]
    seen = float(_least_squares(x[1][None], y[None])[0])
    if not np.isfinite(seen):
        return None
    if np.isnan(x).any():
        return Slope(seen, None, int(usable.sum()))
    least, greatest = (_extreme(x, y, sign) for sign in (-1.0, 1.0))
    ends = [float(_least_squares(np.where(at, x[1], x[0])[None], y[None])[0]) for at in (least, greatest)]
    drawn = [_least_squares(np.where(at, drawn_x[1], drawn_x[0]), drawn_y) for at in (least, greatest)]
    known = [draws[np.isfinite(draws)] for draws in drawn]
    bounds = [_interval(draws, contexts) for draws in known if draws.size and contexts >= FEWEST_CLUSTERS]
    interval = (bounds[0][0], bounds[1][1]) if len(bounds) == len(known) else None
    return Slope(seen, interval, int(usable.sum()), (ends[0], ends[1]))


def _extreme(x: Floats, y: Floats, sign: float) -> Bools:
    """(systems,): True where the high end of x (2, systems) makes the slope greatest (`sign` 1) or least (−1).

    One system after another changes its end as long as that helps.
    """
    at = np.ones(y.size, dtype=bool)
    best = -np.inf
    while True:
        flipped = at ^ np.vstack([np.zeros(y.size, dtype=bool), np.eye(y.size, dtype=bool)])
        slopes = sign * _least_squares(np.where(flipped, x[1], x[0]), np.broadcast_to(y, flipped.shape))
        k = int(np.nanargmax(slopes))
        if not slopes[k] > best:
            return at
        at, best = flipped[k], float(slopes[k])


def _least_squares(x: Floats, y: Floats) -> Floats:
    away = x - x.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((away * (y - y.mean(axis=1, keepdims=True))).sum(axis=1) / (away**2).sum(axis=1), dtype=np.float64)


def _interval(draws: Floats, contexts: int) -> Interval:
    low, high = percentile_interval(draws, contexts)
    return float(low), float(high)
