"""Ordinal (cumulative-logit) Bradley–Terry: the primary fit.

A verdict is one of ordered levels, from "b, decisively" over a tie to "a, decisively": ten for a judge who must choose
with strength 1–5, five for a person. Counting strength as repeated wins throws the order away and stretches θ; here a
latent preference η + noise falls between cuts, so strength informs the rating and P(win) keeps its meaning:

    P(level ≤ k) = σ(cut_k − η),   η = θ_a − θ_b + position_judge · shown + length · log(length ratio)

The cuts are symmetric about zero, because which reply is called `a` means nothing; they differ between judges and people,
who use other scales. Each judge has a position term (people share one), so that a judge who leans to the first reply does
not lend that lean to a system. With three levels this is the model of Rao and Kupper (1967). The log-likelihood is concave.

Its derivatives need only σ at the finite cuts around each verdict: it is a logistic regression with one row for each
such cut (`Design.rows`), plus one term for each level that has a cut on both sides (`Design.spans`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.reach import PRIOR_PRECISION, is_bounded
from harness.ranking.scale import Bools, Floats, Ints
from harness.ranking.verdicts import SOURCES, Votes

STEPS = 200
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class Penalty:
    """What holds the fit where data are silent. `system`: precision on each log-odds; None lets the data decide."""

    system: float | None = None
    nuisance: float = 0.25
    """On position and length terms: Normal(0, 2), so that a judge who always says "first" in a few rows stays finite."""
    level: float = 0.1
    """Of one imagined verdict at each level between equals, so that a resample without some level keeps its cuts apart."""


EXACT = Penalty(system=0.0, nuisance=0.0, level=0.0)
"""Plain maximum likelihood."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The votes as rows of a penalised likelihood. The last context is an imagined one that carries the level penalty."""

    systems: int
    contexts: int
    names: tuple[str, ...]
    """Of the parameters: systems, then cuts, then position and length terms."""
    rows: Floats
    """(cuts around verdicts, parameters): derivative of cut − η."""
    upper: Bools
    """Whether the cut is the upper one of its verdict."""
    count: Floats
    context: Ints
    spans: Floats
    """(levels with two cuts, parameters): derivative of upper cut − lower cut."""
    span_count: Floats
    """(contexts + 1, levels with two cuts)."""
    ridge: Floats
    start: Floats

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class OrdinalFit:
    """`beta` by `design.names`; `theta` (systems,) is its first part, mean zero; `bread` is minus the Hessian."""

    design: Design
    beta: Floats
    bread: Floats
    log_likelihood: float

    @property
    def theta(self) -> Floats:
        """Log-odds of each system."""
        return self.beta[: self.design.systems]

    @property
    def terms(self) -> dict[str, float]:
        """Cuts, position and length terms by name."""
        first = self.design.systems
        return dict(zip(self.design.names[first:], self.beta[first:].tolist(), strict=True))


def _position_columns(votes: Votes) -> tuple[Ints, list[str]]:
    """Column of each verdict's position term (−1: none), and the names: one a judge, one for all people."""
    column = np.full(len(votes), -1)
    names: list[str] = []
    known = votes.shown != 0
    people = known & (votes.source == 1)
    for judge in np.unique(votes.judge[known & (votes.source == 0)]):
        column[known & (votes.source == 0) & (votes.judge == judge)] = len(names)
        names.append(f"position:{votes.judges[judge]}")
    if people.any():
        column[people] = len(names)
        names.append("position:people")
    return column, names


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """Cuts of one group of voters: magnitudes seen, and whether ties were."""

    group: int
    magnitudes: Ints
    tie: bool
    first: int
    """Index of the first of its cuts among all cuts."""

    @property
    def cuts(self) -> int:
        return self.magnitudes.size - (0 if self.tie else 1)

    def edges(self, level: int) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """Lower and upper cut of a level of zero or more: (index or −1 for the cut at zero, sign), None for infinity."""
        if level == 0:
            return (self.first, -1), (self.first, 1)
        at = int(np.searchsorted(self.magnitudes, level)) - (0 if self.tie else 1)
        lower = (self.first + at, 1) if at >= 0 else (-1, 1)
        upper = (self.first + at + 1, 1) if at + 1 < self.cuts else None
        return lower, upper


def _levels(votes: Votes) -> list[_Levels]:
    found: list[_Levels] = []
    first = 0
    for group in np.unique(votes.source):
        level = votes.level[votes.source == group]
        magnitudes = np.unique(np.abs(level[level != 0]))
        if magnitudes.size == 0:
            magnitudes = np.array([1])
        found.append(_Levels(int(group), magnitudes, bool((level == 0).any()), first))
        first += found[-1].cuts
    return found


