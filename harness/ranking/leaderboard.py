"""From judgment rows to a leaderboard.

One door for every vote: judges or people or both, speech or text, regular or adversarial. The ordinal fit is the primary
one; the strength-weighted fit is the paper's; Davidson's and Rao and Kupper's are the models with ties. Whatever weakens a
board (few contexts, systems that never met, a judge of the same model family) is said in `warnings`, in words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from harness.ranking import bradley_terry, ordinal, ordinal_bootstrap, reach, ties
from harness.ranking.board import Board, Interval, SystemRating
from harness.ranking.bootstrap import draw_contexts, percentile_interval, refit
from harness.ranking.counts import axis_win_rates, win_rates
from harness.ranking.sandwich import (
    FEWEST_CONTEXTS,
    SMALL_SAMPLE,
    Covariance,
    clustered,
    max_t,
    two_way,
)
from harness.ranking.scale import ELO_PER_LOGIT, Floats, Ints, to_elo
from harness.ranking.verdicts import Lengths, Source, Votes, axis_rows, gather, select, weighted_rows
from harness.store.judgment import Judgment

Method = Literal["ordinal", "strength", "plain", "davidson", "rao-kupper"]
METHOD_TITLES: Mapping[Method, str] = {
    "ordinal": "ordinal Bradley–Terry (cumulative logit)",
    "strength": "Bradley–Terry weighted by strength (the paper's)",
    "plain": "Bradley–Terry, a tie half a win",
    "davidson": "Davidson (ties)",
    "rao-kupper": "Rao–Kupper (ties)",
}


def leaderboard(
    judgments: Iterable[Judgment],
    *,
    method: Method = "ordinal",
    presentation: str | None = None,
    source: Source | None = None,
    subset: str | None = None,
    axis: str | None = None,
    axis_weights: Mapping[str, float] | None = None,
    lengths: Lengths | None = None,
    bootstrap_draws: int = 0,
    seed: int = 0,
) -> Board:
    """Rate the systems. `lengths` (words of each reply) adds a length term to the ordinal fit. `bootstrap_draws` puts the
    interval of resampled conversations beside the sandwich's (not for the models with ties).

    Raises harness.errors.UserError: no rows, or rows of several presentations with none chosen.
    """
    rows = select(judgments, presentation=presentation, source=source, subset=subset)
    if axis is not None:
        rows = axis_rows(rows, axis)
    if axis_weights is not None:
        rows = weighted_rows(rows, axis_weights)
    votes = gather(rows, lengths=lengths)
    fitted = fit_votes(votes, method)
    enough = bootstrap_draws > 0 and len(votes.contexts) >= FEWEST_CONTEXTS
    ends = _bootstrap(votes, method, bootstrap_draws, seed) if enough else None
    return Board(
        method=METHOD_TITLES[method],
        systems=_rows(rows, votes, fitted, ends),
        warnings=_warnings(rows, votes),
        presentation=rows[0].presentation,
        judgments=len(rows),
        contexts=len(votes.contexts),
        terms=fitted.terms,
        names=votes.systems,
        covariance=fitted.covariance,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Log-odds (systems,), their clustered covariance, and the other terms of the fit."""

    theta: Floats
    covariance: Covariance
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    theta: Floats
    terms: Mapping[str, float]
    bread: Floats
    scores: Floats
    breads: Floats

    def covariance(self) -> Covariance:
        whole = clustered(self.bread, self.scores, self.breads, self.theta.size)
        return Covariance(whole.matrix[: self.theta.size, : self.theta.size], whole.freedom)


def fit_votes(votes: Votes, method: Method = "ordinal") -> Fitted:
    """Fit, and covariance clustered by context; by rater too where enough people judged."""
    parts = _parts(votes, method)
    covariance = parts.covariance()
    people = votes.source == 1
    if np.unique(votes.judge[people]).size >= FEWEST_CONTEXTS:
        # A judge is one of a chosen few and stays fixed; its rows cluster by context alone, and cancel in the difference.
        label = np.where(people, len(votes.contexts) + votes.judge, votes.context)
        both = np.where(people, (votes.judge + 1) * len(votes.contexts) + votes.context, votes.context)
        covariance = two_way(
            covariance,
            _parts(_relabelled(votes, label), method).covariance(),
            _parts(_relabelled(votes, both), method).covariance(),
        )
    return Fitted(parts.theta, covariance, parts.terms)


def _relabelled(votes: Votes, label: Ints) -> Votes:
    _, index = np.unique(label, return_inverse=True)
    return replace(votes, context=index, contexts=tuple(str(k) for k in range(int(index.max()) + 1)))


