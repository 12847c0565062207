"""One judge and a few raters are enough to say what they share, and chance is called chance."""

from itertools import combinations
from typing import Literal

import numpy as np
import pytest

from harness.ranking.judge_vs_person import NOTHING, beside_people, in_words
from harness.store.judgment import Judgment, Winner
from tests.present import present

SYSTEMS = ("ant", "bee", "cat", "dog")
VOTES: tuple[Winner, Winner, Winner] = ("a", "b", "tie")


def _row(context: str, pair: tuple[str, str], voter: str, source: Literal["judge", "human"], winner: Winner) -> Judgment:
    return Judgment(
        context=context, subset="regular", system_a=pair[0], system_b=pair[1], source=source, judge=voter, winner=winner
    )


def _rows(contexts: int, right: float, seed: int = 0, ties: float = 0.0) -> list[Judgment]:
    """Two raters who prefer the earlier name, and one judge who is with them in this share of pairs."""
    rng = np.random.default_rng(seed)
    found = []
    for c in range(contexts):
        for pair in combinations(SYSTEMS, 2):
            for rater in ("r1", "r2"):
                vote: Winner = "tie" if rng.random() < ties else "a"
                found.append(_row(f"c{c}", pair, rater, "human", vote))
            found.append(_row(f"c{c}", pair, "judge", "judge", "a" if rng.random() < right else "b"))
    return found


def test_without_people_or_without_judges_nothing_is_said() -> None:
    rows = _rows(3, 1.0)
    assert beside_people([row for row in rows if row.source == "judge"]) == NOTHING
    assert beside_people([row for row in rows if row.source == "human"]) == NOTHING


def test_one_judge_and_two_raters_are_enough() -> None:
    found = beside_people(_rows(40, 0.8, ties=0.25))
    (judge,) = found.judges
    assert judge.with_ties.pairs == 240
    assert judge.with_ties.value == pytest.approx(0.6, abs=0.06)
    assert present(judge.without_ties).value == pytest.approx(0.8, abs=0.06)
    low, high = present(judge.with_ties.interval)
    assert low < 0.6 < high
    assert found.board_correlation == pytest.approx(1.0)
    assert present(found.people_elo).keys() == set(SYSTEMS)
    words = in_words(found)
    assert any("that both decided" in line for line in words)
    assert any("rank correlation +1.00" in line for line in words)


def test_a_judge_at_chance_is_said_to_be_so_and_one_that_follows_people_is_not() -> None:
    rng = np.random.default_rng(4)

    def rows(follows: float) -> list[Judgment]:
        found = []
        for c in range(60):
            vote = VOTES[int(rng.integers(2))]
            said = vote if rng.random() < follows else VOTES[int(rng.integers(2))]
            found += [_row(f"c{c}", ("ant", "bee"), "r1", "human", vote), _row(f"c{c}", ("ant", "bee"), "j", "judge", said)]
        return found

    assert beside_people(rows(0.0)).judges[0].at_chance
    good = beside_people(rows(0.9))
    assert not good.judges[0].at_chance
    assert not any("chance" in line for line in in_words(good))
    assert good.board_correlation is None, "two systems have no order to correlate"


def test_raters_who_tie_everything_have_no_order_to_correlate() -> None:
    found = beside_people(_rows(10, 0.9, ties=1.0))
    assert present(found.people_elo).keys() == present(found.judges_elo).keys() == set(SYSTEMS)
    assert found.board_correlation is None