def design(votes: Votes, penalty: Penalty = Penalty(), *, position: bool = True, length: bool = True) -> Design:
    """Lay the votes out as a likelihood. Equal verdicts of one context are counted, not repeated."""
    size, places = len(votes.systems), len(votes.contexts)
    flip = np.where(votes.first > votes.second, -1, 1)
    low, high = np.minimum(votes.first, votes.second), np.maximum(votes.first, votes.second)
    level, shown, ratio = votes.level * flip, votes.shown * flip, votes.length * flip
    column, position_names = _position_columns(votes) if position else (np.full(len(votes), -1), [])
    shown = np.where(column < 0, 0, shown)
    groups = _levels(votes)
    cuts = sum(g.cuts for g in groups)
    with_length = length and bool(ratio.any())
    first_position = size + cuts
    total = first_position + len(position_names) + with_length

    key = np.stack([votes.context, low, high, votes.source, level + 5, column + 1, shown + 1])
    base = (places, size, size, len(SOURCES), 11, len(position_names) + 1, 3)
    _, at, count = np.unique(np.ravel_multi_index(tuple(key), base), return_index=True, return_counts=True)

    eta = np.zeros((at.size, total))
    each = np.arange(at.size)
    eta[each, low[at]] = 1.0
    eta[each, high[at]] = -1.0
    placed = column[at] >= 0
    eta[each[placed], first_position + column[at][placed]] = shown[at][placed]
    if with_length:
        eta[:, -1] = ratio[at]

    rows: list[Floats] = []
    uppers: list[Bools] = []
    counts: list[Floats] = []
    where: list[Ints] = []
    spans: list[Floats] = []
    span_counts: list[Floats] = []
    start = np.zeros(total)
    context = votes.context[at]

    def add(chosen: Bools, edge: tuple[int, int], upper: bool, mirrored: bool) -> None:
        # Mirrored: a loss at strength s lies between minus the cuts of a win at s.
        side = -1.0 if mirrored else 1.0
        for member, weight, place, x in (
            (chosen, count[chosen].astype(float), context[chosen], eta[chosen]),
            (None, np.array([penalty.level]), np.array([places]), np.zeros((1, total))),
        ):
            if member is None and penalty.level == 0:
                continue
            block = -x.copy()
            if edge[0] >= 0:
                block[:, size + edge[0]] = side * edge[1]
            rows.append(block)
            uppers.append(np.full(block.shape[0], upper != mirrored))
            counts.append(weight)
            where.append(place)

    for group in groups:
        member = votes.source[at] == group.group
        spread = np.abs(level[at][member])
        seen = count[member]
        for k in range(group.cuts):
            reach = spread > (group.magnitudes[k - 1] if group.tie and k else 0 if group.tie else group.magnitudes[k])
            # Where every verdict is a tie the share is zero, and the start would be infinite.
            share = max(float(seen[reach].sum()), 0.5) / float(seen.sum() + 1) / 2
            start[size + group.first + k] = np.log((1 - share) / share)
        for value in [0, *group.magnitudes.tolist()] if group.tie else group.magnitudes.tolist():
            lower, upper = group.edges(int(value))
            for mirrored in (False, True) if value else (False,):
                chosen = member & (level[at] == (-value if mirrored else value))
                if lower is not None:
                    add(chosen, lower, False, mirrored)
                if upper is not None:
                    add(chosen, upper, True, mirrored)
            if lower is not None and upper is not None:
                span = np.zeros(total)
                span[size + upper[0]] += upper[1]
                if lower[0] >= 0:
                    span[size + lower[0]] -= lower[1]
                spans.append(span)
                within = member & (np.abs(level[at]) == value)
                tally = np.bincount(context[within], count[within].astype(np.float64), places + 1).astype(np.float64)
                tally[places] = penalty.level * (2 if value else 1)
                span_counts.append(tally)

    system = penalty.system
    if system is None:
        system = 0.0 if is_bounded(wins_by_context(votes, weighted=False).sum(axis=0)) else PRIOR_PRECISION
    ridge = np.zeros(total)
    ridge[:size] = system
    ridge[first_position:] = penalty.nuisance
    cut_names = [f"cut:{SOURCES[g.group]}:{k + 1}" for g in groups for k in range(g.cuts)]
    names = (*votes.systems, *cut_names, *position_names, *(["length"] if with_length else []))
    order = np.argsort(np.concatenate(where), kind="stable")
    return Design(
        systems=size,
        contexts=places,
        names=names,
        rows=np.concatenate(rows)[order],
        upper=np.concatenate(uppers)[order],
        count=np.concatenate(counts)[order],
        context=np.concatenate(where)[order],
        spans=np.array(spans).reshape(-1, total),
        span_count=np.array(span_counts).reshape(-1, places + 1).T,
        ridge=ridge,
        start=start,
    )


