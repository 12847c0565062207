"""The change of a figure since an earlier run of the same conversations, the one "since" of all readers.

Two versions of an agent that hear the same callers differ by far less than two callers do. So each turn is compared with the
same turn of the earlier run, and conversations stay the only independent observations (`harness.statistics.paired`). A
p95 has no pairs, and neither has a figure of fewer than eight conversations in both runs: then the two estimates are each
bounded at half the error, which is valid however alike the runs are.

Both runs have a low and a high end. The change is least where this run is at its low end and the earlier one at its high end,
and greatest the other way round. Positive is worse, for every figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from harness.statistics.arrays import Floats, Ints
from harness.statistics.bounds import Bounds, Evidence, Percentile, Worsening
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.statistics.paired import MeanChange
from harness.turns.catalogue import BY_PATH
from harness.turns.estimate import By, estimate, named
from harness.turns.table import COLUMN_OF, Cluster, Given, TurnTable

Verdict = Literal["worse", "better", "unclear"]
TAIL: Final = 0.025


@dataclass(frozen=True, slots=True)
class Change:
    """A change at its two ends and as measured. `paired`: turn by turn; otherwise the difference of two estimates."""

    figure: str
    low: Evidence
    high: Evidence
    measured: Evidence
    paired: bool

    @property
    def value(self) -> float:
        """The change as measured: positive is worse."""
        return self.measured.value

    @property
    def contexts(self) -> int:
        """Number of clusters behind it."""
        return self.measured.contexts

    def bounds(self, tail: float) -> Bounds:
        """Low and high, each missed with a chance of at most `tail`, whatever part others had in either run."""
        return self.low.bounds(tail)[0], self.high.bounds(tail)[1]

    @property
    def verdict(self) -> Verdict:
        """*worse* or *better* where the 95 % interval is on one side of nothing."""
        low, high = self.bounds(TAIL)
        return "worse" if low > 0 else "better" if high < 0 else "unclear"


def change(
    now: TurnTable,
    before: TurnTable,
    figure: str,
    by: By | None = None,
    cluster: Cluster = "conversation",
    *,
    by_before: By | None = None,
) -> Change | None:
    """The change of a figure between two groups of turns; None if one of them does not give it.

    Args:
        by: keys of the rows in both; `by_before`: those of the earlier run where they differ (an agent's earlier name).
        cluster: the key whose groups are independent.

    Raises:
        KeyError: no turn has such a figure.
    """
    now = now if by is None else now.where(by)
    was = by_before if by_before is not None else by
    before = before if was is None else before.where(was)
    key, share = named(figure)
    if share in (None, 0.5):
        found = _paired(now, before, figure, key, cluster, is_time=share is not None)
        if found is not None:
            return found
    one, two = estimate(now, figure, cluster=cluster), estimate(before, figure, cluster=cluster)
    if one is None or two is None:
        return None
    loss = Worsening(one, two, not BY_PATH[figure].higher_is_better)
    return Change(figure, loss, loss, loss, paired=False)


def _paired(now: TurnTable, before: TurnTable, figure: str, key: str, cluster: Cluster, *, is_time: bool) -> Change | None:
    one, two = _by_turn(now, now.given(key)), _by_turn(before, before.given(key))
    alike = _alike(now, before)
    names = now.keys[COLUMN_OF[cluster]]
    sign = -1.0 if BY_PATH[figure].higher_is_better else 1.0
    groups: dict[int, list[Floats]] = {}
    for turn, (row, ends) in one.items():
        if turn not in two or turn[0] not in alike:
            continue
        then = two[turn][1]
        size = min(ends.shape[1], then.shape[1])
        low, high, measured = _difference(ends[:, :size], then[:, :size])
        if sign < 0:
            low, high = high, low
        groups.setdefault(int(names.codes[row]), []).append(sign * np.stack([low, high, measured]))
    if len(groups) < FEWEST_CLUSTERS:
        return None
    each = [np.concatenate(parts, axis=1) for parts in groups.values()]
    least, greatest, seen = (_of(is_time, [part[end] for part in each]) for end in range(3))
    return Change(figure, least, greatest, seen, paired=True)


def _of(is_time: bool, groups: Sequence[Floats]) -> Evidence:
    if is_time:
        return Percentile(tuple(groups), 0.5)
    return MeanChange(np.array([group.sum() for group in groups]), np.array([float(group.size) for group in groups]))


def _difference(now: Floats, before: Floats) -> tuple[Floats, Floats, Floats]:
    """The least, the greatest and the measured difference of values (3, values) at their low and high ends and as measured."""

    def less(new: Floats, old: Floats) -> Floats:
        # Two turns without reply are both infinite, and nothing has changed.
        with np.errstate(invalid="ignore"):
            return np.where(new == old, 0.0, new - old)

    return less(now[0], before[1]), less(now[1], before[0]), less(now[2], before[2])


def _by_turn(table: TurnTable, given: Given) -> Mapping[tuple[str, int], tuple[int, Floats]]:
    """(context, number of the turn among its turns) → its row and its values (3, values): low, high, measured."""
    context, place = table.keys["context"], _places(table)
    values = np.stack([given.low, given.high, given.measured])
    rows, first = np.unique(given.row, return_index=True)
    parts = np.split(values, first[1:], axis=1) if rows.size else []
    return {
        (context.names[context.codes[row]], int(place[row])): (int(row), part) for row, part in zip(rows, parts, strict=True)
    }


def _places(table: TurnTable) -> Ints:
    """(rows,): the number of each row among those of its context."""
    codes = table.keys["context"].codes
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=1)
    place = np.empty(len(table), np.int64)
    place[order] = np.arange(len(table)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place


def _alike(now: TurnTable, before: TurnTable) -> frozenset[str]:
    """Contexts with as many turns in both. A lost session leaves its conversation without its later turns: which of the others
    belong together is then not known."""
    sizes = []
    for table in (now, before):
        key = table.keys["context"]
        kinds, counts = np.unique(key.codes, return_counts=True)
        sizes.append({key.names[kind]: int(count) for kind, count in zip(kinds, counts, strict=True)})
    return frozenset(name for name, count in sizes[0].items() if sizes[1].get(name) == count)
