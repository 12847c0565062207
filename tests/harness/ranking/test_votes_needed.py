import math

import pytest

from benchmarks.ranking_people_coverage import JUDGES, TASTE_SD, World, boards, summary
from harness.ranking.votes_needed import half_width_elo, minutes, votes_needed


@pytest.mark.parametrize(
    ("contexts", "votes"), [(80, 120), *(pytest.param(*given, marks=pytest.mark.long) for given in ((8, 40), (80, 300)))]
)
def test_the_width_is_that_of_simulated_boards(contexts: int, votes: int) -> None:
    """Of one person; within a tenth of the median."""
    world = World(contexts=contexts, raters=1, taste_sd=TASTE_SD)
    found = summary(list(boards(world, JUDGES["useless"], votes, 120, [21])), votes, world)
    assert half_width_elo(5, contexts, votes) == pytest.approx(found["alone_half_elo"], rel=0.1)


def test_the_votes_are_the_fewest_that_reach_the_width() -> None:
    for systems, contexts, wished_elo in ((5, 80, 100.0), (3, 40, 100.0), (2, 40, 80.0), (8, 30, 150.0)):
        votes = votes_needed(systems, contexts, wished_elo)
        assert votes is not None
        assert half_width_elo(systems, contexts, votes) <= wished_elo < half_width_elo(systems, contexts, votes - 1)


def test_no_number_of_votes_is_enough_on_too_few_conversations() -> None:
    assert votes_needed(5, 8, 100.0) is None
    assert votes_needed(5, 7, 1000.0) is None
    assert votes_needed(1, 80) is None
    assert half_width_elo(5, 7, 70) == math.inf


def test_drawn_votes_meet_every_conversation_before_they_meet_one_again() -> None:
    assert half_width_elo(2, 8, 7) == math.inf
    assert half_width_elo(2, 8, 8) < 500
    assert half_width_elo(3, 8, 9) < math.inf


def test_minutes_are_of_reading_hearing_and_deciding() -> None:
    assert minutes(0) == 1
    assert minutes(60, words=238) == 64
    assert minutes(30, sound_s=16.0) == 10
