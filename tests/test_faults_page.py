"""The list of faults is only worth something if every row names a test that there is, and the users' page words that it has."""

import ast
import re
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
LISTED = "".join((DOCS / "evidence" / f"faults-{half}.md").read_text(encoding="utf-8") for half in ("agents", "elsewhere"))
ROWS = [line for line in LISTED.splitlines() if line.startswith("| ") and not line.startswith("| fault ")]


@cache
def names_in(path: str) -> set[str]:
    module = ast.parse((DOCS.parent / path).read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_row_names_a_test_that_exists() -> None:
    assert len(ROWS) > 100
    for row in ROWS:
        *_, last = row.strip("|").split("|")
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", last)
        assert named, f"no test in: {row}"
        for path, name in named:
            assert name in names_in(path), f"{path} has no {name}"


def test_a_kind_on_the_users_page_is_in_the_list() -> None:
    page = (DOCS / "faults.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r"`([a-z]+(?:_[a-z]+)+|[a-z]{4,})`", page)) - {"failures", "timeout_s", "nohup"}
    assert len(kinds) > 20
    assert {kind for kind in kinds if f"`{kind}`" not in LISTED} == set()
