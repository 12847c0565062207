"""Boards at the edge: what cannot be measured is a bound or is absent, never a number with a narrow interval."""

import csv
import importlib.util
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.ranking import RatingModel, joint_figure, leaderboard
from harness.ranking.export import board_csv, board_markdown
from harness.ranking.model import Method
from harness.ranking.question import Measured, RatingQuestion
from harness.ranking.ranking import rank
from harness.ranking.ranking_object import as_object
from harness.ranking.stopping import gaps
from harness.ranking.unbounded import standing, swept_share
from harness.store.judgment import Judgment
from tests.harness.conftest import Simulate
from tests.present import ends, present

SYSTEMS = ("s0", "s1", "s2")


def _row(context: int, a: str, b: str, winner: str, **more: Any) -> Judgment:
    given: dict[str, Any] = {"subset": "regular", "source": "judge", "judge": "j", "winner": winner, **more}
    return Judgment(context=f"c{context}", system_a=a, system_b=b, **given)


def _swept(contexts: int) -> list[Judgment]:
    """s2 beats both others always; those two take turns."""
    rows = []
    for c in range(contexts):
        rows += [_row(c, "s0", "s1", "ab"[c % 2]), _row(c, "s0", "s2", "b"), _row(c, "s1", "s2", "b")]
    return rows


def test_a_system_that_won_everything_has_a_lower_bound_and_the_rest_keep_two_ends() -> None:
    board = leaderboard(_swept(12), bootstrap_draws=50)
    best = board["s2"]
    assert board.separated == {"s2"}
    # 12 conversations won throughout: at least 78 % of comparisons with opponents who are both near 1500.
    assert best.interval == pytest.approx((1500 + 400 * math.log10(0.779 / 0.221), None), abs=2)
    lowest = present(present(best.interval)[0])
    assert lowest < best.elo
    assert best.band is None
    assert best.error is None
    assert best.bootstrap_interval is None
    for system in ("s0", "s1"):
        low, high = ends(board[system].interval)
        assert low < 1500 < high
        assert high - low > 100
    assert (board["s0"].elo + board["s1"].elo) / 2 == pytest.approx(1500)
    mirrored = leaderboard([row.model_copy(update={"winner": {"a": "b", "b": "a"}[row.winner]}) for row in _swept(12)])
    assert mirrored["s2"].interval == pytest.approx((None, 3000 - lowest), abs=1e-6)


def test_more_conversations_raise_the_bound_and_seven_give_none() -> None:
    assert leaderboard(_swept(7))["s2"].interval is None
    bounds = [present(present(leaderboard(_swept(n))["s2"].interval)[0]) for n in (8, 20, 80)]
    assert bounds == sorted(bounds)
    assert swept_share(8) ** 8 == pytest.approx(0.05)


def test_two_systems_of_which_one_wins_all_bound_one_another() -> None:
    board = leaderboard([_row(c, "x", "y", "a") for c in range(10)])
    (known_low, above), (below, known_high) = present(board["x"].interval), present(board["y"].interval)
    assert above is None
    assert below is None
    low, high = present(known_low), present(known_high)
    assert low - 1500 == pytest.approx(1500 - high)
    assert low > 1560
    found = board.difference("x", "y")
    assert found.interval == pytest.approx((low - high, None))
    assert found.p_value == pytest.approx(2 / 2**10)
    assert board.difference("y", "x").interval == pytest.approx((None, high - low))
    (gap,) = gaps(board, [("y", "x")])
    assert gap.apart


def test_bounds_are_printed_as_bounds_everywhere() -> None:
    ranking = rank(
        _swept(12),
        RatingQuestion(measured=Measured({"ttfa": {s: {f"c{k}": [300.0] for k in range(12)} for s in SYSTEMS}}), draws=50),
    )
    bound = present(present(ranking.board["s2"].interval)[0])
    assert f"| ≥ {bound:.0f} |" in board_markdown(ranking.board, ranking.joint)
    row = next(csv.DictReader(io.StringIO(board_csv(ranking.board, ranking.joint))))
    assert (row["system"], float(row["low"]), row["high"], row["band_low"]) == ("s2", bound, "", "")
    found = json.loads(json.dumps(as_object(ranking), allow_nan=False))
    assert found["systems"]["s2"]["interval"] == found["joint"]["s2"]["elo_interval"] == [bound, None]


PAIRS = (("s0", "s1"), ("s0", "s2"), ("s1", "s2"))
TIES = [_row(c, a, b, "tie") for c in range(9) for a, b in PAIRS]
OPPOSITES = [_row(c, a, b, winner, repeat=k) for c in range(9) for a, b in PAIRS for k, winner in enumerate("ab")]


@pytest.mark.parametrize("rows", [TIES, OPPOSITES], ids=["ties alone", "beside its opposite"])
@pytest.mark.parametrize("method", ["ordinal", "strength", "plain", "rao-kupper"])
def test_verdicts_that_cancel_are_not_certainty(rows: list[Judgment], method: Method) -> None:
    board = leaderboard(rows, RatingModel(method))
    for system in board.systems:
        low, high = ends(system.interval)
        assert low + high == pytest.approx(3000)
        assert high - low > 60
        assert ends(system.band)[1] - ends(system.band)[0] > 60
    assert present(board.difference("s0", "s1").p_value) > 0.9


def test_parts_without_a_comparison_between_them_are_rated_apart(simulate: Simulate) -> None:
    here = simulate(12, 3, 1, seed=1)
    there = [
        r.model_copy(update={"system_a": "t" + r.system_a, "system_b": "t" + r.system_b}) for r in simulate(12, 2, 1, seed=2)
    ]
    board, alone = leaderboard([*there, *here]), leaderboard(here)
    assert {r.system: r.part for r in board.systems} == {"s0": 1, "s1": 1, "s2": 1, "ts0": 2, "ts1": 2}
    assert {s: (board[s].elo, board[s].interval) for s in SYSTEMS} == {s: (alone[s].elo, alone[s].interval) for s in SYSTEMS}
    assert board["ts0"].elo + board["ts1"].elo == pytest.approx(3000)
    assert any("2 groups that never met" in note for note in board.warnings)
    with pytest.raises(ValueError, match="never met"):
        board.difference("s0", "ts0")
    assert set(board.differences()) == set(alone.differences()) | {("ts1", "ts0")}
    assert board.difference("s2", "s0") == alone.difference("s2", "s0")
    assert gaps(board, [("s0", "ts0")]) == ()
    assert "(group 2)" in board_markdown(board)

    latencies = {s: {f"c{c:03}": [300.0] for c in range(12)} for s in ("s0", "s2", "ts1")}
    apart = joint_figure([*here, *there], latencies, draws=50)
    assert all(p.p_frontier is None and p.p_best_within_budget is None for p in apart.points)
    assert all(p.latency.p50 == 300 for p in apart.points)
    within = joint_figure([*here, *there], {s: latencies[s] for s in ("s0", "s2")}, draws=50)
    assert sum(present(p.p_best_within_budget) for p in within.points) == pytest.approx(1)
    json.dumps(
        as_object(rank([*here, *there], RatingQuestion(measured=Measured({"ttfa": latencies}), draws=20))), allow_nan=False
    )


def test_exact_repeats_count_once_and_are_said(simulate: Simulate) -> None:
    rows = simulate(10, 3, 2, seed=3, axes=True)
    once, twice = leaderboard(rows), leaderboard([*rows, *rows[:7]])
    assert twice.systems == once.systems
    assert "7 of 67 rows repeat another one exactly" in twice.warnings[0]
    assert not any("repeat" in note for note in once.warnings)
    found = rank([*rows, *rows[:7]], RatingQuestion(draws=20))
    assert found.board.judgments == 60
    assert any("repeat another one exactly" in note for note in found.board.warnings)
    for name, value in (("condition", "noisy"), ("replicate", 1), ("repeat", 1), ("judge", "another")):
        other = rows[0].model_copy(update={name: value})
        assert leaderboard([*rows, other]).judgments == 61


def test_a_system_without_any_latency_is_no_point(simulate: Simulate) -> None:
    latencies: dict[str, dict[str, list[float]]] = {
        "s0": {f"c{c:03}": [300.0] for c in range(10)},
        "s1": {},
        "s2": {"c000": []},
    }
    figure = rank(
        simulate(10, 3, 1),
        RatingQuestion(measured=Measured({"ttfa": latencies, "ttft": {"s1": {"c000": [100.0]}}}), draws=50),
    )
    assert [p.system for p in present(figure.joint).points] == ["s0"]
    assert set(as_object(figure)["joint"]) == {"s0"}


def test_the_core_is_the_largest_set_that_won_and_lost_among_itself() -> None:
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = 1
    wins[2, 0] = wins[1, 3] = 1
    assert standing(wins).side.tolist() == [0, 0, 1, -1]
    chain = np.triu(np.ones((3, 3)), 1)
    assert not standing(chain).core.any()
    assert standing(chain).side.tolist() == [2, 2, 2]


def _benchmark() -> Any:
    path = Path(__file__).parents[3] / "benchmarks" / "ranking_edge.py"
    spec = present(importlib.util.spec_from_file_location("ranking_edge", path))
    module = importlib.util.module_from_spec(spec)
    sys.modules["ranking_edge"] = module  # A dataclass looks its own module up.
    present(spec.loader).exec_module(module)
    return module


@pytest.mark.long
def test_intervals_at_the_edge_cover_and_no_connected_board_is_without() -> None:
    found = _benchmark().simulate(105, seed=11)
    given = sum(t.given + t.one_sided for t in found.values())
    inside = sum(t.covered + t.one_sided_covered for t in found.values())
    # Three standard errors below 93 % at this size, systems of one board counted as one; all in docs/evidence/ranking.md.
    assert inside / given > 0.90
    assert sum(t.without for t in found.values()) == 0
    assert sum(t.nought for t in found.values()) == 0
    assert sum(t.one_sided for t in found.values()) > 5
