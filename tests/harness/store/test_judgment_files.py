import json
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.store.judgment_files import NEEDED, read, write
from tests.harness.conftest import Simulate

FIRST_SEVEN = {
    "context": "c1",
    "subset": "regular",
    "system_a": "x",
    "system_b": "y",
    "source": "judge",
    "judge": "j",
    "winner": "a",
}


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_what_is_written_is_read_back(simulate: Simulate, tmp_path: Path, name: str) -> None:
    rows = [
        r.model_copy(
            update={
                "rationale": 'says "yes",\nthen more – ü',
                "purpose": "swapped",
                "condition": "telephone",
                "replicate": 2,
                "draw_rate": 0.75,
            }
        )
        for r in simulate(5, 3, 2, axes=True, ties=0.4)
    ]
    write(rows, tmp_path / name)
    assert read(tmp_path / name) == rows


def test_the_first_seven_columns_suffice(tmp_path: Path) -> None:
    csv_file, json_file = tmp_path / "a.csv", tmp_path / "a.jsonl"
    csv_file.write_text(",".join(NEEDED) + "\r\n" + ",".join(FIRST_SEVEN.values()) + "\r\n", encoding="utf-8-sig")
    json_file.write_text(json.dumps(FIRST_SEVEN) + "\r\n\r\n")
    assert read(csv_file) == read(json_file)
    assert read(csv_file)[0].strength == 1


def test_axes_may_be_nested_or_flat_and_other_columns_are_passed_over(tmp_path: Path) -> None:
    flat = {**FIRST_SEVEN, "axes.H.winner": "a", "axes.H.strength": 3, "wall_clock": "noon"}
    nested = {**FIRST_SEVEN, "axes": {"H": {"winner": "a", "strength": 3}, "E": None}}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(flat) + "\n" + json.dumps(nested) + "\n")
    one, two = read(path)
    assert one == two
    assert one.axes["H"].strength == 3


BAD_LINES: dict[str, tuple[dict[str, object], str]] = {
    "winner": ({"winner": "left"}, "line 2, field winner"),
    "strength": ({"strength": 9}, "line 2, field strength"),
    "empty": ({"context": " "}, "line 2, field context: is empty"),
    "itself": ({"system_b": "x"}, "line 2, field system_b: 'x' is set against itself"),
    "slip": ({"strenght": 3}, "line 2, field strenght: unknown; did you mean 'strength'"),
    "axis": ({"axes": {"H": {"winner": "q"}}}, "line 2, field axes.H.winner"),
    "axes": ({"axes": 3}, "line 2, field axes"),
    "both forms": ({"axes": {"H": 3}, "axes.H.winner": "a"}, "line 2, field axes.H"),
    "type": ({"context": ["c"]}, "line 2, field context"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_named_by_file_line_and_field_in_one_line(tmp_path: Path, case: str) -> None:
    change, message = BAD_LINES[case]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(FIRST_SEVEN) + "\n" + json.dumps({**FIRST_SEVEN, **change}) + "\n")
    with pytest.raises(UserError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{not json}\n", "line 1: not JSON"),
        ("a.jsonl", b"[1]\n", "a judgment is a JSON object, not list"),
        ("a.jsonl", b"\n\n", "holds no judgments"),
        ("a.jsonl", b"\xff\xfe\x00", "cannot be read as UTF-8"),
        ("a.csv", b"context,subset,system_a,system_b,source,judge\n", "column 'winner' is missing"),
        ("a.csv", ",".join(NEEDED).encode() + b"\nc,regular,x\n", "line 2: 3 cells where the header has 7"),
        ("a.csv", ",".join((*NEEDED, "winner")).encode() + b"\n", "column 'winner' is there twice"),
        ("a.csv", ",".join(NEEDED).encode() + b"\nc,regular,x,y,judge,j,A\n", "line 2, field winner"),
    ],
)
def test_a_bad_file_gives_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
