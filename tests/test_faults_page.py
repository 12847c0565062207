"""The table of faults is only worth something if every row names a test that there is."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = [
    line
    for line in (ROOT / "docs" / "faults.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| fault ")
]


def test_every_row_names_a_test_that_exists() -> None:
    assert len(ROWS) > 40
    for row in ROWS:
        *_, last = row.strip("|").split("|")
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", last)
        assert named, f"no test in: {row}"
        for path, name in named:
            module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            tests = {n.name for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
            assert name in tests, f"{path} has no {name}"
