"""Audits of a verdict's dependence on place, length, formatting and family, which should not matter.

A share of wins cannot separate a bias from quality: longer replies may be better. So each audit asks how much the odds of
winning move *between systems of the rating's own difference*: the other systems' ratings and the position are in the same
model. Each audit has an interval clustered by context, and the audits of one board are one family of tests.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.ranking import bradley_terry, connectivity
from harness.ranking.elo_intervals import clustered
from harness.ranking.ordinal_design import Penalty
from harness.ranking.verdicts import Texts, Votes, gather
from harness.statistics.arrays import Floats
from harness.statistics.correlation import benjamini_hochberg
from harness.statistics.interval import FEWEST_CLUSTERS, Interval
from harness.store.judgment import Judgment

FORMATTING = re.compile(r"(^|\n)\s*([-*•]|\d+[.)])\s|\*\*|__|`|^#{1,6}\s|\n\s*\n", re.MULTILINE)
"""List items, bold, code, headings, blank lines: nothing that is ever spoken."""


@dataclass(frozen=True, slots=True)
class Audit:
    """`effect`: change in log-odds of winning for the favoured side (for length: for twice the words).

    `share`: how often the favoured side won, uncorrected; None where no row shows it. `p_adjusted`: Benjamini–Hochberg over the
    audits of one call. `rows`: verdicts in which the two sides differ in this respect.
    """

    name: str
    effect: float
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None
    share: float | None
    rows: int


def audits(
    judgments: Sequence[Judgment],
    *,
    texts: Texts | None = None,
    judge_family: Mapping[str, str] | None = None,
    system_family: Mapping[str, str] | None = None,
) -> tuple[Audit, ...]:
    """Position for each judge, and for people together; length and formatting where `texts` (the replies as judged) are
    known; self-preference where families are known. Empty for no judgments.

    >>> from harness.store.judgment import Judgment
    >>> said = {"context": "c", "subset": "regular", "system_a": "warm", "system_b": "curt", "source": "judge", "judge": "j"}
    >>> votes = [said | {"context": f"c{n // 2}", "winner": "a", "shown_first": "ab"[n % 2]} for n in range(24)]
    >>> [(audit.name, audit.rows) for audit in audits([Judgment.model_validate(vote) for vote in votes])]
    [('position: j', 24)]
    """
    if not judgments:
        return ()
    votes = gather(judgments)
    found: list[tuple[str, Floats]] = []
    people = votes.source == 1
    for k in np.unique(votes.judge[~people]):
        here = np.where((votes.judge == k) & ~people, votes.shown, 0).astype(np.float64)
        found.append((f"position: {votes.judges[k]}", here))
    found.append(("position: people", np.where(people, votes.shown, 0).astype(np.float64)))
    if texts:
        length = _difference(judgments, lambda row, s: np.log2(1 + len(texts.get((row.context, s, row.replicate), "").split())))
        known = np.array([all((r.context, s, r.replicate) in texts for s in (r.system_a, r.system_b)) for r in judgments])
        found.append(("length: twice the words", np.where(known, length, 0.0)))
        marked = _difference(
            judgments, lambda row, s: float(bool(FORMATTING.search(texts.get((row.context, s, row.replicate), ""))))
        )
        found.append(("formatting", np.where(known, marked, 0.0)))
    if judge_family and system_family:
        own = _difference(
            judgments,
            lambda row, s: float(row.judge in judge_family and system_family.get(s) == judge_family[row.judge]),
        )
        found.append(("self-preference", own))
    told = [(name, x) for name, x in found if np.unique(x).size > 1]
    if not told:
        return ()
    fitted = _fit_with(votes, np.stack([x for _, x in told], axis=1))
    adjusted = benjamini_hochberg({name: p for (name, _), (_, _, p) in zip(told, fitted, strict=True) if p is not None})
    level = np.sign(votes.level)
    made = []
    for (name, x), (effect, interval, p_value) in zip(told, fitted, strict=True):
        apart = x != 0
        won = (1 + level[apart] * np.sign(x[apart])) / 2
        made.append(Audit(name, effect, interval, p_value, adjusted.get(name), float(won.mean()), int(apart.sum())))
    return tuple(made)


def _difference(judgments: Sequence[Judgment], of: Callable[[Judgment, str], float]) -> Floats:
    return np.array([of(row, row.system_a) - of(row, row.system_b) for row in judgments], dtype=np.float64)


def _fit_with(votes: Votes, x: Floats) -> list[tuple[float, Interval | None, float | None]]:
    """Coefficient, interval and p-value of each column of `x` in a Bradley–Terry fit of all (a tie is half a win each way)."""
    size, extra = len(votes.systems), x.shape[1]
    n = len(votes)
    rows = np.zeros((n, size + extra))
    rows[np.arange(n), votes.first] = 1.0
    rows[np.arange(n), votes.second] = -1.0
    rows[:, size:] = x
    y = (1 + np.sign(votes.level)) / 2
    bounded = connectivity.is_bounded(bradley_terry.wins_by_context(votes, weighted=False).sum(axis=0))
    ridge = np.concatenate(
        [np.full(size, 0.0 if bounded else connectivity.PRIOR_PRECISION), np.full(extra, Penalty().nuisance)]
    )
    beta = np.zeros(size + extra)
    for _ in range(bradley_terry.STEPS):
        p = 1 / (1 + np.exp(-rows @ beta))
        bread = (rows * (p * (1 - p))[:, None]).T @ rows + np.diag(ridge)
        pinned = bread.copy()
        pinned[:size, :size] += 1 / size
        step = np.linalg.solve(pinned, rows.T @ (y - p) - ridge * beta)
        beta += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    p = 1 / (1 + np.exp(-rows @ beta))
    scores = np.zeros((len(votes.contexts), size + extra))
    np.add.at(scores, votes.context, rows * (y - p)[:, None])
    breads = np.zeros((len(votes.contexts), size + extra, size + extra))
    for c in range(len(votes.contexts)):
        here = votes.context == c
        breads[c] = (rows[here] * (p[here] * (1 - p[here]))[:, None]).T @ rows[here]
    covariance = clustered(bread, scores, breads, size)
    found: list[tuple[float, Interval | None, float | None]] = []
    for k in range(size, size + extra):
        value, error = float(beta[k]), float(np.sqrt(covariance.matrix[k, k]))
        if len(votes.contexts) < FEWEST_CLUSTERS or error == 0:
            found.append((value, None, None))
            continue
        half = error * covariance.quantile()
        found.append((value, (value - half, value + half), float(2 * stats.t.sf(abs(value) / error, covariance.freedom))))
    return found
