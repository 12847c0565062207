"""The way from a run to people's ratings promises no more votes than the run has pairs of replies."""

import re
from pathlib import Path

import pytest

from harness.figures.cells import JudgeSummary
from harness.figures.quality_state import way_to_people
from harness.figures.summary import RunSummary
from harness.judging.validation.trust import Trust

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


@pytest.mark.parametrize(
    ("trust", "said"),
    [
        (["excluded", "silent"], "Quality is not known: j0, j1 failed their check on pairs with known answers."),
        (["excluded"], "Quality is not known: j0 failed its check on pairs with known answers."),
        (["excluded", "weak"], "Quality is not known: nothing was judged."),
        ([], "Quality is not known: nothing was judged."),
    ],
)
def test_quality_is_unknown_for_failed_judges_only_where_every_judge_failed(trust: list[Trust], said: str) -> None:
    judges = [JudgeSummary(id=f"j{k}", accuracy=0.5, flip_rate=0.5, trusted=False, trust=one) for k, one in enumerate(trust)]
    summary = RunSummary(run="r", valid=True, invalid=[], cells=[], judges=judges, way_to_people="Ask people.")
    assert (summary.quality[0], summary.quality[-1]) == (said, "Ask people.")
