import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from harness.commands.rank import rank as rank_command
from harness.errors import UserError
from harness.ranking import RatingModel
from harness.ranking.export import board_csv, board_markdown
from harness.ranking.question import Measured, RatingQuestion
from harness.ranking.ranking import Ranking, rank
from harness.ranking.ranking_object import as_object
from harness.ranking.scores import Scores
from tests.harness.conftest import Simulate


@pytest.fixture(scope="module")
def ranking(simulate: Simulate) -> Ranking:
    rows = [*simulate(24, 4, 3, seed=1, axes=True), *simulate(24, 4, 3, seed=1, source="human", ties=0.3)]
    rng = np.random.default_rng(0)
    latencies = {s: {f"c{c:03}": [float(300 * rng.lognormal(0, 0.2))] for c in range(24)} for s in ("s1", "s2", "s3")}
    latencies["s1"] = {c: [float("inf")] for c in latencies["s1"]}
    words = {s: {c: [v + 400 for v in turns] for c, turns in by.items()} for s, by in latencies.items()}
    return rank(
        rows,
        RatingQuestion(
            measured=Measured({"ttfa": latencies, "first_word": words, "ttft": {"elsewhere": {}}}), by_people=False, draws=200
        ),
    )


def test_the_object_is_json_with_the_promised_keys(ranking: Ranking) -> None:
    text = json.dumps(as_object(ranking), allow_nan=False)
    found = json.loads(text)
    assert next(iter(found)) == "schema"
    assert list(found["systems"]) == ["s3", "s2", "s1", "s0"]
    assert set(found["systems"]["s3"]) >= {"elo", "interval", "win_rate", "axes"}
    assert set(found["systems"]["s3"]["axes"]) == set("HEART")
    assert set(found["joint"]["s3"]) >= {"p_frontier", "p_best_within_budget"}
    assert found["joint"]["s1"]["ttfa_p50_ms"] is None
    assert found["joint"]["s1"]["ttfa_p50_over_limit"] is True
    assert found["agreement"]["judge_human"]["value"] > 0.5
    assert {"judges, all", "judges, adversarial", "people, all"} <= set(found["boards"])
    assert found["boards"]["exploratory: Rao–Kupper (ties)"]["exploratory"] is True


def test_seven_columns_and_nothing_else_still_rank(simulate: Simulate) -> None:
    rows = [r.model_copy(update={"strength": 1, "shown_first": None}) for r in simulate(9, 3, 1)]
    found = as_object(rank(rows))
    assert found["joint"] == {}
    assert found["agreement"]["judge_human"] is None
    json.dumps(found, allow_nan=False)


def test_an_unknown_model_is_refused_in_one_line_by_either_door() -> None:
    rest = "unknown; choose one of ordinal, strength, plain, rao-kupper"
    with pytest.raises(UserError, match=rf"^--method davidson: {rest}$"):
        rank_command(Path("rows.jsonl"), method="davidson")
    with pytest.raises(UserError, match=rf"^rating method davidson: {rest}$"):
        RatingModel("davidson")  # type: ignore[arg-type]


def test_mixed_presentations_are_refused_and_one_can_be_chosen(simulate: Simulate) -> None:
    rows = simulate(9, 3, 1)
    mixed = [*rows, *(r.model_copy(update={"presentation": "audio"}) for r in rows)]
    with pytest.raises(UserError, match="several presentations"):
        rank(mixed)
    assert rank(mixed, RatingQuestion(presentation="audio")).board.presentation == "audio"


def test_audits_of_a_judge_do_not_rate(simulate: Simulate) -> None:
    rows = simulate(12, 3, 1, seed=2)
    swapped = [r.model_copy(update={"winner": "a", "shown_first": "a", "purpose": "swapped"}) for r in rows]
    assert rank([*rows, *swapped]).board == rank(rows).board


def test_csv_and_markdown_hold_every_system_and_escape_names(simulate: Simulate, ranking: Ranking) -> None:
    table = list(csv.DictReader(io.StringIO(board_csv(ranking.board, ranking.joint))))
    assert [row["system"] for row in table] == ["s3", "s2", "s1", "s0"]
    assert float(table[0]["elo"]) == ranking.board["s3"].elo
    assert table[3]["p_frontier"] == ""
    assert "> 15 s" in board_markdown(ranking.board, ranking.joint)
    names = {"s0": "=1+1", "s1": "<b>|x", "s2": "plain"}
    renamed = [r.model_copy(update={"system_a": names[r.system_a], "system_b": names[r.system_b]}) for r in simulate(9, 3, 1)]
    board = rank(renamed).board
    assert "'=1+1" in board_csv(board)
    assert "\\<b\\>\\|x" in board_markdown(board)


def test_filler_aware_variants_share_the_conversations(ranking: Ranking) -> None:
    found = as_object(ranking)
    assert list(found["joint_variants"]) == ["first_word"]
    word = found["joint_variants"]["first_word"]["points"]
    assert word["s3"]["p50_ms"] == pytest.approx(found["joint"]["s3"]["ttfa_p50_ms"] + 400)
    assert word["s3"]["p_frontier"] == found["joint"]["s3"]["p_frontier"]
    assert found["joint"]["s3"]["p_best_within_budget"] > 0.9
    assert word["s3"]["p_best_within_budget"] == 0


def test_external_scores_and_reasons_stand_in_the_object(simulate: Simulate) -> None:
    names = {"s0": "Llama 3.1 70B", "s1": "GPT-4o", "s2": "GPT-5"}
    judges, people = simulate(12, 3, 1, seed=3), simulate(12, 3, 1, seed=3, source="human")
    rows = [
        r.model_copy(update={"system_a": names[r.system_a], "system_b": names[r.system_b], "rationale": "it validates her"})
        for r in (*judges, *people)
    ]
    found = as_object(rank(rows, RatingQuestion(scores=Scores(scores={"words": dict.fromkeys(names.values(), 3.0)}), draws=50)))
    assert found["external"]["paper: Elo"]["spearman"]["value"] == pytest.approx(1.0)
    assert found["external"]["paper: AA index"]["pearson"]["systems"] == 3
    assert "paper: TTFT" not in found["external"]
    assert "words" not in found["external"]
    assert found["reasons"]["co_mention"] == 1.0
    json.dumps(found, allow_nan=False)
