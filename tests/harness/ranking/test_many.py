"""A file of very many rows is ranked as a small one would be, only never held as objects."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.errors import UserError
from harness.figures import rank as step
from harness.ranking.model import RatingModel
from harness.ranking.question import RatingQuestion
from harness.ranking.ranking import rank, rank_many
from harness.ranking.ranking_object import as_object
from harness.store import judgment_files as files
from harness.store.judgment import Judgment, no_reply_rule
from harness.store.judgment_files import read_table
from harness.store.judgment_table import stored_table, table_of
from tests.harness.conftest import Simulate


@pytest.fixture(scope="module")
def mixed(simulate: Simulate) -> list[Judgment]:
    """Judges and people, both subsets, ties, axes, silence, audits, rows that stand twice, and two systems that met nobody."""
    judges = simulate(30, 4, 2, seed=1, ties=0.2, position=0.3, axes=True)
    people = simulate(30, 4, 3, seed=2, ties=0.3, source="human")
    silent = [row.model_copy(update={"judge": no_reply_rule("judge-0"), "winner": "a"}) for row in judges[:9]]
    audits = [row.model_copy(update={"purpose": "swapped"}) for row in judges[:20]]
    apart = [
        row.model_copy(update={"system_a": f"x-{row.system_a}", "system_b": f"x-{row.system_b}", "own_family": True})
        for row in simulate(9, 2, 1, seed=3)
    ]
    return [*judges, *people, *silent, *audits, *judges[:7], *apart]


def boards(ranking: dict[str, Any]) -> dict[str, Any]:
    return {name: ranking[name] for name in ("method", "judgments", "contexts", "terms", "parts", "systems", "boards")}


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(alike, one, other))
    return bool(one == pytest.approx(other, rel=1e-6, abs=1e-6)) if isinstance(one, float) else bool(one == other)


@pytest.mark.parametrize(("suffix", "method"), [("jsonl", "ordinal"), ("csv", "strength")])
def test_columns_give_the_boards_that_objects_give(mixed: list[Judgment], tmp_path: Path, suffix: str, method: Any) -> None:
    path = tmp_path / f"rows.{suffix}"
    files.write(mixed, path)
    asked = RatingQuestion(model=RatingModel(method), draws=50, seed=4)
    many = rank_many(read_table(path), asked)
    few = rank(files.read(path), asked)
    assert alike(boards(as_object(many)), boards(as_object(few)))
    assert set(few.board.warnings) - set(many.board.warnings) <= {
        note for note in few.board.warnings if "not measured here" in note
    }
    assert any("agreement, audits of judges" in note for note in many.board.warnings)


def test_a_file_is_taken_as_columns_by_its_number_of_rows(
    mixed: list[Judgment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    files.write(mixed, path)
    monkeypatch.setattr(step, "MANY", len(mixed) - 1)
    assert step.rank_target(path, RatingQuestion(draws=20)).audits == ()
    monkeypatch.setattr(step, "MANY", len(mixed))
    assert step.rank_target(path, RatingQuestion(draws=20)).audits != ()


ROW = {"context": "c", "subset": "regular", "system_a": "x", "system_b": "y", "source": "judge", "judge": "j", "winner": "a"}


@pytest.mark.parametrize(
    "change",
    [
        {"winner": "c"}, {"winner": None}, {"strength": 6}, {"strength": "much"}, {"strength": True}, {"strength": 2.5},
        {"source": "dog"}, {"context": ""}, {"judge": "  "}, {"system_b": "x"}, {"shown_first": "c"}, {"winer": "a"},
        {"presentation": "sung"}, {"axes": 3}, {"axes": {"H": {"winner": "a", "strength": 9}}},
        {"axes": {"Q": {"winner": "a"}}}, {"anything": "else"}, {"axes.H.winner": "b"}, {"replicate": -(2**90)},
        {"subset": 3}, {"repeat": "x"}, {"repeat": 2**80}, {"rationale": 5}, {"axes.H.winner": "z"}, {"own_family": "perhaps"},
        {"strength": "4"}, {"strength": 4.0}, {"shown_first": None}, {"axes": None},
        {"repeat": 7}, {"condition": "telephone"}, {"purpose": "swapped"}, {"own_family": True}, {"replicate": 2},
    ],
)  # fmt: skip
def test_a_row_is_taken_or_refused_in_the_words_of_the_strict_reader(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n\n{json.dumps({**ROW, **change})}\n", encoding="utf-8-sig")
    assert said(lambda: files.read(path)) == said(lambda: read_table(path))


@pytest.mark.parametrize(
    "text", ["", "\n \n", "{", '{"a": 1', "[1]", "3", '{"context": NaN}', "[" * 100_000, "context,subset\na,b\n", "\x00"]
)
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_what_is_no_file_of_judgments_is_refused_in_the_same_words(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    path.write_text(text, encoding="utf-8")
    assert said(lambda: files.read(path)) == said(lambda: read_table(path))


def said(work: Callable[[], Any]) -> str | None:
    try:
        work()
    except UserError as error:
        return str(error)
    return None


def test_several_conditions_or_presentations_are_refused_until_one_is_chosen(mixed: list[Judgment], tmp_path: Path) -> None:
    other = [row.model_copy(update={"condition": "telephone", "presentation": "audio"}) for row in mixed[:80]]
    for change, message in (({"condition": "clean"}, "several line conditions"), ({}, "several presentations")):
        path = tmp_path / "rows.jsonl"
        files.write([*(row.model_copy(update=change) for row in mixed), *other], path)
        with pytest.raises(UserError, match=message):
            rank_many(read_table(path), RatingQuestion(draws=1))
    chosen = rank_many(read_table(path), RatingQuestion(presentation="audio", draws=1))
    assert chosen.board.judgments == len({str(row) for row in other if row.purpose == "main"})
    with pytest.raises(UserError, match="no judgments to rank"):
        rank_many(read_table(path), RatingQuestion(condition="nowhere"))


def test_a_table_takes_a_fraction_of_what_objects_take(simulate: Simulate, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    files.write(simulate(50, 5, 2, axes=True), path)
    table = read_table(path)
    taken = sum(column.nbytes for column in table.columns.values()) + table.axes.nbytes
    assert taken / len(table) < 64
    assert np.array_equal(table["winner"], [{"a": 1, "b": -1, "tie": 0}[row.winner] for row in files.read(path)])


def test_rows_of_a_store_and_rows_that_are_objects_give_the_columns_of_their_file(simulate: Simulate, tmp_path: Path) -> None:
    rows = simulate(12, 4, 2, seed=3, ties=0.4, axes=True)
    rows[3] = rows[3].model_copy(update={"own_family": True, "purpose": "swapped", "replicate": 2})
    stored = stored_table(json.loads(row.model_dump_json()) for row in rows[:-2])
    with_votes = stored_table((json.loads(row.model_dump_json()) for row in rows[:-2]), rows[-2:])
    files.write(rows, tmp_path / "rows.jsonl")
    read = read_table(tmp_path / "rows.jsonl")
    assert len(stored) == len(rows) - 2
    for table in (with_votes, table_of(rows)):
        assert (table.contexts, table.systems, table.judges, table.subsets) == (
            read.contexts, read.systems, read.judges, read.subsets,
        )  # fmt: skip
        assert all((table[name] == read[name]).all() for name in read.columns)
        assert (table.axes == read.axes).all()
