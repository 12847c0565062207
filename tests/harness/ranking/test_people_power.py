"""The power of a pack of a few speakers: speakers count more than turns, and an interval over turns promises too much."""

import numpy as np
import pytest

from benchmarks.people_power import power_of_cuts, power_of_medians, shared_variance


@pytest.mark.long
def test_twice_the_speakers_tell_more_than_twice_the_turns() -> None:
    more_turns, more_speakers = power_of_cuts(10, 24, 0.18, packs=60), power_of_cuts(20, 12, 0.18, packs=60)
    assert more_speakers.half_width["speakers"] < more_turns.half_width["speakers"]
    assert power_of_cuts(10, 24, 0.18, packs=60) == more_turns


@pytest.mark.long
def test_an_interval_over_turns_covers_less_than_it_says_where_speakers_differ() -> None:
    found = power_of_cuts(10, 24, 0.31, packs=60)
    assert found.half_width["turns"] < found.half_width["speakers"]
    assert found.coverage["turns"] < 0.85 < 0.93 < found.coverage["speakers"]


@pytest.mark.long
def test_a_median_over_speakers_covers_what_it_says() -> None:
    found = power_of_medians(10, 12, 0.12, packs=60)
    assert found.coverage["speakers"] > 0.88
    assert found.half_width["turns"] < found.half_width["speakers"]


def test_shared_variance_is_that_of_the_draw() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.normal(rng.normal(0, 0.5), 1.0, size) for size in rng.integers(5, 30, 400)]
    assert shared_variance(groups) == pytest.approx(0.2, abs=0.03)
