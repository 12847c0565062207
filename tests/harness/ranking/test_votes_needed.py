import math

import pytest
from scipy import stats

from benchmarks.ranking_people_coverage import JUDGES, TASTE_SD, World, boards, summary
from harness.ranking.head_to_head import head_to_head
from harness.ranking.votes_needed import MOST_VOTES, half_width_elo, minutes, votes_needed, votes_to_tell_apart
from harness.store.judgment import Judgment
from harness.store.judgment_table import table_of


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


def apart_after(votes: int, hits: int) -> bool:
    row = {"subset": "regular", "system_a": "x", "system_b": "y", "source": "human", "judge": "r", "draw_rate": 1.0}
    rows = [Judgment.model_validate(row | {"context": f"c{k}", "winner": "ab"[k >= hits]}) for k in range(votes)]
    return head_to_head(table_of(rows))[0].is_apart


@pytest.mark.parametrize("share", [0.8, 0.95, 1.0])
def test_the_votes_that_tell_two_agents_apart_are_those_of_the_head_to_head(share: float) -> None:
    votes = votes_to_tell_apart(share, references=False)
    assert votes is not None

    def power(n: int) -> float:
        return float(sum(stats.binom.pmf(k, n, share) for k in range(n // 2 + 1, n + 1) if apart_after(n, k)))

    assert power(votes - 1) < 0.8 <= min(power(votes), power(votes + 1))


def test_more_agents_and_references_take_more_votes_and_equal_agents_have_none() -> None:
    assert votes_to_tell_apart(1.0) == 7
    # 7 votes each on three pairs.
    assert votes_to_tell_apart(1.0, agents=3, references=False) == 21
    assert votes_to_tell_apart(0.51) is None
    assert (votes_to_tell_apart(0.55) or math.inf) < MOST_VOTES
