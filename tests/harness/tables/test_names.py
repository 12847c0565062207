"""Names in tables: spellings that no eye tells apart are one name, look-alikes are two and are said."""

import json
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.figures.rank import rank_target
from harness.judging.completion import read_completions
from harness.ranking.question import RatingQuestion
from harness.ranking.scores import read_scores
from harness.scenarios.pack import load_pack
from harness.store.judgment_files import read_table
from harness.tables.names import MOST_OF_A_NAME, NamesRead, look_alikes, one_name

ALIKE = [("b", "B"), ("b", "ｂ"), ("polaris", "p\u043elaris"), ("a-b", "a\u2011b"), ("caf\u00e9", "CAF\u00c9"), ("a  b", "a b")]
UNSEEN = ["b\u200b", "\u202eb", "b\x1b[31m", "b\x07", "b\u0085c", "\ud800"]


def rows(tmp_path: Path, first: str, second: str, suffix: str) -> Path:
    path = tmp_path / f"rows.{suffix}"
    fields = ("context", "subset", "system_a", "system_b", "source", "judge", "winner")
    cells = [(f"c{n}", "regular", (first, second)[n % 2], "other", "judge", "j", "aab"[n % 3]) for n in range(20)]
    if suffix == "csv":
        path.write_text("\n".join(",".join(row) for row in [fields, *cells]), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(dict(zip(fields, row, strict=True))) + "\n" for row in cells))
    return path


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(("first", "second"), [("b", "b "), ("caf\u00e9", "cafe\u0301"), (" b", "\u00a0b\u3000")])
def test_spellings_of_one_system_are_one_and_are_said(tmp_path: Path, first: str, second: str, suffix: str) -> None:
    ranking = rank_target(path := rows(tmp_path, first, second, suffix), RatingQuestion(draws=10))
    assert {row.system for row in ranking.board.systems} == {one_name(first), "other"}
    (note,) = (note for note in ranking.board.warnings if "read as one" in note)
    assert note.isascii()
    assert read_table(path).systems == tuple(sorted([one_name(first), "other"]))


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_systems_that_look_alike_are_two_and_are_said(tmp_path: Path, first: str, second: str) -> None:
    ranking = rank_target(rows(tmp_path, first, second, "jsonl"), RatingQuestion(draws=10))
    assert {row.system for row in ranking.board.systems} == {first, second, "other"}
    assert any("look alike" in note and ascii(second) in note for note in ranking.board.warnings)


@pytest.mark.parametrize("name", UNSEEN)
def test_a_name_that_cannot_be_shown_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError) as caught:
        rank_target(rows(tmp_path, "b", name, "jsonl"))
    assert "line 2" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_name_of_a_whole_page_is_refused() -> None:
    with pytest.raises(UserError, match=f"{MOST_OF_A_NAME} are allowed"):
        NamesRead().one("system", "x" * (MOST_OF_A_NAME + 1), "rows.csv:2")


def test_different_names_are_no_note() -> None:
    assert look_alikes("system", ["a", "b", "a-1", "a-2", "Ärger", "Arger"]) == []


def test_scores_and_completions_read_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("system,index\ncafe\u0301 ,1\n", encoding="utf-8")
    assert list(read_scores(tmp_path / "scores.csv").scores["index"]) == ["caf\u00e9"]
    contexts = load_pack("heart-mini").contexts
    row = {"context": contexts[0].id, "system": "cafe\u0301", "text": "What is hardest?"}
    (tmp_path / "c.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({**row, "system": "caf\u00e9 "}) + "\n")
    with pytest.raises(UserError, match="a second completion"):
        read_completions(tmp_path / "c.jsonl", contexts)