def _parts(votes: Votes, method: Method) -> _Parts:
    if method == "ordinal":
        fit = ordinal.fit(ordinal.design(votes))
        return _Parts(fit.theta, fit.terms, fit.bread, ordinal.scores_by_context(fit), ordinal.breads_by_context(fit))
    if method in ("strength", "plain"):
        wins = bradley_terry.wins_by_context(votes, weighted=method == "strength")
        theta, bread = (found := bradley_terry.fit(wins.sum(axis=0))).theta, found.bread
        scores, breads = bradley_terry.scores_by_context(theta, wins), bradley_terry.breads_by_context(theta, wins)
        return _Parts(theta, {}, bread, scores, breads)
    tied = ties.fit(votes, "davidson" if method == "davidson" else "rao-kupper")
    return _Parts(tied.theta, {"tie": tied.tie}, tied.bread, tied.scores, tied.breads)


def _bootstrap(votes: Votes, method: Method, draws: int, seed: int) -> Floats | None:
    """(2, systems): ends of the intervals in Elo."""
    often = draw_contexts(len(votes.contexts), draws, np.random.default_rng(seed))
    if method == "ordinal":
        drawn = ordinal_bootstrap.refit(ordinal.fit(ordinal.design(votes)), votes, often)
    elif method in ("strength", "plain"):
        wins = bradley_terry.wins_by_context(votes, weighted=method == "strength")
        whole = bradley_terry.fit(wins.sum(axis=0))
        drawn = refit(wins, often, whole.theta, whole.precision)
    else:
        return None
    return percentile_interval(to_elo(drawn), len(votes.contexts))


def _rows(rows: Sequence[Judgment], votes: Votes, fitted: Fitted, ends: Floats | None) -> tuple[SystemRating, ...]:
    elo = to_elo(fitted.theta)
    error = ELO_PER_LOGIT * np.sqrt(np.clip(np.diag(fitted.covariance.matrix), 0.0, None))
    half = error * fitted.covariance.quantile()
    wide = error * max_t(fitted.covariance)
    shares, axes = win_rates(rows), axis_win_rates(rows)
    ratings = []
    for k, system in enumerate(votes.systems):
        mine = (votes.first == k) | (votes.second == k)
        seen = _contexts_of(votes, k)
        known = seen >= FEWEST_CONTEXTS
        ratings.append(
            SystemRating(
                system=system,
                elo=float(elo[k]),
                interval=_around(elo[k], half[k]) if known else None,
                win_rate=shares[system],
                axes=axes.get(system, {}),
                judgments=int(mine.sum()),
                contexts=seen,
                band=_around(elo[k], wide[k]) if known else None,
                error=float(error[k]) if known else None,
                paper_interval=_around(elo[k], paper_half_width(int(mine.sum()))),
                bootstrap_interval=None if ends is None or not known else (float(ends[0, k]), float(ends[1, k])),
            )
        )
    return tuple(sorted(ratings, key=lambda rating: -rating.elo))


def paper_half_width(comparisons: int) -> float:
    """Half width, in Elo, of the paper's interval: 1.96 · sqrt(1/n) on log-odds (HEART, section 9.8)."""
    return float(1.959963984540054 * ELO_PER_LOGIT / np.sqrt(comparisons))


def _around(centre: float, half: float) -> Interval:
    return float(centre - half), float(centre + half)


def _contexts_of(votes: Votes, system: int) -> int:
    return int(np.unique(votes.context[(votes.first == system) | (votes.second == system)]).size)


def _warnings(rows: Sequence[Judgment], votes: Votes) -> tuple[str, ...]:
    wins = bradley_terry.wins_by_context(votes, weighted=False).sum(axis=0)
    notes = list(reach.explain(wins, votes.systems))
    contexts = len(votes.contexts)
    if contexts < FEWEST_CONTEXTS:
        notes.append(f"{contexts} contexts are too few for an interval (at least {FEWEST_CONTEXTS}).")
    elif contexts < SMALL_SAMPLE:
        notes.append(f"{contexts} contexts: intervals rest on a small-sample correction.")
    rare = [name for k, name in enumerate(votes.systems) if 0 < _contexts_of(votes, k) < FEWEST_CONTEXTS <= contexts]
    if rare:
        notes.append(f"Judged in fewer than {FEWEST_CONTEXTS} contexts, so without an interval: {', '.join(rare)}.")
    own = sum(row.own_family for row in rows)
    if own:
        notes.append(f"{own} of {len(rows)} verdicts come from a judge of one side's own model family.")
    return tuple(notes)
