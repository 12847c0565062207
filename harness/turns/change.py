"""The change of a figure since an earlier run of the same conversations, the one "since" of all readers. Positive is worse.

Two versions of an agent that hear the same callers differ by far less than two callers do. So each turn is compared with the
same turn of the earlier run, and conversations stay the only independent observations (`harness.statistics.paired`). A p95 has
no pairs, nor has a figure of fewer than eight shared conversations: then the two estimates are each bounded at half the error.
A load test has none either: its percentiles are drawn anew, of each test on its own. The change is least where this run is at
its low end and the earlier one at its high end, and greatest the other way round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.statistics.arrays import Floats, Ints
from harness.statistics.bounds import Bounds, Evidence, Percentile, Worsening
from harness.statistics.drawn_quantiles import Drawn
from harness.statistics.interval import FEWEST_CLUSTERS, TAIL
from harness.statistics.paired import MeanChange
from harness.turns.catalogue import BY_PATH
from harness.turns.estimate import BothEnds, By, estimate, named
from harness.turns.table import COLUMN_OF, Cluster, Given, TurnTable

Verdict = Literal["worse", "better", "unclear"]


@dataclass(frozen=True, slots=True)
class Change(BothEnds):
    """A change between two runs. `paired`: turn by turn; otherwise the difference of two estimates."""

    paired: bool

    @property
    def verdict(self) -> Verdict:
        """*worse* or *better* where the 95 % interval is on one side of nothing."""
        return verdict_of(self.bounds(TAIL))


def verdict_of(bounds: Bounds) -> Verdict:
    """The verdict on a change by its bounds at `TAIL`, for who has them already: they are most of the work."""
    return "worse" if bounds[0] > 0 else "better" if bounds[1] < 0 else "unclear"


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

    Raises KeyError: no turn has such a figure.
    """
    now = now if by is None else now.where(by)
    was = by_before if by_before is not None else by
    before = before if was is None else before.where(was)
    key, share = named(figure)
    if share in (None, 0.5) and cluster != "stretch":
        found = _paired(now, before, figure, key, cluster, is_time=share is not None)
        if found is not None:
            return found
    one, two = estimate(now, figure, cluster=cluster), estimate(before, figure, cluster=cluster)
    if one is None or two is None:
        return None
    if isinstance(one.measured, Drawn) and isinstance(two.measured, Drawn):
        least, greatest = _less_drawn(one.low, two.high), _less_drawn(one.high, two.low)
        return Change(figure, least, greatest, one.measured.less(two.measured), paired=False)
    loss = Worsening(one, two, not BY_PATH[figure].higher_is_better)
    return Change(figure, loss, loss, loss, paired=False)


def _less_drawn(one: Evidence, two: Evidence) -> Evidence:
    assert isinstance(one, Drawn)
    assert isinstance(two, Drawn)
    return one.less(two)


def _paired(now: TurnTable, before: TurnTable, figure: str, key: str, cluster: Cluster, *, is_time: bool) -> Change | None:
    given, then = now.given(key), before.given(key)
    mine, theirs = _identities(now, given, before, then)
    _, here, there = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    here, there = (found[at >= 0] for found, at in ((here, mine[here]), (there, theirs[there])))
    which = now.keys[COLUMN_OF[cluster]].codes[given.row[here]]
    order = np.argsort(which, kind="stable")
    first = np.unique(which[order], return_index=True)[1]
    if first.size < FEWEST_CLUSTERS:
        return None
    here, there = here[order], there[order]
    least, greatest = _less(given.low[here], then.high[there]), _less(given.high[here], then.low[there])
    measured = _less(given.measured[here], then.measured[there])
    if BY_PATH[figure].higher_is_better:
        least, greatest, measured = -greatest, -least, -measured
    seen = _of(is_time, np.split(measured, first[1:]))
    if np.array_equal(least, greatest):  # Nothing is owed to others, and bounds are most of the work.
        return Change(figure, seen, seen, seen, paired=True)
    low, high = (_of(is_time, np.split(end, first[1:])) for end in (least, greatest))
    return Change(figure, low, high, seen, paired=True)


def _of(is_time: bool, groups: Sequence[Floats]) -> Evidence:
    if is_time:
        return Percentile(tuple(groups), 0.5)
    return MeanChange(np.array([group.sum() for group in groups]), np.array([float(group.size) for group in groups]))


def _less(new: Floats, old: Floats) -> Floats:
    # Two turns without reply are both infinite, and nothing has changed.
    with np.errstate(invalid="ignore"):
        return np.where(new == old, 0.0, new - old)


def _identities(now: TurnTable, given: Given, before: TurnTable, then: Given) -> tuple[Ints, Ints]:
    """For each value of the two groups a number that is equal where they are the same chance of the same turn of the same
    conversation and repeat; a negative one, never equal to another, where there is none such.

    A lost session leaves its conversation without its later turns: which of the others belong together is then not known, so
    only conversations with as many turns in both are compared. After a pause that is cut there are some in which the agent
    could not choose, so chances are compared by their number and not by their order.
    """
    (of_now, sizes), (of_before, sizes_before) = _conversations(now), _conversations(before)
    alike = {name: k for k, name in enumerate(name for name, size in sizes.items() if sizes_before.get(name) == size)}
    most = 1 + max([*sizes.values(), *sizes_before.values()], default=0)
    chances = 1 + max(int(each.chance.max(initial=0)) for each in (given, then))
    found = []
    for (code, place), names, each in ((of_now, sizes, given), (of_before, sizes_before, then)):
        number = np.array([alike.get(name, -1) for name in names], np.int64)[code[each.row]]
        identity = (number * most + place[each.row]) * chances + each.chance
        found.append(np.where(number < 0, -1 - np.arange(identity.size), identity))
    return found[0], found[1]


def _conversations(table: TurnTable) -> tuple[tuple[Ints, Ints], Mapping[tuple[str, str], int]]:
    """(conversation and repeat of each row, number of the row among those of it), and the number of rows of each."""
    context, repeat = table.keys["context"], table.keys["repeat"]
    both = context.codes.astype(np.int64) * max(len(repeat.names), 1) + repeat.codes
    kinds, code, counts = np.unique(both, return_inverse=True, return_counts=True)
    place = np.empty(len(table), np.int64)
    place[np.argsort(code, kind="stable")] = np.arange(len(table)) - np.repeat(np.cumsum(counts) - counts, counts)
    names = [(context.names[kind // len(repeat.names)], repeat.names[kind % len(repeat.names)]) for kind in kinds]
    return (code.ravel(), place), dict(zip(names, counts.tolist(), strict=True))
