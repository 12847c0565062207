"""A ranking as CSV, as Markdown and beside a terminal's board: every cell is the board's own."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from harness.ranking import Board, JointFigure, joint_figure, leaderboard
from harness.ranking.agreement import Agreement
from harness.ranking.ballot_figures import Figure
from harness.ranking.bias import Audit
from harness.ranking.board import Ends
from harness.ranking.export import board_csv, board_markdown, extras
from harness.ranking.question import RatingQuestion
from harness.ranking.ranking import rank
from harness.statistics.correlation import pearson, spearman
from harness.store.judgment import AXES
from harness.wording import elo_band
from tests.harness.conftest import Simulate

INF = np.inf


@pytest.fixture
def board(simulate: Simulate) -> Board:
    return leaderboard(simulate(12, 3, 2, seed=1, axes=True))


@pytest.fixture
def joint(simulate: Simulate) -> JointFigure:
    waits = {"s0": [300.0, 300.0], "s1": [500.0, INF, INF]}
    latencies = {name: {f"c{c:03}": values for c in range(12)} for name, values in waits.items()}
    return joint_figure(simulate(12, 3, 2, seed=1, axes=True), latencies, draws=50)


def test_the_table_for_programs_has_the_boards_figures_and_empty_cells_for_what_is_not_known(
    board: Board, joint: JointFigure
) -> None:
    plain = list(csv.DictReader(board_csv(board).splitlines()))
    assert list(plain[0]) == [
        "system", "elo", "low", "high", "band_low", "band_high", "win_rate", *AXES, "judgments", "contexts", "part",
    ]  # fmt: skip
    for cells, row in zip(plain, board.systems, strict=True):
        assert cells["system"] == row.system
        assert row.interval is not None
        assert row.band is not None
        numbers = [row.elo, *row.interval, *row.band, row.win_rate, *(row.axes[axis] for axis in AXES)]
        assert [float(cell) for cell in list(cells.values())[1:12]] == pytest.approx(numbers)
        assert (cells["judgments"], cells["contexts"], cells["part"]) == (str(row.judgments), "12", "1")
    full = {row["system"]: row for row in csv.DictReader(board_csv(board, joint, "opinion").splitlines())}
    assert {row["quality_state"] for row in full.values()} == {"opinion"}
    assert "quality_state" not in plain[0]
    assert (full["s0"]["ttfa_p50_ms"], full["s0"]["ttfa_p50_low"], full["s0"]["ttfa_p50_high"]) == ("300.0", "300.0", "300.0")
    assert 0 <= float(full["s0"]["p_frontier"]) <= 1
    assert [full["s2"][name] for name in ("ttfa_p50_ms", "p_frontier", "p_best_within_budget")] == ["", "", ""]
    unmarked = replace(board, systems=tuple(replace(row, axes={}, interval=None, band=None) for row in board.systems))
    bare = next(csv.DictReader(board_csv(unmarked).splitlines()))
    assert [bare[name] for name in ("elo", "low", "high", "band_low", "H")] == ["", "", "", "", ""]


def test_the_table_for_a_page_has_the_same_figures_rounded(board: Board, joint: JointFigure) -> None:
    lines = board_markdown(board, joint, "An opinion", "rated on <b>").splitlines()
    assert (
        lines[0]
        == "| system | Elo | 95 % | wins | H | E | A | R | T | judgments | TTFA p50 | P(frontier) | P(best in budget) |"
    )
    cells = {line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ") for line in lines[2:5]}
    first = board.systems[0]
    assert cells[first.system][1:4] == [
        f"{first.elo:.0f}",
        elo_band(*first.interval or (None, None)),
        f"{100 * first.win_rate:.1f} %",
    ]
    assert cells[first.system][4] == f"{100 * first.axes['H']:.1f} %"
    assert cells["s0"][10] == "300 ms"
    assert cells["s1"][10] not in ("–", "300 ms"), "most of its turns had no reply"
    assert cells["s2"][10:] == ["–", "–", "–"]
    assert "An opinion." in lines
    assert r"rated on \<b\>" in lines
    plain = board_markdown(replace(board, systems=tuple(replace(row, axes={}) for row in board.systems)))
    assert plain.splitlines()[0] == "| system | Elo | 95 % | wins | judgments |"
    apart = replace(board, systems=(replace(first, part=2, interval=None), *board.systems[1:]))
    assert f"{first.system} (group 2) | – | – |" in board_markdown(apart)


@pytest.mark.parametrize(
    ("interval", "words"),
    [((1480.4, 1529.6), "1480–1530"), ((1720.0, None), "≥ 1720"), ((None, 1280.0), "≤ 1280"), ((None, None), "")],
)
def test_an_interval_with_one_end_says_which(interval: Ends, words: str) -> None:
    assert elo_band(*interval) == words


def test_beside_the_board_are_agreement_notable_biases_and_other_scores(simulate: Simulate) -> None:
    found = rank(simulate(9, 3, 1), RatingQuestion(draws=20))
    agree = Agreement(judge_human=Figure(0.8, (0.7, 0.9), 30), inter_human=Figure(0.75, None, 20))
    biases = tuple(
        Audit(name, 0.4, (0.1, 0.7), 0.01, p, 0.6, 9) for name, p in (("place", 0.049), ("rest", 0.05), ("no", None))
    )
    x, y = [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]
    shown = extras(replace(found, agreement=agree, audits=biases, external={"index": (pearson(x, y), spearman(x, y))}))
    assert "80.0% of 30 pairs [70.0%, 90.0%]" in shown
    assert "75.0% of 20 pairs\n" in shown
    assert "place: +0.40 log-odds [+0.10, +0.70], adjusted p = 0.049" in shown
    assert "rest" not in shown
    assert "Pearson +0.80 [" in shown
    assert "Spearman +0.80, 4 systems" in shown
