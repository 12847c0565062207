"""Tables for other programs: no cell moves a cursor or runs as a formula, and what is read again is what was written."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.figures.rank import rank_rows
from harness.judging.completion import Completion
from harness.labelling.label_sheets import labelling_sheet, sample_for_people
from harness.printable import printable, visible_json
from harness.ranking.export import board_csv, board_markdown
from harness.ranking.question import RatingQuestion
from harness.reports.markdown import plain
from harness.scenarios.context import Turn
from harness.scenarios.imports.pause_table import Corrected, write_table
from harness.scenarios.pack import load_pack
from harness.store.judgment import Judgment
from harness.store.judgment_files import as_csv, as_json_lines, read, write
from harness.tables.csv_rows import CsvRows
from harness.tables.csv_text import csv_text

HOSTILE = "\x1b]0;title\x07\x9b31m\u202eesrever\u2066\r\x7f\u200b"
"""A window's title, the bell, a colour by C1, reversed words, a return to the start of the line, what cannot be seen."""


def unseen(text: str) -> list[str]:
    return [c for c in text if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]


def judgment(rationale: str, **more: object) -> Judgment:
    return Judgment.model_validate(
        {
            "context": "c1", "subset": "regular", "system_a": "x", "system_b": "y", "source": "judge", "judge": "j",
            "winner": "a", "rationale": rationale, **more,
        }
    )  # fmt: skip


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "'=", "''=", "'"])
def test_a_formula_is_guarded_and_comes_back(tmp_path: Path, sign: str) -> None:
    text = f'{sign}HYPERLINK("x")'
    (path := tmp_path / "t.csv").write_text(csv_text(["a"], [[text]]), newline="")
    cell = path.read_text().splitlines()[1].strip('"')
    assert cell[0] == "'"
    assert [row.cells["a"] for row in CsvRows(path, ["a"])] == [text]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_any_text_comes_back_as_far_as_it_can_be_shown(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv_text(["n", "a"], [[str(n), text] for n, text in enumerate(texts)]), newline="")
    assert unseen(path.read_text()) == []
    found = [row.cells["a"] for row in CsvRows(path, ["n", "a"])]
    assert found == [printable(text.replace("\r\n", "\n")) for text in texts]


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=30)))
def test_json_has_the_same_value_and_shows_nothing_unseen(value: dict[str, str]) -> None:
    text = visible_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert unseen(text) == []


def test_every_text_that_is_written_can_be_printed(tmp_path: Path) -> None:
    context = load_pack("heart-mini").contexts[0]
    context = context.model_copy(update={"turns": (*context.turns[:-1], Turn(role="seeker", text=f"hi {HOSTILE}"))})
    sample = sample_for_people([context], [Completion(context.id, "x", HOSTILE)], 1, 0)
    rows = [judgment(HOSTILE, context=f"c{n}", winner="ab"[n % 3 % 2]) for n in range(9)]
    board = rank_rows([row.model_copy(update={"system_a": f"x{HOSTILE}"}) for row in rows], RatingQuestion(draws=10)).board
    write_table([(f"a{HOSTILE}.wav", Corrected([(0.5, 0.9)], [2.0]))], tmp_path / "pauses.csv")
    for text in (
        labelling_sheet([context], sample, 0),
        as_csv(rows),
        as_json_lines(rows),
        board_csv(board),
        board_markdown(board),
        plain(HOSTILE).replace("@\u2060", "@"),
        (tmp_path / "pauses.csv").read_text(encoding="utf-8"),
    ):
        assert unseen(text) == []


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_exported_judgments_give_the_same_board(tmp_path: Path, suffix: str) -> None:
    rows = [
        judgment(
            f"- it is warm,\n\"and\" =short; number {n} é {'x' * 200_000 if n == 3 else ''}", context=f"c{n}",
            winner="aab"[n % 3], strength=1 + n % 5, shown_first="ab"[n % 2], axes={"H": {"winner": "a", "strength": 2}},
            system_b=("y", "=z")[n % 2],
        )
        for n in range(24)
    ]  # fmt: skip
    write(rows, path := tmp_path / f"rows.{suffix}")
    assert read(path) == rows
    asked = RatingQuestion(draws=20)
    assert rank_rows(read(path), asked).board.systems == rank_rows(rows, asked).board.systems
