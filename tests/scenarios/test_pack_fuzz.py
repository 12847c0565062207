"""Whatever bytes a pack file holds, loading ends in a pack or in one line, never in a traceback."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.scenarios import PackError, load_pack

TEXT = (Path(__file__).resolve().parents[2] / "scenarios" / "packs" / "heart-mini.yaml").read_bytes()[:2600]
FRAGMENTS = [
    *(
        b"<<: ",
        b"&a ",
        b"*a",
        b"!!int ",
        b"? ",
        b"- ",
        b"{",
        b"}",
        b"[",
        b"]",
        b"|\n",
        b": ",
        b"\t",
        b"'",
        b'"',
        b"=",
        b"~",
    ),
    *(b"\x00", b"\xff", b"\xe2\x80\xa8", b"%YAML 9.9\n", b"---\n", b"...\n"),
    *(b"1e999", b"0o7", b"12:30:45", b".nan", b"2026-99-99", b"9" * 5000),
]
EDIT = st.tuples(st.integers(0, len(TEXT)), st.integers(0, 40), st.sampled_from(FRAGMENTS) | st.binary(max_size=6))


def refusal_of(path: Path) -> str:
    try:
        load_pack(path)
    except PackError as error:
        return str(error)
    return ""


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDIT, min_size=1, max_size=5))
def test_a_damaged_pack_is_one_line_or_still_a_pack(tmp_path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    raw = TEXT
    for at, cut, put in edits:
        raw = raw[:at] + put + raw[at + cut :]
    path = tmp_path / "damaged.yaml"
    path.write_bytes(raw)
    refusal = refusal_of(path)
    assert refusal == "" or refusal.startswith(str(path))
    assert "\n" not in refusal
    assert len(refusal) < 1_000
