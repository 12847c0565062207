"""Quality and latency together, from one bootstrap of the same conversations.

Both axes of the joint figure come from the same replies, so they are resampled together: a draw takes contexts, each with
its verdicts *and* its latencies. That gives intervals on both axes which belong to one another, and answers that neither
axis gives alone: how often a system is on the Pareto frontier, and how often it is the best of those within the budget. Elo
and its interval are the board's own, so that a system has one of each wherever it is shown; the draws serve figures that no
board has. Systems that no chain of comparisons connects are neither better nor worse than one another: that is unknown.

Latencies are those of every turn of a system, context by context; repeats of a context are replicates that are drawn with it.
Their percentiles are the latency table's own (`percentiles`), so that a point and the table agree. A missing reply is
slower than any reply, so a percentile may be infinite; that is a result, not a gap. A slope needs six systems.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.errors import UserError
from harness.experiment import BUDGET_MS
from harness.ranking import chosen
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
from harness.store.judgment_columns import table_of
from harness.timing.quantiles import Quantiles, quantiles_of

Latencies = Mapping[str, Mapping[str, Sequence[float]]]
"""System → context → milliseconds of each turn; infinite: no reply."""
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
    ahead of all."""
    p_best_within_budget: float | None
    """Share of draws in which it is within the budget and the best of those that are, a draw shared by equals; None as
    above."""
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
        return replace(self, p_frontier=None, p_best_within_budget=None)


@dataclass(frozen=True, slots=True)
class Slope:
    """Elo gained per ten-fold latency (least squares on log10 of p50), over the systems that have one."""

    elo_per_decade: float
    interval: Interval | None
    systems: int


@dataclass(frozen=True, slots=True)
class JointFigure:
    """The points, best first, and the slope (None under six systems)."""

    points: tuple[JointPoint, ...]
    slope: Slope | None
    latency: str
    budget_ms: float
    draws: int


def joint(
    judgments: Iterable[Judgment],
    latencies: Latencies,
    budget_ms: float = BUDGET_MS,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[JointPoint, ...]:
    """Points of the systems that have latencies. See `joint_figure`."""
    return joint_figure(judgments, latencies, budget_ms=budget_ms, draws=draws, seed=seed).points


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
    name: str = "ttfa",
    others: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = BUDGET_MS,
    draws: int = DRAWS,
    seed: int = 0,
    presentation: str | None = None,
) -> JointFigure:
    """The joint figure on the latency `latencies`; `others` are resampled beside it and reported, not ranked on.

    Systems without latencies (references) are rated, but are no points. `board`: that of the same verdicts
    and model, if it exists already.

    Raises harness.errors.UserError: no rows, several presentations, no system with both verdicts and latencies, or
    `audio_with_delay`, which would put latency on both axes.
    """
    known, table = others or {}, table_of(judgments)
    rows = table.where(chosen.once(table, presentation)[0])
    if rows.named("presentation", "audio_with_delay").any():
        raise UserError("the joint figure takes no audio_with_delay judgments: latency would be on both axes")
    counted = model.counted(rows.where(chosen.of_source(rows, chosen.one_source(rows))))
    board = board or rate_counted(counted, model)
    drawn = resample(counted, [latencies, *known.values()], model, board=board, draws=draws, seed=seed)
    return lay_over(drawn, latencies, name=name, others=known, cut_ins=cut_ins, budget_ms=budget_ms)


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
    p50_draws = np.stack(
        [weighted_quantile(values, often[:, at], 0.5) for values, at in map(turns.__getitem__, systems)], axis=1
    )
    known = elo_draws is not None and all(_is_known(drawn.board, latencies, system) for system in systems)
    frontier = on_frontier(elo_draws, p50_draws).mean(axis=0) if known and elo_draws is not None else None
    best = best_within(elo_draws, p50_draws, budget_ms).mean(axis=0) if known and elo_draws is not None else None
    points = []
    for k, system in enumerate(systems):
        rate, rate_interval = share_of((cut_ins or {}).get(system, {}))
        points.append(
            JointPoint(
                system=system,
                elo=drawn.board[system].elo,
                elo_interval=drawn.board[system].interval,
                latency=quantiles_of(latencies[system], drawn.seed),
                p_frontier=None if frontier is None else float(frontier[k]),
                p_best_within_budget=None if best is None else float(best[k]),
                others={n: quantiles_of(t[system], drawn.seed) for n, t in (others or {}).items() if t.get(system)},
                cut_in_rate=rate,
                cut_in_interval=rate_interval,
            )
        )
    slope = None
    if elo_draws is not None and len(systems) >= SYSTEMS_FOR_SLOPE:
        p50 = np.array([_median_ms(quantiles_of(decides[point.system], drawn.seed)) for point in points])
        slope = _slope(np.array([point.elo for point in points]), p50, elo_draws, p50_draws, size)
    return JointFigure(tuple(points), slope, name, budget_ms, often.shape[0])


