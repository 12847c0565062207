"""The design of the ordinal fit: one row for each finite cut around a verdict, and the votes that have it.

A row says which two systems met, in which order, before which judge, at which cut, and nothing of the context; so a million
verdicts have some thousands of distinct rows, each with few entries, and a context only adds how often it has each of them.
The model is in `harness.ranking.ordinal`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.ranking.bradley_terry import wins_by_context
from harness.ranking.connectivity import PRIOR_PRECISION, is_bounded
from harness.ranking.verdicts import SOURCES, Votes
from harness.statistics.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Penalty:
    """Penalty that keeps the fit finite where data are absent. `system`: precision on each log-odds; None: the data decide."""

    system: float | None = None
    nuisance: float = 0.25
    """Precision on position and length terms: Normal(0, 2), so that a judge with few rows, all "first", stays finite."""
    level: float = 0.1
    """Weight of one imagined verdict at each level between equals, so that a resample without some level has separate cuts."""


EXACT = Penalty(system=0.0, nuisance=0.0, level=0.0)
"""Plain maximum likelihood."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The votes as rows of a penalised likelihood. The last context is an imagined one that carries the level penalty."""

    systems: int
    contexts: int
    names: tuple[str, ...]
    """Names of the parameters: systems, then cuts, then position and length terms."""
    rows: csr_array
    """(distinct rows, parameters): derivative of cut − η."""
    columns: csr_array
    """The same, transposed."""
    squares: "Squares"
    seen: csr_array
    """(distinct rows, contexts + 1): number of verdicts with this cut beside them."""
    raised: csr_array
    """(distinct rows, contexts + 1): number of verdicts with it as their upper cut."""
    spans: Floats
    """(levels with two cuts, parameters): derivative of upper cut − lower cut."""
    span_count: Floats
    """(contexts + 1, levels with two cuts): number of verdicts at each level."""
    ridge: Floats
    start: Floats

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])

    def slope(self, pull: Floats) -> Floats:
        """(parameters, …): Σ of rows times `pull` (distinct rows, …)."""
        return np.asarray(self.columns @ pull, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """Products of two entries of each row: minus the Hessian is a weighted sum of these."""

    products: csr_array
    """(pairs of parameters, distinct rows); pairs as in `first`, `second`."""
    first: Ints
    second: Ints
    size: int

    @classmethod
    def of(cls, rows: csr_array) -> "Squares":
        """The products for sparse rows (rows, parameters)."""
        held, size = np.diff(rows.indptr), rows.shape[1]
        most = int(held.max())
        pairs: list[Ints] = []
        values: list[Floats] = []
        owner: list[Ints] = []
        for i in range(most):
            for j in range(i, most):
                here = np.flatnonzero(held > j)
                one, other = rows.indptr[here] + i, rows.indptr[here] + j
                low = np.minimum(rows.indices[one], rows.indices[other])
                pairs.append(low * size + np.maximum(rows.indices[one], rows.indices[other]))
                values.append(rows.data[one] * rows.data[other])
                owner.append(here.astype(np.int32))
        # There are few pairs and, with lengths, very many rows: to find those in use, marking them costs less than sorting all.
        marked = np.zeros(size * size, dtype=bool)
        for pair in pairs:
            marked[pair] = True
        used, place = np.flatnonzero(marked), np.cumsum(marked, dtype=np.int32) - 1
        placed = np.concatenate([place[pair] for pair in pairs])
        products = csr_array((np.concatenate(values), (placed, np.concatenate(owner))), shape=(used.size, rows.shape[0]))
        return cls(products, used // size, used % size, size)

    def sums(self, curve: Floats | csr_array) -> Floats:
        """(…, parameters, parameters): the products times `curve` (distinct rows, …), summed."""
        found = self.products @ curve
        half = found.toarray() if issparse(found) else np.asarray(found)
        whole = np.zeros((*half.shape[1:], self.size, self.size))
        whole[..., self.first, self.second] = half.T
        whole[..., self.second, self.first] = half.T
        return whole


def _position_columns(votes: Votes) -> tuple[Ints, list[str]]:
    """Column of each verdict's position term (−1: none), and the names: one per judge, one for all people."""
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
    """Cuts of one group of voters: the magnitudes seen, and True if ties were seen."""

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
    """The votes as a likelihood. Equal verdicts of one context are counted, not repeated."""
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
    del key
    met = _Meetings.of(low[at], high[at], column[at], shown[at], ratio[at] if with_length else None, size, column.max() + 2)
    edges = 2 * (cuts + 1)  # every cut on either side, and the cut at zero
    rows: list[Ints] = []
    uppers: list[Bools] = []
    counts: list[Floats] = []
    where: list[Ints] = []
    spans: list[Floats] = []
    span_counts: list[Floats] = []
    start = np.zeros(total)
    context = votes.context[at]

    def add(chosen: Bools, edge: tuple[int, int], upper: bool, mirrored: bool) -> None:
        # Mirrored: a loss at strength s lies between minus the cuts of a win at s.
        side = -edge[1] if mirrored else edge[1]
        code = 2 * (edge[0] + 1) + (side > 0 and edge[0] >= 0)
        rows.append(met.which[chosen] * edges + code)
        counts.append(count[chosen].astype(np.float64))
        where.append(context[chosen])
        if penalty.level:
            rows.append(np.array([met.nobody * edges + code]))
            counts.append(np.array([penalty.level]))
            where.append(np.array([places]))
        uppers.append(np.full(sum(r.size for r in rows) - sum(u.size for u in uppers), upper != mirrored))

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
    keys, which = np.unique(np.concatenate(rows), return_inverse=True)
    sparse = met.rows(keys // edges, keys % edges, size, first_position, total)
    place, raised, shape = np.concatenate(where), np.concatenate(uppers), (keys.size, places + 1)
    weight = np.concatenate(counts)
    return Design(
        systems=size,
        contexts=places,
        names=names,
        rows=sparse,
        columns=csr_array(sparse.T),
        squares=Squares.of(sparse),
        seen=csr_array((weight, (which, place)), shape=shape),
        raised=csr_array((weight[raised], (which[raised], place[raised])), shape=shape),
        spans=np.array(spans).reshape(-1, total),
        span_count=np.array(span_counts).reshape(-1, places + 1).T,
        ridge=ridge,
        start=start,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Meetings:
    """The distinct η of a board: the two systems, the order shown, the voter, and the lengths."""

    low: Ints
    high: Ints
    column: Ints
    shown: Ints
    ratio: Floats
    which: Ints
    """Index of each verdict's meeting."""

    @property
    def nobody(self) -> int:
        """Index of the imagined meeting of equals."""
        return int(self.low.size)

    @classmethod
    def of(cls, low: Ints, high: Ints, column: Ints, shown: Ints, ratio: Floats | None, size: int, columns: int) -> "_Meetings":
        key = np.ravel_multi_index((low, high, column + 1, shown + 1), (size, size, columns, 3))
        if ratio is not None:
            key = key * (ratio.size + 1) + np.unique(ratio, return_inverse=True)[1]
        _, at, which = np.unique(key, return_index=True, return_inverse=True)
        lengths = np.zeros(at.size) if ratio is None else ratio[at]
        return cls(low[at], high[at], column[at], shown[at], lengths, which)

    def rows(self, meeting: Ints, edge: Ints, size: int, first_position: int, total: int) -> csr_array:
        """(rows, parameters): derivative of cut − η, of each meeting at each edge."""
        each = np.arange(meeting.size)
        real = each[meeting < self.nobody]
        here = meeting[real]
        placed = self.column[here] >= 0
        cut = edge // 2 - 1
        at_cut = cut >= 0
        entries = [
            (real, self.low[here], np.full(real.size, -1.0)),
            (real, self.high[here], np.full(real.size, 1.0)),
            (real[placed], first_position + self.column[here[placed]], -self.shown[here[placed]].astype(np.float64)),
            (real, np.full(real.size, total - 1), -self.ratio[here]),
            (each[at_cut], size + cut[at_cut], np.where(edge[at_cut] % 2, 1.0, -1.0)),
        ]
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        kept = value != 0
        return csr_array((value[kept], (row[kept], column[kept])), shape=(meeting.size, total))
