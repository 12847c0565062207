"""Intervals over persons and conversations: how often they hold what is true of all people."""

from collections.abc import Callable

import numpy as np
import pytest

from harness.ranking.wider import FEWEST_PERSONS, Timed, later_than_seat, quantiles_of_seat, share_over_seat
from harness.statistics.interval import FEWEST_CLUSTERS
from tests.present import present

SHARED_MS = 700.0


def sitting(
    rng: np.random.Generator, persons: int = 12, contexts: int = 12, *, person_sd: float = 0.3, context_sd: float = 0.1
) -> tuple[list[Timed], dict[str, list[float]]]:
    """Three waits of each person around a median of 700 ms, and an agent that is 200 ms later on every conversation."""
    harder = rng.normal(0, context_sd, contexts)
    slower = rng.normal(0, person_sd, persons)
    turns = [
        Timed(f"c{c}", f"p{p}", SHARED_MS * float(np.exp(slower[p] + harder[c] + rng.normal(0, 0.2))))
        for p in range(persons)
        for c in [(p + 4 * k) % contexts for k in range(3)]
    ]
    agent = {f"c{c}": [900.0 * float(np.exp(rng.normal(0, 0.02)))] for c in range(contexts)}
    return turns, agent


@pytest.mark.long
def test_people_who_differ_make_the_interval_wide_enough_for_others() -> None:
    rng = np.random.default_rng(3)
    held = {True: 0, False: 0}
    for _ in range(120):
        turns, agent = sitting(rng)
        for as_one, known in ((False, turns), (True, [t._replace(person=t.context) for t in turns])):
            low, high = present(later_than_seat(agent, known, 1)[1])
            held[as_one] += low <= 900 - SHARED_MS <= high
    assert held[False] / 120 > 0.9
    assert held[False] > held[True]  # conversations alone promise too much


@pytest.mark.parametrize(
    ("persons", "contexts", "given"),
    [
        (FEWEST_PERSONS, 12, True),
        (FEWEST_PERSONS - 1, 12, False),
        (12, FEWEST_CLUSTERS, True),
        (12, FEWEST_CLUSTERS - 1, False),
    ],
)
def test_too_few_persons_or_conversations_give_no_interval(persons: int, contexts: int, given: bool) -> None:
    rng = np.random.default_rng(4)
    turns = [Timed(f"c{c}", f"p{c % persons}", float(rng.uniform(300, 900))) for c in range(contexts)]
    agent = {f"c{c}": [800.0] for c in range(contexts)}
    won = [(t.context, t.person, float(k % 3 == 0)) for k, t in enumerate(turns)]
    of: tuple[Callable[[], object], ...] = (
        lambda: later_than_seat(agent, turns, 1)[1],
        lambda: share_over_seat(won)[1],
    )
    for interval in of:
        assert (interval() is not None) == given
    # Three persons may all be on one side of the median, so it has no interval.
    assert (quantiles_of_seat(turns, 1).p50_interval is not None) == (given and persons >= 6)


def test_the_difference_is_on_common_conversations_alone() -> None:
    rng = np.random.default_rng(5)
    turns, agent = sitting(rng)
    alone = later_than_seat(agent, turns, 1)
    assert later_than_seat({**agent, "elsewhere": [9_000.0] * 50}, turns, 1) == alone
    assert later_than_seat(agent, [*turns, Timed("nowhere", "p1", 1.0)], 1) == alone
    assert later_than_seat({}, turns, 1) == (None, None)


def test_silence_is_slowest_and_gives_no_figure_that_is_not_known() -> None:
    turns, agent = sitting(np.random.default_rng(6))
    silent = [t._replace(value_ms=float("inf")) if k % 3 else t for k, t in enumerate(turns)]
    assert quantiles_of_seat(silent, 1).p50_over_limit
    assert later_than_seat(agent, silent, 1) == (None, None)
    some = [t._replace(value_ms=float("inf")) if k % 5 == 0 else t for k, t in enumerate(turns)]
    found = quantiles_of_seat(some, 1)
    assert found.p50 is not None
    assert found.p50_interval is not None or found.p50_at_least is not None


def test_the_wider_of_both_is_quoted() -> None:
    same = [Timed(f"c{c}", f"p{c % 6}", 400.0 + 100 * (c % 6)) for c in range(12)]  # all the difference is persons'
    assert present(quantiles_of_seat(same, 1).p50_interval) == (400.0, 900.0)
    share, ends = share_over_seat([(t.context, t.person, float(t.person == "p0")) for t in same])
    assert share == pytest.approx(1 / 6)
    assert present(ends)[1] > 0.6
