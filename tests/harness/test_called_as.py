"""Commands that are printed to a terminal can be copied from it: the program by the name under which it was called."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from harness.called_as import AsCalled, called_as

COMMANDS = ("report", "judge", "listen", "import-replies", "import")


def renamed(text: str, monkeypatch: pytest.MonkeyPatch, first: str = ".venv/bin/harness") -> str:
    monkeypatch.setattr(sys, "argv", [first])
    monkeypatch.setenv("PATH", "")
    out = io.StringIO()
    AsCalled(cast(io.TextIOWrapper, out), COMMANDS).write(text)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("next: harness judge run r, then harness report r", "next: X judge run r, then X report r"),
        ("`harness listen RUN`", "`X listen RUN`"),
        ("harness import-replies FILE", "X import-replies FILE"),
        ("(harness report)", "(X report)"),
        ("the harness listens; this harness judge; a harness of 3", "the harness listens; this harness judge; a harness of 3"),
        ("/usr/bin/harness report r; python -m harness report r", "/usr/bin/harness report r; python -m harness report r"),
        ("harness: no such run", "harness: no such run"),
    ],
)
def test_commands_are_renamed_and_prose_is_not(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert renamed(text, monkeypatch) == shown.replace("X", ".venv/bin/harness")


def test_a_program_that_the_shell_finds_has_its_plain_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "harness"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert called_as(str(program), []) == "harness"
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert called_as(str(program), []) == str(program)
    assert called_as("/x/harness/__main__.py", ["my python", "-m", "harness"]) == "'my python' -m harness"
    assert called_as("/x/pytest", ["pytest"]) == "harness"


def test_an_error_a_help_and_a_message_name_the_program_as_it_was_called(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("harness")
    if shutil.which("harness") is not None and Path(shutil.which("harness") or "").resolve() == program.resolve():
        pytest.skip("this environment is active")
    link = tmp_path / "venv"
    link.symlink_to(program.parent)
    for words in (["report", "nowhere"], ["report", "--help"]):
        assert "venv/harness r" in _printed(tmp_path, *words)
    assert "`harness run`" in _printed(tmp_path, "report", "nowhere", "--json")


def _printed(folder: Path, *words: str) -> str:
    """All that the program prints, called as `venv/harness` in a folder."""
    done = subprocess.run(
        ["venv/harness", *words], cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}, check=False
    )
    return done.stdout + done.stderr
