"""Every reader of a user's table, on every kind of file that a path can lead to: one line that names it, soon, or the rows."""

import codecs
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.calls.recordings import find_calls
from harness.errors import UserError
from harness.judging.completion import read_completions
from harness.judging.validation.label_files import read_labels
from harness.labelling.label_replies import every_label
from harness.labelling.label_sheets import HEADER, read_sheet
from harness.ranking.scores import read_scores
from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.pause_table import read_table as read_pauses
from harness.scenarios.pack import load_pack
from harness.store import judgment_files
from harness.tables.csv_rows import MOST_OF_A_CELL, CsvRows, number
from harness.tables.lines import MOST_OF_A_LINE
from harness.votes.vote import read_votes

CONTEXTS = load_pack("heart-mini").contexts
Read = Callable[[Path], Any]


def measured_calls(table: Path) -> Any:
    (table.parent / "call.wav").write_bytes(b"RIFF")
    return find_calls(table.parent / "call.wav", table)


CSV: dict[str, tuple[Read, list[list[str]]]] = {
    "judgments": (
        judgment_files.read,
        [["context", "subset", "system_a", "system_b", "source", "judge", "winner", "rationale"],
         ["c1", "regular", "x", "y", "judge", "j", "a", "short, and warm; both"]],
    ),
    "many judgments": (
        judgment_files.read_table,
        [["context", "subset", "system_a", "system_b", "source", "judge", "winner"],
         ["c1", "regular", "x", "y", "judge", "j", "a"]],
    ),
    "votes": (
        read_votes,
        [["context", "subset", "system_a", "system_b", "rater", "vote", "reason"],
         ["c1", "regular", "x", "y", "ann", "a_much", "warm, and short"]],
    ),
    "scores": (read_scores, [["system", "family", "index"], ["x", "one", "0.5"]]),
    "labels": (
        lambda path: read_labels(path, (1, 5)),
        [["context", "reply", "rater", "dimension", "score"], ["t", "one", "a", "warm", "1"], ["t", "two", "a", "warm", "5"]],
    ),
    "sheet": (lambda path: read_sheet(path, [1]), [list(HEADER), ["1", "hi", "hello", "x", *[""] * (len(HEADER) - 4)]]),
    "calls": (measured_calls, [["file", "caller"], ["call.wav", "left"]]),
    "pauses": (read_pauses, [["file", "pause_start_s", "pause_end_s", "end_s"], ["a.wav", "0.5", "0.9", ""]]),
}  # fmt: skip
JSONL: dict[str, tuple[Read, dict[str, Any]]] = {
    "judgments": (
        judgment_files.read,
        {"context": "c", "subset": "s", "system_a": "x", "system_b": "y", "source": "judge", "judge": "j", "winner": "a"},
    ),
    "many judgments": (
        judgment_files.read_table,
        {"context": "c", "subset": "s", "system_a": "x", "system_b": "y", "source": "judge", "judge": "j", "winner": "a"},
    ),
    "completions": (
        lambda path: read_completions(path, CONTEXTS),
        {"context": CONTEXTS[0].id, "system": "mine", "text": "What is hardest?"},
    ),
    "labels": (
        lambda path: read_labels(path, (1, 5)), {"context": "t", "reply": "one", "rater": "a", "dimension": "warm", "score": 1},
    ),
    "strategies": (
        every_label, {"context": "c", "system": "x", "strategy": "question", "state": "present", "labeller": "me"},
    ),
}  # fmt: skip


def text_of(rows: Iterable[Iterable[str]], delimiter: str = ",") -> str:
    return "".join(delimiter.join(f'"{c}"' if delimiter in c else c for c in row) + "\r\n" for row in rows)


def fault(read: Read, path: Path) -> str:
    with pytest.raises((UserError, ImportFault)) as caught:
        read(path)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 600
    assert path.name in said
    return said


@pytest.mark.parametrize("name", CSV)
@pytest.mark.parametrize(
    ("encoding", "delimiter"),
    [("utf-8", ","), ("utf-8-sig", ","), ("utf-8", ";"), ("utf-8", "\t"), ("utf-16", "\t"), ("utf-8-sig", ";")],
)
def test_what_spreadsheets_write_is_read(tmp_path: Path, name: str, encoding: str, delimiter: str) -> None:
    read, rows = CSV[name]
    (plain := tmp_path / "plain.csv").write_text(text_of(rows))
    (path := tmp_path / "saved.csv").write_bytes(text_of(rows, delimiter).encode(encoding))
    padded = [[*row, "", ""] for row in rows]
    (wide := tmp_path / "padded.csv").write_bytes(text_of([*padded, [""] * (len(rows[0]) + 2)], delimiter).encode(encoding))
    if name != "many judgments":  # A table has no equality.
        assert read(plain) == read(path) == read(wide) or name == "labels"
    read(wide)


