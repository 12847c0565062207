"""JSON and TOML of others end in a value or in one exception, and so do the readers of files."""

from pathlib import Path

import pytest

from harness.agents.profile import ProfileError, parse_profile
from harness.errors import UserError
from harness.foreign_text import NotReadable, read_json, read_toml
from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.jsonl import import_jsonl
from harness.store import judgment_files

DEEP = "[" * 100_000
LONG = "9" * 5_000


@pytest.mark.parametrize(("text", "words"), [(DEEP, "nested too deep"), (LONG, "more than 4,300 digits"), ("{", "Expecting")])
def test_json_that_is_none_is_one_exception(text: str, words: str) -> None:
    with pytest.raises(NotReadable, match=words) as caught:
        read_json(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [DEEP, LONG, "1979-99-99", "="])
def test_toml_that_is_none_is_one_exception(value: str) -> None:
    with pytest.raises(NotReadable):
        read_toml(f"x = {value}")
    with pytest.raises(ProfileError):
        parse_profile(f'kind = "text"\nx = {value}', Path("p.toml"))


@pytest.mark.parametrize("line", [DEEP, f'{{"context": {LONG}}}'])
def test_files_of_others_are_refused_in_one_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(UserError, match=r"rows\.jsonl, line 1: not JSON"):
        judgment_files.read(file)
    with pytest.raises(ImportFault, match=r"rows\.jsonl:1: not JSON"):
        import_jsonl(file)
