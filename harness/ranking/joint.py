"""Quality and latency together, from one bootstrap of the same conversations.

Both axes of the joint figure come from the same replies, so they are resampled together: a draw takes contexts, and of each
its verdicts *and* its latencies. That gives intervals on both axes which belong to one another, and answers that neither
axis has alone: how often a system is on the Pareto frontier, and how often it is the best of those within the budget.

A missing reply is slower than any reply, so a percentile may be infinite; that is a result, not a gap. A p95 needs 60
turns, an interval eight contexts, a slope six systems. The intervals of a p95 and of a rate are not the bootstrap's but exact
ones (`exact`): a resample holds nothing slower than the slowest turn, and nothing rarer than what was seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.errors import UserError
from harness.ranking import bradley_terry, ordinal, ordinal_bootstrap
from harness.ranking.board import Interval
from harness.ranking.bootstrap import draw_contexts, percentile_interval, refit
from harness.ranking.exact import TURNS_FOR_P95, quantile_interval, share_interval
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.ranking.scale import Bools, Floats, to_elo
from harness.ranking.verdicts import Votes, gather, select
from harness.store.judgment import Judgment

Latencies = Mapping[str, Mapping[str, float | None]]
"""System → context → milliseconds; None: no reply."""
Events = Mapping[str, Mapping[str, bool]]
"""System → context → whether it happened (a cut-in)."""
SYSTEMS_FOR_SLOPE = 6
DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Percentile:
    """Milliseconds. `value` is infinite where that share of turns had no reply; `interval` None under eight contexts."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class JointPoint:
    """One system in the plane of quality and latency. Intervals of 95 %."""

    system: str
    elo: float
    elo_interval: Interval | None
    turns: int
    """Turns with a measured latency, missing replies included."""
    ttfa_p50_ms: float | None
    ttfa_p50_interval: Interval | None
    ttfa_p95_ms: float | None
    ttfa_p95_interval: Interval | None
    p_frontier: float
    """Share of draws in which no other system is both better and faster."""
    p_best_within_budget: float
    """Share of draws in which it is within the budget and the best of those that are."""
    others: Mapping[str, Percentile] = field(default_factory=dict)
    """p50 of every other latency given (`ttft`, `first_word`, …)."""
    cut_in_rate: float | None = None
    cut_in_interval: Interval | None = None


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
    budget_ms: float = 500.0,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[JointPoint, ...]:
    """Points of the systems that have latencies. See `joint_figure`."""
    return joint_figure(judgments, latencies, budget_ms=budget_ms, draws=draws, seed=seed).points


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Ratings of one set of drawn conversations; every latency laid over it shares those conversations."""

    contexts: tuple[str, ...]
    often: Floats
    systems: tuple[str, ...]
    judged_in: tuple[int, ...]
    """Contexts of each system's verdicts."""
    elo: Floats
    elo_draws: Floats


def resample(
    judgments: Iterable[Judgment],
    latencies: Iterable[Latencies],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    method: str = "ordinal",
    presentation: str | None = None,
) -> Resampled:
    """Draw the conversations that any of `latencies` or a verdict knows, and refit. `method`: ordinal or strength.

    Raises harness.errors.UserError: no rows, several presentations, or `audio_with_delay`, which would put latency on both
    axes.
    """
    rows = select(judgments, presentation=presentation)
    if any(row.presentation == "audio_with_delay" for row in rows):
        raise UserError("the joint figure takes no audio_with_delay judgments: latency would stand on both axes")
    judged = {row.context for row in rows}
    names = {s for row in rows for s in (row.system_a, row.system_b)}
    contexts = sorted(judged | {c for given in latencies for s in names & set(given) for c in given[s]})
    votes = gather(rows, contexts=contexts)
    often = draw_contexts(len(contexts), draws, np.random.default_rng(seed))
    # A draw without one judged context has no rating; with eight contexts or more this is next to impossible.
    often = often[(often[:, np.isin(contexts, sorted(judged))] > 0).any(axis=1)]
    theta, spread = _ratings(votes, often, method)
    judged_in = [len({r.context for r in rows if s in (r.system_a, r.system_b)}) for s in votes.systems]
    return Resampled(tuple(contexts), often, votes.systems, tuple(judged_in), to_elo(theta), to_elo(spread))


