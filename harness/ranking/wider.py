"""Intervals of people's figures: the wider of those over whole conversations and over whole persons.

An agent is one and the same in every conversation, so only conversations vary. People are not: a figure of four persons must
hold for others too. Which of the two varies more is not known beforehand, and with three conversations a person the two cannot
be parted well, so both are computed and the wider interval is quoted. Under three persons nothing shows how persons differ, and
under eight conversations nothing does either; then there is no interval. A median has none under six persons: all five are on
one side of it in one case of sixteen. For a difference of medians both are resampled, and percentiles of few drawn persons are
widened as those of few conversations are (`bootstrap`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from harness.statistics.arrays import Floats, Ints
from harness.statistics.bootstrap import DRAWS, draw_contexts, percentile_interval
from harness.statistics.clustered_means import clustered_share
from harness.statistics.interval import FEWEST_CLUSTERS, Interval
from harness.statistics.percentiles import weighted_quantile
from harness.timing.quantiles import Quantiles, quantiles_of

FEWEST_PERSONS: Final = 3
"""Two persons have one difference, and no spread of it."""
_NO_END: Final = 1e300
_FAR: Final = 1e301


class Timed(NamedTuple):
    """One turn in the seat, in ms; infinite where nothing was said."""

    context: str
    person: str
    value_ms: float


def wider(one: Interval | None, other: Interval | None) -> Interval | None:
    """The longer of two intervals; None where one is not known."""
    if one is None or other is None:
        return None
    return max(one, other, key=lambda ends: ends[1] - ends[0])


def quantiles_of_seat(turns: Sequence[Timed], seed: int) -> Quantiles:
    """Percentiles of the turns, with the wider intervals."""
    by_context, by_person = (
        quantiles_of(_grouped(turns, which), seed, fewest=fewest)
        for which, fewest in (("context", FEWEST_CLUSTERS), ("person", FEWEST_PERSONS))
    )
    ends: dict[str, Interval | float | None] = {
        "restricted_mean_interval": wider(by_context.restricted_mean_interval, by_person.restricted_mean_interval)
    }
    for which in ("p50", "p95"):
        one, other = _ends_of(by_context, which), _ends_of(by_person, which)
        ends[f"{which}_interval"] = found = wider(one, other) if one and other and max(one[1], other[1]) < np.inf else None
        ends[f"{which}_at_least"] = min(one[0], other[0]) if one and other and found is None else None
    return by_context.model_copy(update=ends)


def _ends_of(found: Quantiles, which: str) -> Interval | None:
    """The interval, whose upper end may be infinite."""
    least: float | None = getattr(found, f"{which}_at_least")
    ends: Interval | None = getattr(found, f"{which}_interval")
    return ends if least is None else (least, np.inf)


def later_than_seat(
    agent: Mapping[str, Sequence[float] | Floats], seat: Sequence[Timed], seed: int
) -> tuple[float | None, Interval | None]:
    """How much later an agent's median is than that of the seat, on the conversations that both answered; negative: sooner.

    `agent`: context → ms of each turn. A drawn person brings the conversations that they answered, on both sides.
    """
    turns = [turn for turn in seat if len(agent.get(turn.context, ()))]
    contexts = sorted({turn.context for turn in turns})
    if not contexts:
        return None, None
    mine = np.array([value for context in contexts for value in agent[context]], dtype=np.float64)
    of_mine = np.array([k for k, context in enumerate(contexts) for _ in agent[context]], dtype=np.int64)
    theirs = np.array([turn.value_ms for turn in turns], dtype=np.float64)
    of_theirs = np.array([contexts.index(turn.context) for turn in turns], dtype=np.int64)
    persons, of_person = np.unique([turn.person for turn in turns], return_inverse=True)

    def differ(drawn_mine: Floats, drawn_theirs: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            found: Floats = weighted_quantile(mine, drawn_mine, 0.5) - weighted_quantile(theirs, drawn_theirs, 0.5)
        return found

    value = float(differ(np.ones((1, mine.size)), np.ones((1, theirs.size)))[0])
    if not np.isfinite(value):
        return None, None
    if len(contexts) < FEWEST_CLUSTERS or persons.size < FEWEST_PERSONS:
        return value, None
    often = draw_contexts(len(contexts), DRAWS, np.random.default_rng(seed))
    by_context = _ends(differ(often[:, of_mine], often[:, of_theirs]), len(contexts))
    drawn = draw_contexts(persons.size, DRAWS, np.random.default_rng(seed))[:, of_person]
    by_person = _ends(differ((drawn @ _of_each(of_theirs, len(contexts)))[:, of_mine], drawn), persons.size)
    return value, wider(by_context, by_person)


def share_over_seat(won: Sequence[tuple[str, str, float]]) -> tuple[float | None, Interval | None]:
    """The share of comparisons that were won, of (context, person, 1, 0 or ½ for a tie); None without one.

    >>> share_over_seat([("c1", "ann", 1.0), ("c2", "ben", 0.5)])
    (0.75, None)
    """
    if not won:
        return None, None
    share, by_context = clustered_share([(context, value) for context, _, value in won])
    _, by_person = clustered_share([(person, value) for _, person, value in won], fewest=FEWEST_PERSONS)
    return share, wider(by_context, by_person)


def _grouped(turns: Sequence[Timed], which: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for turn in turns:
        found[getattr(turn, which)].append(turn.value_ms)
    return found


def _of_each(index: Ints, size: int) -> Floats:
    """(turns, size): 1 where a turn is of that conversation."""
    return np.asarray(index[:, None] == np.arange(size), dtype=np.float64)


def _ends(drawn: Floats, bunches: int) -> Interval | None:
    """The interval of the draws; None where an end is not known."""
    low, high = percentile_interval(np.nan_to_num(drawn, nan=_FAR, posinf=_FAR, neginf=-_FAR), bunches)
    return (float(low), float(high)) if abs(low) < _NO_END and abs(high) < _NO_END else None
