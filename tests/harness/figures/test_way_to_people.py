"""The way from a run to people's answer names the votes that say which agent is preferred, and no more than the run has."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from harness.figures.cells import JudgeSummary
from harness.figures.summary import RunSummary
from harness.figures.way_to_people import Sides, way_to_people
from harness.judging.validation.trust import Trust
from harness.ranking.votes_needed import votes_to_tell_apart

RUN = Path("run")


def said(agents: Collection[int], references: int = 2, *, competing: int = 2, **known: Any) -> str:
    """The way, where each conversation has these agents' replies and as many references."""
    sides = Sides(agents, [n + references for n in agents], competing, competing + references)
    return way_to_people(RUN, sides, 60.0, **known)


def test_the_votes_are_those_that_tell_two_agents_apart() -> None:
    first, more = "7 votes, about 3 minutes, say which of the two is preferred if people agree", "27 if four of five do"
    assert f"{first}; {more};" in said([2] * 40)
    assert more not in said([2] * 8)
    assert "if four of five do, it takes 23 conversations" in said([2] * 8)
    assert votes_to_tell_apart(1.0) == 7
    assert votes_to_tell_apart(0.8) == 27


def test_three_agents_take_votes_on_each_two() -> None:
    words = said([3] * 40, competing=3)
    assert "say which of each two is preferred" in words
    assert f"{votes_to_tell_apart(1.0, agents=3)} votes" in words


def test_one_agent_is_rated_among_references() -> None:
    assert re.search(r": \d+ votes, about \d+ minutes?, give ratings within ± 100 Elo\.$", said([1] * 40, competing=1))


def test_a_rating_is_named_after_and_alone_where_the_answer_is_known() -> None:
    both, rating = said([2] * 40), said([2] * 40, answered=True)
    assert both.endswith(rating.partition(": ")[2])
    assert "Elo" in rating
    assert "preferred" not in rating
    assert not said([2] * 7, answered=True)
    assert not said([2] * 40, answered=True, rated=True)


def test_people_who_disagree_so_far_are_asked_for_more() -> None:
    words = said([2] * 40, given=9, rated=True)
    assert "27 if four of five do; 9 votes on them are given." in words
    assert "Elo" not in words
    assert not said([1] * 40, competing=1, rated=True)


@pytest.mark.parametrize(("agents", "competing", "needs"), [([2] * 5, 2, 6), ([2] * 5 + [1] * 7, 2, 6), ([1] * 5, 1, 8)])
def test_too_few_conversations_with_two_replies_are_said(agents: list[int], competing: int, needs: int) -> None:
    assert said(agents, competing=competing) == (
        f"People's answer needs {needs} conversations with two replies to compare, and this run has 5 such conversations."
    )


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
