"""How many more conversations a gate names: as many as the law of the figure asks for, and none where none would do."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from harness.gate.decide import MOST_MORE, POWER, more_needed
from harness.statistics.bounds import Bounds, Share


@dataclass(frozen=True)
class Narrowing:
    """A figure whose interval reaches `below` and `above` its value."""

    value: float
    below: float
    above: float
    contexts: int = 40

    def bounds(self, tail: float) -> Bounds:
        assert 0 < tail < 0.5
        return self.value - self.below, self.value + self.above


def wanted(end: float, gap: float, tail: float, contexts: int) -> float:
    """Conversations after which an end, narrowing as their root, leaves the limit with the chance promised."""
    deviations = stats.norm.isf(tail)
    return float(contexts * (end * (deviations + stats.norm.ppf(POWER)) / deviations / gap) ** 2)


@pytest.mark.parametrize(("limit", "end"), [(106.0, 12.0), (94.0, 8.0)])
def test_the_end_that_has_to_pass_the_limit_is_the_one_on_its_side(limit: float, end: float) -> None:
    found = more_needed(Narrowing(100.0, below=8.0, above=12.0), limit, 0.01)
    assert found is not None
    assert found == pytest.approx(wanted(end, 6.0, 0.01, 40) - 40, abs=1)


@pytest.mark.parametrize(("below", "above", "limit"), [(np.inf, 5.0, 90.0), (5.0, np.inf, 110.0), (5.0, 5.0, 100.0)])
def test_without_an_end_or_a_gap_no_number_is_named(below: float, above: float, limit: float) -> None:
    assert more_needed(Narrowing(100.0, below, above), limit, 0.01) is None


def test_further_conversations_count_from_those_there_are() -> None:
    # As many conversations again as may be named at most lie behind the figure already.
    near = Narrowing(100.0, 5.0, 5.0, contexts=MOST_MORE)
    found = more_needed(near, 100.0 + 5.0 * 1.2, 0.01)
    assert found == pytest.approx(wanted(5.0, 6.0, 0.01, MOST_MORE) - MOST_MORE, abs=1)
    assert found is not None
    assert 0 < found <= MOST_MORE
    assert more_needed(near, 100.0 + 5.0 * 0.9, 0.01) is None, "more than that many again"


def test_at_least_one_more_is_named_and_eight_conversations_in_all() -> None:
    assert more_needed(Narrowing(100.0, 1.0, 1.0), 110.0, 0.01) == 1
    assert more_needed(Narrowing(100.0, 1.0, 1.0, contexts=3), 110.0, 0.01) == 5
    assert more_needed(Narrowing(100.0, 1.0, 1.0, contexts=0), 110.0, 0.01) is None


@pytest.mark.parametrize(("share", "limit"), [(0.05, 0.10), (0.10, 0.15), (0.30, 0.40), (0.90, 0.85)])
def test_a_share_of_independent_turns_asks_for_about_as_many_as_the_binomial_law(share: float, limit: float) -> None:
    """n = ((z·√(limit's variance) + z·√(share's variance)) / gap)² (Fleiss, Statistical Methods for Rates and Proportions)."""
    tail, have = 0.01, 200
    hits = np.zeros(have)
    hits[: round(have * share)] = 1.0
    found = more_needed(Share(hits, np.ones(have)), limit, tail)
    spread = [np.sqrt(p * (1 - p)) for p in (limit, share)]
    law = float(((stats.norm.isf(tail) * spread[0] + stats.norm.ppf(POWER) * spread[1]) / (limit - share)) ** 2)
    assert found is not None
    assert have + found == pytest.approx(law, rel=0.15)
