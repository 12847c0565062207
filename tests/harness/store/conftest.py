"""Runs of the first layout, made by the harness of that time, to open copies of."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

LAYOUT_1 = Path(__file__).parent / "layout_1"


@pytest.fixture
def old_run(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of `one-condition` (three agents, one of them mute) or `two-conditions` (two agents, two repeats; no sound)."""

    def copied(name: str) -> Path:
        return Path(shutil.copytree(LAYOUT_1 / name, tmp_path / name))

    return copied


def digest(folder: Path) -> dict[str, str]:
    """Every file of a folder by what is in it; a folder by its name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }
