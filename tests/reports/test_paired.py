"""Differences on the same conversations."""

import numpy as np

from harness.reports.paired import paired
from tests.present import present


def test_pairing_sees_a_difference_that_the_spread_between_conversations_hides() -> None:
    rng = np.random.default_rng(3)
    hard = rng.normal(1_000, 300, 30)
    slow = {f"c{c}": [hard[c] + rng.normal(0, 5)] for c in range(30)}
    fast = {f"c{c}": [hard[c] - 40 + rng.normal(0, 5)] for c in range(30)}
    found = paired(slow, fast)
    assert found is not None
    assert found.difference.low is not None
    assert 30 < found.difference.low < present(found.difference.value) < 50
    assert np.std([v[0] for v in slow.values()]) > 100


def test_only_conversations_that_both_have_count_and_few_have_no_interval() -> None:
    found = paired({"a": [1.0], "b": [5.0]}, {"b": [2.0], "c": [9.0]})
    assert found is not None
    assert (found.difference.value, found.difference.low, found.conversations) == (3.0, None, 1)
    assert paired({"a": [1.0]}, {"b": [2.0]}) is None