def joint_figure(
    judgments: Iterable[Judgment],
    latencies: Latencies,
    *,
    name: str = "ttfa",
    others: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = 500.0,
    draws: int = DRAWS,
    seed: int = 0,
    method: str = "ordinal",
    presentation: str | None = None,
) -> JointFigure:
    """The joint figure on the latency `latencies`; `others` are resampled beside it and reported, not ranked on.

    Systems without latencies (references) are rated, but are no points. Raises harness.errors.UserError: see `resample`, or
    no system with both verdicts and latencies.
    """
    known = others or {}
    drawn = resample(judgments, [latencies, *known.values()], draws=draws, seed=seed, method=method, presentation=presentation)
    return lay_over(drawn, latencies, name=name, others=known, cut_ins=cut_ins, budget_ms=budget_ms)


def lay_over(
    drawn: Resampled,
    latencies: Latencies,
    *,
    name: str = "ttfa",
    others: Mapping[str, Latencies] | None = None,
    cut_ins: Events | None = None,
    budget_ms: float = 500.0,
) -> JointFigure:
    """The joint figure of ratings already drawn: for filler-aware variants, one call a latency (first sound, first word).

    Raises harness.errors.UserError when no system has both verdicts and latencies.
    """
    systems = [s for s in drawn.systems if latencies.get(s)]
    if not systems:
        raise UserError("no system has both judgments and latencies: nothing to put into the joint figure")
    at = [drawn.systems.index(s) for s in systems]
    elo, elo_draws = drawn.elo[at], drawn.elo_draws[:, at]
    contexts, often, size = drawn.contexts, drawn.often, len(drawn.contexts)
    whole = np.ones((1, size))
    columns = [_column(latencies[s], contexts) for s in systems]
    p50, p50_draws = _both(columns, whole, often, 0.5)
    p95 = [weighted_quantile(column, whole, 0.95)[0] for column in columns]
    turns = [int((~np.isnan(column)).sum()) for column in columns]
    frontier = on_frontier(elo_draws, p50_draws).mean(axis=0)
    best = best_within(elo_draws, p50_draws, budget_ms).mean(axis=0)
    points = []
    for k, system in enumerate(systems):
        enough, known = turns[k] >= TURNS_FOR_P95, turns[k] >= FEWEST_CONTEXTS
        rated = drawn.judged_in[at[k]] >= FEWEST_CONTEXTS
        rate, rate_interval = _rate((cut_ins or {}).get(system), contexts)
        points.append(
            JointPoint(
                system=system,
                elo=float(elo[k]),
                elo_interval=_interval(elo_draws[:, k], size) if rated else None,
                turns=turns[k],
                ttfa_p50_ms=_none_if_nan(p50[k]),
                ttfa_p50_interval=_interval(p50_draws[:, k], size) if known else None,
                ttfa_p95_ms=_none_if_nan(p95[k]) if enough else None,
                ttfa_p95_interval=quantile_interval(columns[k][~np.isnan(columns[k])], 0.95) if enough else None,
                p_frontier=float(frontier[k]),
                p_best_within_budget=float(best[k]),
                others=_others(others or {}, system, contexts, often),
                cut_in_rate=rate,
                cut_in_interval=rate_interval,
            )
        )
    slope = _slope(elo, p50, elo_draws, p50_draws, size) if len(systems) >= SYSTEMS_FOR_SLOPE else None
    order = sorted(points, key=lambda point: -point.elo)
    return JointFigure(tuple(order), slope, name, budget_ms, often.shape[0])


def _ratings(votes: Votes, often: Floats, method: str) -> tuple[Floats, Floats]:
    if method == "strength":
        wins = bradley_terry.wins_by_context(votes)
        plain = bradley_terry.fit(wins.sum(axis=0))
        return plain.theta, refit(wins, often, plain.theta, plain.precision)
    fitted = ordinal.fit(ordinal.design(votes))
    return fitted.theta, ordinal_bootstrap.refit(fitted, votes, often)


def _column(given: Mapping[str, float | None], contexts: Sequence[str]) -> Floats:
    """(contexts,): milliseconds; infinite for no reply, NaN where not measured."""
    return np.array([np.nan if c not in given else np.inf if given[c] is None else given[c] for c in contexts], dtype=float)


def _both(columns: Sequence[Floats], whole: Floats, often: Floats, share: float) -> tuple[Floats, Floats]:
    point = np.array([weighted_quantile(column, whole, share)[0] for column in columns])
    spread = np.stack([weighted_quantile(column, often, share) for column in columns], axis=1)
    return point, spread


