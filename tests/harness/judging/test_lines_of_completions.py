"""Replies with a separator of lines in their text are one line of a file of completions."""

import json
from pathlib import Path

import pytest

from harness.judging.completion import read_completions
from harness.scenarios.pack import load_pack


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85"])
def test_a_separator_within_a_reply_does_not_end_its_line(char: str, tmp_path: Path) -> None:
    (context, *_) = load_pack("heart-mini").contexts
    path = tmp_path / "mine.jsonl"
    row = {"system": "mine", "context": context.id, "text": f"I hear{char}you."}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\r\n\n", encoding="utf-8")
    assert [c.text for c in read_completions(path, [context]).completions] == [f"I hear{char}you."]