def deciding(ttfa: Latencies, answers: Latencies) -> Latencies:
    """The latencies that decide who is fast: a system's answers where they differ from TTFA on over 5 % of its replies, else
    its TTFA. A filler in front of an answer would otherwise buy the frontier."""
    return {system: answers[system] if _differ(mine, answers.get(system, {})) else mine for system, mine in ttfa.items()}


def _differ(ttfa: Mapping[str, Sequence[float]], answers: Mapping[str, Sequence[float]]) -> bool:
    replies = [pair for c in ttfa for pair in zip(ttfa[c], answers.get(c, ()), strict=False) if np.isfinite(pair[0])]
    return sum(heard != answer for heard, answer in replies) > MOST_ALIKE * len(replies)


def _is_known(board: Board, latencies: Latencies, system: str) -> bool:
    """True if resamples of a system show where it may be: not with so few conversations that no interval is given."""
    timed = sum(len(values) > 0 for values in latencies[system].values())
    return board[system].quoted is not None and timed >= FEWEST_CLUSTERS


def _median_ms(latency: Quantiles) -> float:
    return np.inf if latency.p50_over_limit or latency.p50 is None else latency.p50


def _turns(given: Mapping[str, Sequence[float]], contexts: Sequence[str]) -> tuple[Floats, Ints]:
    """Milliseconds of every turn, and the index in `contexts` of its conversation."""
    pairs = [(value, k) for k, context in enumerate(contexts) for value in given.get(context, ())]
    return np.array([value for value, _ in pairs], dtype=float), np.array([k for _, k in pairs], dtype=np.int64)


def on_frontier(elo: Floats, latency_ms: Floats) -> Bools:
    """(draws, systems): True if no other is at least as good and at least as fast, and better in one of the two.

    A system without a latency in a draw is not on the frontier and beats nobody.
    """
    ahead = elo[:, None, :] - elo[:, :, None]
    better = ahead >= -ALIKE_ELO
    faster = latency_ms[:, None, :] <= latency_ms[:, :, None]
    strictly = (ahead > ALIKE_ELO) | (latency_ms[:, None, :] < latency_ms[:, :, None])
    return np.asarray(~(better & faster & strictly).any(axis=2) & np.isfinite(latency_ms), dtype=np.bool_)


def best_within(elo: Floats, latency_ms: Floats, budget_ms: float) -> Floats:
    """(draws, systems): 1 where it is the best rated of those within the budget; n equally good ones have 1/n each."""
    within = latency_ms <= budget_ms
    reach = np.where(within, elo, -np.inf)
    best = within & (reach >= reach.max(axis=1, keepdims=True) - ALIKE_ELO)
    return np.asarray(best / np.maximum(best.sum(axis=1, keepdims=True), 1), dtype=np.float64)


def _slope(elo: Floats, p50: Floats, elo_draws: Floats, p50_draws: Floats, contexts: int) -> Slope | None:
    usable = np.isfinite(p50) & (p50 > 0)
    if usable.sum() < SYSTEMS_FOR_SLOPE:
        return None
    x = np.log10(np.where(p50_draws > 0, p50_draws, np.nan))[:, usable]
    whole = _least_squares(np.log10(p50[usable])[None], elo[usable][None])
    drawn = _least_squares(x, elo_draws[:, usable])
    drawn = drawn[np.isfinite(drawn)]
    interval = _interval(drawn, contexts) if contexts >= FEWEST_CLUSTERS and drawn.size else None
    return Slope(float(whole[0]), interval, int(usable.sum())) if np.isfinite(whole[0]) else None


def _least_squares(x: Floats, y: Floats) -> Floats:
    away = x - x.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((away * (y - y.mean(axis=1, keepdims=True))).sum(axis=1) / (away**2).sum(axis=1), dtype=np.float64)


def _interval(draws: Floats, contexts: int) -> Interval | None:
    kept = draws[~np.isnan(draws)]
    if kept.size == 0:
        return None
    # Infinite draws cannot be interpolated between, so an interval's end is an order statistic.
    ends = percentile_interval(np.where(np.isinf(kept), np.finfo(float).max, kept), contexts)
    return tuple(float(np.inf) if end > 1e300 else float(end) for end in ends)  # type: ignore[return-value]
