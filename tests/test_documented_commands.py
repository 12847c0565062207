"""Every `harness` line of the README and the docs names a command that exists, with options that it has."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from harness.cli import app

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "recipes").glob("*")))
SHELLS = ("", "sh", "bash", "console")
_CALL = re.compile(r"(?:^|[\s/&;(])harness(\s[^&;)#]*)")


def shell_lines(page: Path) -> Iterator[str]:
    """What stands in the page's blocks of shell, lines that go on joined."""
    language: str | None = None
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("```"):
            language = line.strip().removeprefix("```") if language is None else None
        elif language in SHELLS:
            yield line.removeprefix("$ ")


def documented(page: Path) -> Iterator[list[str]]:
    """The words behind `harness` of each line that a reader could type."""
    for line in shell_lines(page):
        for call in _CALL.findall(line):
            if not line.lstrip().startswith("#") and "…" not in call and call.count('"') % 2 == call.count("'") % 2 == 0:
                yield shlex.split(call.partition(" > ")[0], comments=True)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_reader_can_type_it(page: Path) -> None:
    for words in documented(page):
        command: Any = get_command(app)
        rest = list(words)
        while rest and getattr(command, "commands", None) and rest[0] in command.commands:
            command = command.commands[rest.pop(0)]
        line = f"{page.name}: harness {' '.join(words)}"
        assert not getattr(command, "commands", None) or not rest or rest[0].startswith("-"), f"{line}: no such command"
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
        for word in rest:
            if word.startswith("--"):
                assert word.partition("=")[0] in known, f"{line}: no option {word}"


def test_the_pages_hold_commands() -> None:
    assert sum(len(list(documented(page))) for page in PAGES) > 20
