"""A voter's repeated verdicts on one pair: the last counts, the board keeps its scale, and it is said."""

from pathlib import Path

import numpy as np
import pytest

from harness.figures.rank import rank_rows
from harness.ranking.question import RatingQuestion
from harness.ranking.ranking import rank
from harness.store.judgment import Judgment
from harness.store.judgment_files import as_json_lines, read

FEW = RatingQuestion(draws=10)


def vote(context: int, a: str, b: str, winner: str, rater: str, **more: object) -> Judgment:
    return Judgment.model_validate(
        {
            "context": f"c{context}", "subset": "regular", "system_a": a, "system_b": b, "source": "human", "judge": rater,
            "winner": winner, **more,
        }
    )  # fmt: skip


def votes_given_again(seed: int) -> tuple[list[Judgment], list[Judgment]]:
    """Votes on three systems by eight raters, and as many again: each rater is asked twice about every pair."""
    rng = np.random.default_rng(seed)
    first: list[Judgment] = []
    again: list[Judgment] = []
    for context in range(60):
        for a, b, p in (("x", "y", 0.7), ("y", "z", 0.7), ("x", "z", 0.84)):
            for rater in range(4):
                for rows in (first, again):
                    rows.append(vote(context, a, b, "a" if rng.random() < p else "b", f"r{(context + rater) % 8}"))
    return first, again


def spread(rows: list[Judgment]) -> float:
    elo = {row.system: row.elo for row in rank_rows(rows, FEW).board.systems}
    return elo["x"] - elo["z"]


def test_votes_given_again_do_not_pull_a_board_together() -> None:
    ratios = []
    for seed in range(3):
        first, again = votes_given_again(seed)
        ratios.append(spread([*first, *again]) / spread(again))
    assert np.allclose(ratios, 1.0, atol=1e-9)


def test_the_count_is_said_on_people_and_judges_boards() -> None:
    first, again = votes_given_again(1)
    changed = sum(one.winner != other.winner for one, other in zip(first, again, strict=True))
    (note,) = (n for n in rank_rows([*first, *again], FEW).board.warnings if "repeat another one" in n)
    assert note.startswith(f"{len(first)} of {2 * len(first)} rows")
    assert f"{changed} with another verdict" in note
    judged = [row.model_copy(update={"source": "judge"}) for row in (*first, *again)]
    assert any(n.startswith(f"{len(first)} of {2 * len(first)} rows") for n in rank(judged, FEW).board.warnings)


def test_sides_that_change_places_are_the_same_pair() -> None:
    first, again = votes_given_again(2)
    turned = [
        vote(int(r.context[1:]), r.system_b, r.system_a, "b" if r.winner == "a" else "a", r.judge, shown_first="a")
        for r in again
    ]
    assert spread([*first, *turned]) == pytest.approx(spread(again))


def test_verdicts_in_both_orders_and_numbered_ones_all_count() -> None:
    rows = [
        vote(context, "x", "y", "a" if context % 3 else "b", "judge@1", source="judge", shown_first=shown, repeat=repeat)
        for context in range(20)
        for shown in ("a", "b")
        for repeat in (0, 1)
    ]
    assert rank(rows, FEW).board.judgments == 80


def test_a_rater_s_earlier_vote_on_file_is_said_when_it_is_exported_and_read_again(tmp_path: Path) -> None:
    first, again = votes_given_again(3)
    earlier = [row.model_copy(update={"purpose": "repeat", "repeat": 1}) for row in first]
    path = tmp_path / "rows.jsonl"
    path.write_text(as_json_lines([*earlier, *again]))
    board = rank_rows(read(path), FEW).board
    assert any(f"{len(first)} earlier votes" in note for note in board.warnings)
    assert board.systems == rank_rows(again, FEW).board.systems
