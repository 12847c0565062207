"""The job that comments on a pull request: what the other job wrote is anybody's text to it."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from harness.init import Answers, files_for
from harness.init.answers import DEMO
from harness.init.files import GITHUB

MOST = 65_536
"""Characters of a comment on GitHub."""


def commented(folder: Path) -> str | None:
    """The text that the job's own line gives to `gh`, which is a file's copy here; None where there is no comment."""
    workflow = yaml.safe_load(files_for(Answers(DEMO, pack="heart-mini", install="."))[GITHUB])
    line = next(step["run"] for step in workflow["jobs"]["comment"]["steps"] if step.get("name") == "Comment")
    (folder / "bin").mkdir()
    gh = folder / "bin" / "gh"
    gh.write_text('#!/bin/sh\n[ "$1 $2 $3 $5" = "pr comment 7 us/bot" ] && cp comment.md given.md\n', encoding="utf-8")
    gh.chmod(0o755)
    path = f"{gh.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PULL": "7", "GITHUB_REPOSITORY": "us/bot", "GH_TOKEN": "secret-token"}
    done = subprocess.run(["bash", "-e", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    given = folder / "given.md"
    return given.read_text(encoding="utf-8") if given.exists() else None


def summary(folder: Path, number: int) -> Path:
    place = folder / "summaries" / f"voice-agent-summary-{number}"
    place.mkdir(parents=True)
    return place / "gate.md"


def test_summaries_are_added_in_order(tmp_path: Path) -> None:
    for number, word in ((1, "second"), (0, "first")):
        summary(tmp_path, number).write_text(f"## {word}\n| a | b |\n", encoding="utf-8")
    assert commented(tmp_path) == "## first\n| a | b |\n## second\n| a | b |\n"


@pytest.mark.parametrize(
    "text",
    [
        b"$(touch owned) `touch owned` ${{ github.token }}",
        b"\x00\x1b[2J\xff\xfe @everybody",
        b"@" * 3_000_000,
        "ü".encode() * 90_000,
    ],
)
def test_a_hostile_summary_is_a_short_text(tmp_path: Path, text: bytes) -> None:
    for number in range(30):
        summary(tmp_path, number).write_bytes(text)
    given = commented(tmp_path)
    assert given is not None
    assert len(given) <= MOST
    assert not [sign for sign in ("@", "\x00", "\x1b") if sign in given]
    assert not (tmp_path / "owned").exists()


def test_a_link_to_another_file_is_no_summary(tmp_path: Path) -> None:
    summary(tmp_path, 0).symlink_to("/proc/self/environ")
    assert commented(tmp_path) is None