def pin(bread: Floats, systems: int) -> Floats:
    """Add 11ᵀ/systems to the block of systems: their level is not identified, and this sets their mean to zero."""
    pinned = bread.copy()
    pinned[..., :systems, :systems] += 1.0 / systems
    return pinned


def _value(d: Design, beta: Floats, count: Floats, span_count: Floats) -> float:
    z = d.rows @ beta
    gap = d.spans @ beta
    if (gap <= 0).any():
        return -np.inf
    inside = -np.logaddexp(0.0, np.where(d.upper, -z, z))
    total = count @ inside + span_count @ np.log(-np.expm1(-gap)) - 0.5 * float(d.ridge @ beta**2)
    return float(total)


def fit(d: Design, *, weights: Floats | None = None, start: Floats | None = None, ridge: Floats | None = None) -> OrdinalFit:
    """Penalised maximum likelihood by Newton's method with step halving.

    `weights`: (contexts,), how often each context counts (a bootstrap draw); default once each.
    """
    if ridge is not None:
        d = Design(**{name: getattr(d, name) for name in d.__slots__} | {"ridge": ridge})
    often = np.ones(d.contexts + 1) if weights is None else np.append(weights, 1.0)
    count = d.count * often[d.context]
    span_count = often @ d.span_count
    beta = d.start if start is None else start
    value = _value(d, beta, count, span_count)
    bread = np.eye(d.size)
    for _ in range(STEPS):
        chance = expit(d.rows @ beta)
        gap = d.spans @ beta
        slope = d.rows.T @ (count * (d.upper - chance)) + d.spans.T @ (span_count / np.expm1(gap)) - d.ridge * beta
        bread = (d.rows * (count * chance * (1 - chance))[:, None]).T @ d.rows + np.diag(d.ridge)
        bread += (d.spans * (span_count / (4 * np.sinh(gap / 2) ** 2))[:, None]).T @ d.spans
        step = np.linalg.solve(pin(bread, d.systems), slope)
        if np.abs(step).max() < TOLERANCE:
            break
        scale = 1.0
        while True:
            tried = beta + scale * step
            reached = _value(d, tried, count, span_count)
            if reached >= value - 1e-12 * abs(value) or scale < 1e-8:
                break
            scale /= 2
        beta, value = tried, reached
    beta = beta.copy()
    beta[: d.systems] -= beta[: d.systems].mean()
    return OrdinalFit(d, beta, bread, value)


def scores_by_context(fitted: OrdinalFit) -> Floats:
    """(contexts, parameters): what each context adds to the slope of the log-likelihood."""
    d = fitted.design
    pull = d.count * (d.upper - expit(d.rows @ fitted.beta))
    starts = np.searchsorted(d.context, np.arange(d.contexts + 1))
    scores = np.add.reduceat(np.vstack([d.rows * pull[:, None], np.zeros((1, d.size))]), starts, axis=0)[: d.contexts]
    # reduceat gives the row itself for a context that has none.
    scores[starts[1:] == starts[:-1]] = 0.0
    return np.asarray(scores + (d.span_count[:-1] / np.expm1(d.spans @ fitted.beta)) @ d.spans, dtype=np.float64)


def breads_by_context(fitted: OrdinalFit) -> Floats:
    """(contexts, parameters, parameters): what each context adds to minus the Hessian."""
    d = fitted.design
    chance = expit(d.rows @ fitted.beta)
    curve = d.count * chance * (1 - chance)
    gap = d.spans @ fitted.beta
    outer = d.spans[:, :, None] * d.spans[:, None, :] / (4 * np.sinh(gap / 2) ** 2)[:, None, None]
    found = np.tensordot(d.span_count[:-1], outer, axes=1)
    edges = np.searchsorted(d.context, np.arange(d.contexts + 1))
    for c in range(d.contexts):
        block = d.rows[edges[c] : edges[c + 1]]
        found[c] += (block * curve[edges[c] : edges[c + 1], None]).T @ block
    return np.asarray(found, dtype=np.float64)
