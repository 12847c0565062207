"""Equal rows give equal ratings in every output, to the last digit."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.figures.board_figures import quality_figures
from harness.figures.rank import rank_target, rated_table
from harness.ranking import Board, RatingModel, joint_figure, leaderboard
from harness.ranking.board import Ends
from harness.ranking.export import board_csv, board_markdown
from harness.ranking.model import PRIMARY, Method
from harness.ranking.question import Measured, RatingQuestion
from harness.ranking.quoted_board import of_verdicts
from harness.ranking.ranking import rank
from harness.ranking.ranking_object import as_object
from harness.ranking.variants import variants
from harness.store.judgment_files import write
from harness.store.judgment_table import table_of
from tests.harness.conftest import Simulate
from tests.present import present

BOARDS: dict[str, dict[str, Any]] = {
    "ordinary": {"contexts": 16, "systems": 4, "judges": 2, "axes": True},
    "ties": {"contexts": 9, "systems": 3, "judges": 1, "ties": 2.0},
    "judges who lean": {"contexts": 10, "systems": 3, "judges": 2, "position": 1.5},
    "a system apart": {"contexts": 10, "systems": 3, "judges": 1, "spread": 6.0},
    "few conversations": {"contexts": 7, "systems": 3, "judges": 1},
}


def _figures(board: Board) -> dict[str, tuple[float, Ends | None]]:
    return {row.system: (row.elo, row.interval) for row in board.systems}


def _as_told(figures: dict[str, tuple[float, Ends | None]]) -> dict[str, tuple[float | None, list[float | None] | None]]:
    """An Elo of which no end is known is in no output."""
    return {s: (None, None) if interval is None else (elo, list(interval)) for s, (elo, interval) in figures.items()}


@pytest.mark.parametrize("name", BOARDS)
def test_every_output_has_the_boards_elo_and_interval(simulate: Simulate, tmp_path: Path, name: str) -> None:
    rows = simulate(seed=3, **BOARDS[name])
    # All conversations are of one subset, so "all" and "regular" are the same rows.
    rows = [row.model_copy(update={"subset": "regular", "presentation": "heard_text"}) for row in rows]
    systems = sorted({s for row in rows for s in (row.system_a, row.system_b)})
    latencies = {s: {row.context: [300.0 + 50 * k] for row in rows} for k, s in enumerate(systems)}
    texts = {(row.context, s, 0): "well " * (3 + 7 * k) for row in rows for k, s in enumerate(systems)}
    want = _figures(leaderboard(rows))

    measured = Measured({"ttfa": latencies}, {}, texts)
    ranked = rank(rows, RatingQuestion(measured=measured, draws=20, seed=4))
    joint = present(ranked.joint)
    assert _figures(ranked.board) == want
    of_judges = present(of_verdicts(table_of(rows), RatingQuestion(), bootstrap=False))
    found = {variant.name: variant.board for variant in variants(of_judges, {})}
    assert _figures(found["judges, all"]) == _figures(found["judges, regular"]) == want
    assert {v.name: _figures(v.board) for v in ranked.variants if v.name in found}["judges, regular"] == want
    for figure in (joint, joint_figure(rows, latencies, draws=20, seed=4)):
        assert {p.system: (p.elo, p.elo_interval) for p in figure.points} == want
        assert [p.p_frontier for p in figure.points] == [p.p_frontier for p in joint.points]
    # What a run's summary, and so the terminal, `--json` and the page, are made of.
    rated = rated_table(table_of(rows), RatingQuestion(measured=measured, budget_ms=500.0, seed=4), valid=True)
    assert _figures(present(rated.board)) == want
    assert {s: (p.elo, p.elo_interval) for s, p in rated.points.items()} == want

    for file in (tmp_path / "rows.jsonl", tmp_path / "rows.csv"):
        write(rows, file)
        assert _figures(rank_target(file, RatingQuestion(draws=20)).board) == want
    told = as_object(ranked)
    for systems_told in (
        told["systems"],
        told["boards"]["judges, all"]["systems"],
        told["boards"]["judges, regular"]["systems"],
    ):
        assert {s: (r["elo"], r["interval"]) for s, r in systems_told.items()} == _as_told(want)
    assert {s: (p["elo"], p["elo_interval"]) for s, p in told["joint"].items()} == _as_told(want)


@pytest.mark.parametrize(("contexts", "timed"), [(4, 4), (7, 7), (12, 7)])
def test_no_output_shows_a_chance_or_an_elo_of_what_has_no_bound(simulate: Simulate, contexts: int, timed: int) -> None:
    rows = simulate(contexts, 3, 2, seed=3)
    latencies = {s: {row.context: [300.0 + 50 * k] for row in rows} for k, s in enumerate(("s0", "s1", "s2"))}
    latencies["s2"] = dict(list(latencies["s2"].items())[:timed])
    measured = Measured({"ttfa": latencies})
    ranked = rank(rows, RatingQuestion(measured=measured, draws=20))
    rated = rated_table(table_of(rows), RatingQuestion(measured=measured, budget_ms=500.0, seed=4), valid=True)
    told = as_object(ranked)
    for system in ("s0", "s1", "s2"):
        figures = quality_figures(rated, system, "borne_out", one_for_all=False)
        for found in (figures.model_dump(), told["joint"][system]):
            assert (found["p_frontier"], found["p_best_within_budget"]) == (None, None)
            assert (found["elo"] is None) == (contexts < 8)
        assert (told["systems"][system]["elo"] is None) == (contexts < 8)
        assert all((over.value is None) == (contexts < 8) for over in figures.elo_over.values())
    lines = [
        line.split("|")
        for line in board_markdown(ranked.board, ranked.joint).splitlines()
        if line.startswith(("| s0", "| s1", "| s2"))
    ]
    assert {(cells[-3].strip(), cells[-2].strip()) for cells in lines} == {("–", "–")}
    assert {cells[2].strip() == "–" for cells in lines} == {contexts < 8}
    row = next(csv.DictReader(board_csv(ranked.board, ranked.joint).splitlines()))
    assert (row["p_frontier"], row["p_best_within_budget"], row["elo"] == "") == ("", "", contexts < 8)


def test_with_eight_conversations_each_the_chances_are_told_and_in_an_invalid_run_none_is(simulate: Simulate) -> None:
    rows = simulate(8, 3, 2, seed=3, spread=0.3)
    latencies = {s: {row.context: [300.0 + 50 * k] for row in rows} for k, s in enumerate(("s0", "s1", "s2"))}
    asked = RatingQuestion(measured=Measured({"ttfa": latencies}), budget_ms=500.0, seed=4)
    sound, unsound = (rated_table(table_of(rows), asked, valid=valid) for valid in (True, False))
    assert sum(present(p.p_best_within_budget) for p in sound.points.values()) == pytest.approx(1.0)
    assert {(p.p_frontier, p.p_best_within_budget) for p in unsound.points.values()} == {(None, None)}
    assert {s: p.elo_interval for s, p in unsound.points.items()} == {s: p.elo_interval for s, p in sound.points.items()}
    ranked = rank(rows, RatingQuestion(measured=Measured({"ttfa": latencies, "ttft": latencies}), draws=20)).without_chances
    told = as_object(ranked)
    assert {p["p_frontier"] for p in told["joint"].values()} == {None}
    assert {p["p_frontier"] for v in told["joint_variants"].values() for p in v["points"].values()} == {None}


def test_the_summary_and_rank_draw_the_same_conversations(simulate: Simulate) -> None:
    rows = simulate(12, 3, 1, seed=8, spread=0.2)
    ttfa = {s: {row.context: [300.0 + k] for row in rows} for k, s in enumerate(("s0", "s1", "s2"))}
    # A conversation that only TTFT knows, and nobody judged.
    ttft = {s: values | {"c900": [100.0]} for s, values in ttfa.items()}
    asked = RatingQuestion(measured=Measured({"ttfa": ttfa, "ttft": ttft}), budget_ms=500.0, seed=2)
    ranked = rank(rows, asked)
    rated = rated_table(table_of(rows), asked, valid=True)
    points = present(ranked.joint).points
    assert {p.system: p.p_frontier for p in points} == {s: p.p_frontier for s, p in rated.points.items()}
    assert 0 < present(points[-1].p_frontier) < 1


def test_an_agent_is_held_against_no_reference_that_it_never_met(simulate: Simulate) -> None:
    met = [r.model_copy(update={"system_b": "ref:good"}) for r in simulate(10, 2, 1)]
    apart = [r.model_copy(update={"system_a": "ref:x", "system_b": "ref:y"}) for r in simulate(10, 2, 1, seed=1)]
    figures = quality_figures(
        rated_table(table_of([*met, *apart]), RatingQuestion(budget_ms=500.0, seed=0), valid=True),
        "s0",
        "people",
        one_for_all=False,
    )
    assert set(figures.elo_over) == {"ref:good"}


@pytest.mark.parametrize("method", ["ordinal", "strength", "plain", "rao-kupper"])
def test_a_model_that_was_asked_for_rates_behind_every_figure(simulate: Simulate, method: Method) -> None:
    rows = simulate(12, 3, 2, seed=5, ties=0.4, axes=True)
    lengths = {
        (row.context, s, 0): 5 + 4 * (len(row.context) + int(s[1]) * int(row.context[-1]))
        for row in rows
        for s in ("s0", "s1", "s2")
    }
    model = RatingModel(method, axis_weights={"E": 2.0, "R": 1.0}, lengths=lengths)
    latencies = {s: {row.context: [300.0] for row in rows} for s in ("s0", "s1", "s2")}
    ranked = rank(rows, RatingQuestion(measured=Measured({"ttfa": latencies}), model=model, draws=20))
    points = present(ranked.joint).points
    board = leaderboard(rows, model)
    assert _figures(ranked.board) == _figures(board) == _figures(ranked.variants[0].board)
    assert {p.system: (p.elo, p.elo_interval) for p in points} == _figures(board)
    assert _figures(board) != _figures(leaderboard(rows, RatingModel(method)))
    # Draws of another model would rank the systems by other verdicts: all are equally fast, so the best is alone in front.
    assert points[0].p_frontier == max(present(p.p_frontier) for p in points) > 0.5
    assert ("length" in board.terms) == (method == "ordinal") == ("length of the replies" in board.method)


def test_the_length_term_stands_beside_the_quoted_rating_and_does_not_move_it(simulate: Simulate) -> None:
    rows = simulate(20, 3, 2, seed=6)
    # Words vary within each system, and s2 is long-winded.
    texts = {
        (f"c{c:03}", f"s{s}", 0): "word " * (10 + (7 * c + 3 * s) % 20 + (30 if s == 2 else 0))
        for c in range(20)
        for s in range(3)
    }
    with_texts = RatingQuestion(measured=Measured(texts=texts), draws=50)
    plain, told = rank(rows, RatingQuestion(draws=50)), rank(rows, with_texts)
    assert _figures(plain.board) == _figures(told.board)
    assert plain.with_length is None
    assert "not known" in plain.length_words
    assert told.with_length is not None
    assert "length" in told.with_length.terms
    assert "length" not in told.board.terms
    found = as_object(told)
    assert found["length_term"].startswith("The quoted rating has no length term")
    for system, row in found["systems"].items():
        assert row["elo_with_length"] == told.with_length[system].elo != row["elo"]
    assert "length of the replies" in found["boards"]["exploratory: with a length term"]["method"]
    asked = rank(rows, replace(with_texts, model=RatingModel(lengths={key: len(text.split()) for key, text in texts.items()})))
    assert asked.with_length is asked.board
    assert _figures(asked.board) == _figures(told.with_length)
    assert "has a length term, as was asked" in asked.length_words


def test_the_terms_of_a_fit_stand_with_its_name(simulate: Simulate) -> None:
    assert "position of each judge" in leaderboard(simulate(9, 3, 1)).method
    unknown = [row.model_copy(update={"shown_first": None}) for row in simulate(9, 3, 1)]
    assert leaderboard(unknown).method == PRIMARY.title(()) == "ordinal Bradley–Terry (cumulative logit)"
