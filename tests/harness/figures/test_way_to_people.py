"""The way from a run to people's ratings promises no more votes than the run has pairs of replies."""

import re
from pathlib import Path

from harness.figures.quality_state import way_to_people

RUN = Path("run")


def promised(replies: list[int]) -> tuple[int, int]:
    """Votes, and half width in Elo."""
    found = re.search(r": (\d+) votes, about \d+ minutes?, for ± (\d+) Elo", way_to_people(RUN, 3, len(replies), replies, 60.0))
    assert found is not None
    return int(found[1]), int(found[2])


def test_a_whole_run_promises_the_votes_that_a_rating_takes() -> None:
    votes, wide = promised([3] * 40)
    assert (wide, votes < 120) == (100, True)


def test_missing_replies_take_pairs_and_so_width() -> None:
    whole, half = promised([3] * 12), promised([3] * 6 + [2] * 3 + [1] * 3)
    assert half[0] == 6 * 3 + 3
    assert half[1] > whole[1]


def test_too_few_conversations_with_two_replies_are_said() -> None:
    said = way_to_people(RUN, 3, 12, [3] * 5 + [1] * 7, 60.0)
    assert said == "People's ratings need 8 conversations with two replies, and this run has 5 such conversations."
    assert way_to_people(RUN, 3, 4, [3] * 4, 60.0).endswith("this run has 4 conversations.")
