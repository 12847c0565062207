"""Whether a judge reads or counts: its accuracy beside "the longer reply wins", the difference, and pairs of equal length.

The difference is taken pair by pair and its interval resamples conversations (or people, where each talked with all), as all
replies to one conversation share their mistakes. A judge that only counts words has a difference of nought, and even odds
where both replies have as many.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.judging_reader.material import Group
from harness.statistics.clustered_means import clustered_mean, clustered_share

CLEAR = 1 / 3
EQUAL = 0.2
"""Replies whose lengths in words differ by less than this share of the longer are of equal length."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replies as places in a group, the better first."""

    cluster: str
    better: int
    worse: int
    gap: float
    log_words: float
    """The logarithm of the better one's words over the worse one's."""
    equal: bool


def pairs(group: Group, least: float) -> Iterator[Pair]:
    """All pairs of one group's own replies with a gap of `least` or more."""
    for a, b in combinations(range(len(group.replies)), 2):
        gap = group.replies[a].worth - group.replies[b].worth
        if abs(gap) < least - 1e-9:
            continue
        better, worse = (a, b) if gap > 0 else (b, a)
        words = [group.replies[n].words for n in (better, worse)]
        equal = abs(words[0] - words[1]) <= EQUAL * max(words)
        yield Pair(group.cluster, better, worse, abs(gap), float(np.log(words[0] / words[1])), equal)


def figures(groups: Sequence[Group], scores: Sequence[Sequence[float]], least: float = CLEAR) -> Mapping[str, object]:
    """Every figure of one origin, from each group's scores."""
    right, longer, equal, cluster = [], [], [], []
    odds = []
    for group, score in zip(groups, scores, strict=True):
        # Where all replies are to one prompt, or each to its own, resampling the one group would resample nothing.
        alone = len(group.replies) > 20
        for pair in pairs(group, least):
            difference = score[pair.better] - score[pair.worse]
            right.append(0.5 + 0.5 * float(np.sign(difference)))
            longer.append(0.5 + 0.5 * float(np.sign(round(pair.log_words, 9))))
            equal.append(pair.equal)
            odds.append(difference)
            cluster.append(f"{group.cluster}-{pair.better}" if alone else pair.cluster)
    if not right:
        return {"pairs": 0}
    r, w, e = np.array(right), np.array(longer), np.array(equal)
    found: dict[str, object] = {"pairs": len(r), "clusters": len(set(cluster))}
    found["right"], found["right_interval"] = share(cluster, r)
    found["longer"] = float(w.mean())
    found["difference"], found["difference_interval"] = clustered_mean(zip(cluster, (r - w).tolist(), strict=True))
    found["equal_pairs"] = int(e.sum())
    if e.any():
        found["equal"], found["equal_interval"] = share([c for c, one in zip(cluster, e, strict=True) if one], r[e])
    return found


def share(cluster: Sequence[str], values: np.ndarray) -> tuple[float, tuple[float, float] | None]:
    """A mean and its interval, clusters resampled; none under eight clusters."""
    return clustered_share(zip(cluster, values.tolist(), strict=True))


def short(found: Mapping[str, object]) -> str:
    """The figures on one line."""

    def percent(key: str) -> str:
        value, interval = found.get(key), found.get(f"{key}_interval")
        if not isinstance(value, float):
            return "–"
        bounds = f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]" if isinstance(interval, tuple) else ""
        return f"{100 * value:.1f}{bounds}"

    return (
        f"{found['pairs']} pairs: right {percent('right')}, longer {percent('longer')}, difference {percent('difference')}, "
        f"equal length {percent('equal')} of {found.get('equal_pairs')}"
    )