def weighted_quantile(values: Floats, often: Floats, share: float) -> Floats:
    """(draws,): quantile of `values` (contexts,) each taken `often` (draws, contexts) times; NaN where none is.

    Interpolated linearly between order statistics, as numpy does by default; infinite if either of the two is.
    """
    held = np.flatnonzero(~np.isnan(values))
    order = held[np.argsort(values[held], kind="stable")]
    ranked = values[order]
    cumulative = np.cumsum(often[:, order], axis=1)
    if ranked.size == 0:
        return np.full(often.shape[0], np.nan)
    total = cumulative[:, -1]
    place = share * np.maximum(total - 1, 0)
    low = np.floor(place + 1e-9)
    fraction = np.clip(place - low, 0.0, 1.0)
    first = ranked[np.minimum((cumulative <= low[:, None]).sum(axis=1), ranked.size - 1)]
    second = ranked[np.minimum((cumulative <= np.minimum(low + 1, total - 1)[:, None]).sum(axis=1), ranked.size - 1)]
    with np.errstate(invalid="ignore"):
        between = np.where(fraction < 1e-9, first, np.where(np.isinf(second), second, first + fraction * (second - first)))
    return np.where(total > 0, between, np.nan)


def on_frontier(elo: Floats, latency_ms: Floats) -> Bools:
    """(draws, systems): whether no other is at least as good and at least as fast, and better in one of the two.

    A system without a latency in a draw is not on the frontier and beats nobody.
    """
    better = elo[:, None, :] >= elo[:, :, None]
    faster = latency_ms[:, None, :] <= latency_ms[:, :, None]
    strictly = (elo[:, None, :] > elo[:, :, None]) | (latency_ms[:, None, :] < latency_ms[:, :, None])
    return np.asarray(~(better & faster & strictly).any(axis=2) & np.isfinite(latency_ms), dtype=np.bool_)


def best_within(elo: Floats, latency_ms: Floats, budget_ms: float) -> Bools:
    """(draws, systems): whether it is within the budget and the best rated of those that are."""
    within = latency_ms <= budget_ms
    reach = np.where(within, elo, -np.inf)
    return np.asarray(within & (reach == reach.max(axis=1, keepdims=True)), dtype=np.bool_)


def _slope(elo: Floats, p50: Floats, elo_draws: Floats, p50_draws: Floats, contexts: int) -> Slope | None:
    usable = np.isfinite(p50) & (p50 > 0)
    if usable.sum() < SYSTEMS_FOR_SLOPE:
        return None
    x = np.log10(np.where(p50_draws > 0, p50_draws, np.nan))[:, usable]
    whole = _least_squares(np.log10(p50[usable])[None], elo[usable][None])
    drawn = _least_squares(x, elo_draws[:, usable])
    drawn = drawn[np.isfinite(drawn)]
    interval = _interval(drawn, contexts) if contexts >= FEWEST_CONTEXTS and drawn.size else None
    return Slope(float(whole[0]), interval, int(usable.sum())) if np.isfinite(whole[0]) else None


def _least_squares(x: Floats, y: Floats) -> Floats:
    away = x - x.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((away * (y - y.mean(axis=1, keepdims=True))).sum(axis=1) / (away**2).sum(axis=1), dtype=np.float64)


def _others(given: Mapping[str, Latencies], system: str, contexts: Sequence[str], often: Floats) -> dict[str, Percentile]:
    found = {}
    for name, latencies in given.items():
        if system not in latencies:
            continue
        column = _column(latencies[system], contexts)
        value = weighted_quantile(column, np.ones((1, len(contexts))), 0.5)[0]
        if not np.isnan(value):
            enough = (~np.isnan(column)).sum() >= FEWEST_CONTEXTS
            interval = _interval(weighted_quantile(column, often, 0.5), len(contexts)) if enough else None
            found[name] = Percentile(float(value), interval)
    return found


def _rate(events: Mapping[str, bool] | None, contexts: Sequence[str]) -> tuple[float | None, Interval | None]:
    known = [bool(happened) for context, happened in (events or {}).items() if context in set(contexts)]
    if not known:
        return None, None
    return sum(known) / len(known), share_interval(sum(known), len(known)) if len(known) >= FEWEST_CONTEXTS else None


def _interval(draws: Floats, contexts: int) -> Interval | None:
    kept = draws[~np.isnan(draws)]
    if kept.size == 0:
        return None
    # Infinite draws cannot be interpolated between, so an interval's end is an order statistic.
    ends = percentile_interval(np.where(np.isinf(kept), np.finfo(float).max, kept), contexts)
    return tuple(float(np.inf) if end > 1e300 else float(end) for end in ends)  # type: ignore[return-value]


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
