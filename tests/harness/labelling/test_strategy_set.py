"""The labelled replies for the fifteen strategies: two whole passes, enough of each label, no person named as their maker."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.judging_sets import strategies as labelled
from harness.judging.completion import normalised
from harness.labelling import labeller_record
from harness.labelling.labeller_record import MeasuredLabeller, measured_in_words, measured_labellers, write_measured
from harness.labelling.model_labels import strategy_request
from harness.ranking.strategies import STRATEGIES, check_labeller

FEWEST_POSITIVES = 15
SCARCER: frozenset[str] = frozenset({"chit-chat"})
"""Strategies that a pass marks less often than that; docs/judging.md names them."""


def test_every_reply_is_there_once_and_can_be_asked_about() -> None:
    replies = labelled.replies()
    assert len(replies) == 300
    assert len({r.id for r in replies}) == len({(r.turns[-1], normalised(r.reply)) for r in replies}) == 300
    for reply in replies:
        assert reply.reply in json.loads(_data(strategy_request(reply.context, reply.reply).user))["reply"]


def test_each_source_is_one_of_our_own() -> None:
    origins = Counter(reply.source.split(":")[0] for reply in labelled.replies())
    assert set(origins) == {"origin", "pack", "written"}


@pytest.mark.parametrize("name", labelled.PASSES)
def test_a_pass_is_whole_is_a_programs_and_marks_each_strategy_often_enough(name: str) -> None:
    marks = labelled.marks(name)
    assert len(marks) == 300 * len(STRATEGIES)
    assert labelled.head(name).labelled_by == "program"
    marked = Counter(strategy for (_, strategy), present in marks.items() if present)
    assert {s for s in STRATEGIES if marked[s] < FEWEST_POSITIVES} <= SCARCER


def test_no_person_is_named_as_the_maker_of_a_label() -> None:
    assert not any("human" in path.read_text(encoding="utf-8") for path in labelled.FOLDER.glob("pass_*.jsonl"))
    assert {label.labeller for label in labelled.settled()} == {"program:consensus"}


def test_open_cells_have_no_label() -> None:
    two = labelled.both()
    settled = {(label.context, label.strategy) for label in labelled.settled()}
    ids = [reply.id for reply in labelled.replies()]
    assert two.disagreed
    assert len(settled) + len(two.disagreed) == 300 * len(STRATEGIES)
    assert not settled & {(ids[item - 1], strategy) for item, strategy, _, _ in two.disagreed}


def test_agreement_by_strategy_adds_up_to_that_over_all_cells() -> None:
    rows = labelled.agreement()
    assert [row.strategy for row in rows] == list(STRATEGIES)
    assert sum(row.both for row in rows) == sum(labelled.both().agreed.values())
    assert all(row.both <= min(row.first, row.second) for row in rows)


def test_the_consensus_is_right_about_itself() -> None:
    assert check_labeller(labelled.settled(), labelled.settled()).macro_f1 == 1


def test_a_measured_labeller_is_named_with_its_yardstick_and_another_has_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "labellers.json").write_text("{}")
    monkeypatch.setattr(labeller_record, "RECORD", tmp_path / "labellers.json")
    write_measured("l@1", MeasuredLabeller(0.314, 300, {"chit-chat": 0.5}))
    write_measured("k@1", MeasuredLabeller(None, 300, {}))
    assert measured_in_words("l@1") == "macro-F1 0.31 against a program's labels, 300 replies"
    assert measured_in_words("l@2") is None
    assert measured_in_words("k@1") is None


def test_the_shipped_record_names_only_strategies_that_exist() -> None:
    for figures in measured_labellers().values():
        assert set(figures.by_strategy) == set(STRATEGIES)
        assert figures.replies <= 300


def _data(question: str) -> str:
    return question[question.index("{") : question.rindex("}") + 1]