@pytest.mark.parametrize("name", CSV)
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("empty", ""),
        ("nul", "NUL"),
        ("latin-1", "cannot be read as UTF-8 (the byte 0xE9)"),
        ("cut utf-16", "UTF-16"),
        ("a column twice", "is there twice"),
        ("a cell missing", "cells where the header has"),
        ("a cell more", "cells where the header has"),
        ("a quote left open", "never closed"),
        ("an endless cell", "a cell of over"),
        ("an endless line", "a line of over"),
        ("pipes", "read as divided by commas"),
        ("many columns", "columns"),
    ],
)
def test_a_damaged_table_is_named_in_one_line(tmp_path: Path, name: str, kind: str, says: str) -> None:
    read, rows = CSV[name]
    text = text_of(rows)
    path = tmp_path / "damaged.csv"
    content: dict[str, Callable[[], bytes]] = {
        "empty": lambda: b"",
        "nul": lambda: text.encode() + b"a\0b\r\n",
        "latin-1": lambda: text.encode() + b"caf\xe9\r\n",
        "cut utf-16": lambda: codecs.BOM_UTF16_LE + b"a\0b",
        "a column twice": lambda: text_of([[*row, row[0]] for row in rows]).encode(),
        "a cell missing": lambda: text.encode() + b"one\r\n",
        "a cell more": lambda: text_of([*rows, [*rows[-1], "more"]]).encode(),
        "a quote left open": lambda: text.encode() + b'"open\r\n',
        "an endless cell": lambda: text.encode() + b'"' + b"x" * 900 * (MOST_OF_A_CELL // 900 + 1) + b'"\r\n',
        "an endless line": lambda: text.encode() + b"x" * (MOST_OF_A_LINE + 1),
        "pipes": lambda: text_of(rows, "|").encode(),
        "many columns": lambda: ",".join([*rows[0], *map(str, range(2_000))]).encode(),
    }
    path.write_bytes(content[kind]())
    assert says in fault(read, path)


@pytest.mark.parametrize("name", [*CSV, *(f"{name}.jsonl" for name in JSONL)])
def test_what_is_no_file_is_said_and_nothing_waits(tmp_path: Path, name: str) -> None:
    read = JSONL[name.removesuffix(".jsonl")][0] if name.endswith(".jsonl") else CSV[name][0]
    suffix = "jsonl" if name.endswith(".jsonl") else "csv"
    (folder := tmp_path / f"folder.{suffix}").mkdir()
    os.mkfifo(pipe := tmp_path / f"pipe.{suffix}")
    (zero := tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    (away := tmp_path / f"away.{suffix}").symlink_to(tmp_path / "nowhere")
    if not name.startswith("labels"):  # A folder of published labels is read.
        assert "is a folder" in fault(read, folder)
    for path in (pipe, zero):
        assert "no regular file" in fault(read, path)
    assert "no such file" in fault(read, away)


def test_published_labels_that_are_no_file_are_said(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.json")
    (zero := tmp_path / "zero.json").symlink_to("/dev/zero")
    for path in (pipe, zero):
        assert "no regular file" in fault(lambda path: read_labels(path, (1, 5)), path)
    os.truncate(large := _touched(tmp_path / "large.json"), 65 * 2**20)
    assert "larger than 64 MiB" in fault(lambda path: read_labels(path, (1, 5)), large)


def _touched(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize("name", JSONL)
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda text: text.replace("{", '{"context": "another", ', 1), "'context' is there twice"),
        (lambda text: text[:-1] + ', "repeat": ' + "9" * 5_000 + "}", "5000 digits"),
        (lambda text: text[:-1] + ', "repeat": ' + "9" * 200 + "}", "200 digits"),
        (lambda text: text[:-1] + ', "repeat": NaN}', "NaN"),
        (lambda text: text[:-1] + ', "repeat": -Infinity}', "Infinity"),
        (lambda text: text[:-1] + ', "repeat": 1e400}', "too large"),
        (lambda text: text[:-1] + ', "repeat": "\\ud800"}', "half a character"),
        (lambda text: text[:-1] + ', "repeat": ' + "[" * 100_000 + "}", "not JSON"),
        (lambda text: text[:-1] + ', "axes": {"H": {"winner": "a", "winner": "b"}}}', "'winner' is there twice"),
        (lambda text: f"[{text}]", "object"),
        (lambda _: "true", "object"),
        (lambda text: text[:-1], "not JSON"),
        (lambda text: text + "\0", "NUL"),
        (lambda _: "x" * (MOST_OF_A_LINE + 1), "a line of over"),
    ],
)
def test_a_line_that_json_does_not_settle_is_refused(tmp_path: Path, name: str, wrong: Callable[[str], str], says: str) -> None:
    read, row = JSONL[name]
    (path := tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n{wrong(json.dumps(row))}\n")
    said = fault(read, path)
    assert says in said
    assert "rows.jsonl:2" in said or "rows.jsonl, line 2" in said


def test_other_line_separators_are_characters_of_a_text(tmp_path: Path) -> None:
    row = JSONL["judgments"][1] | {"rationale": "one\u2028two\u0085three"}
    (path := tmp_path / "rows.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    assert judgment_files.read(path)[0].rationale == row["rationale"]


@pytest.mark.parametrize(
    "cell", ["nan", "inf", "-inf", "1e400", "-1e400", "1_000", "٣", "0x1", "9" * 5_000, "", "true", True, None, [1]]
)
def test_what_is_no_number_is_refused(cell: object) -> None:
    with pytest.raises(UserError, match=r"here: .* is no number"):
        number(cell, "here")


def test_a_number_with_a_comma_is_explained() -> None:
    with pytest.raises(UserError, match="point"):
        number("0,5", "here")
    assert [number(cell, "here") for cell in ("1", " -2.5 ", "1e3", ".5", 3, 0.25)] == [1, -2.5, 1000, 0.5, 3, 0.25]


def test_a_place_is_the_line_on_which_a_row_begins(tmp_path: Path) -> None:
    (path := tmp_path / "rows.csv").write_text('a,b\n1,"two\nlines"\n\n3,4\n')
    assert [row.where for row in CsvRows(path, ("a", "b"))] == [f"{path}:2", f"{path}:5"]
