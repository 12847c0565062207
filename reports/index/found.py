"""The runs below a folder. A folder with a database is a run, and nothing inside it is searched."""

import os
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.store.database import DATABASE
from harness.wording import command


@dataclass(frozen=True, slots=True)
class Found:
    """Folders of runs, and the topmost folders with no run in or below them."""

    runs: tuple[Path, ...]
    foreign: tuple[Path, ...]


def find_runs(root: Path) -> Found:
    """The runs below `root`. Links to folders are followed when they lead to a run; hidden folders are not searched.

    Raises:
        UserError: `root` is no folder, is a run itself, or has no run below it.
    """
    if not root.is_dir():
        raise UserError(f"{root}: is no folder; name the folder that the runs are in")
    if (root / DATABASE).is_file():
        raise UserError(
            f"{root}: is a run itself; name the folder that it is in, or write its page with {command('report', root)}"
        )
    found = _below(root)
    if not found.runs:
        raise UserError(f"{root}: has no run in it or below it; name the folder that `harness run --out` wrote runs into")
    return found


def _below(folder: Path) -> Found:
    runs: list[Path] = []
    foreign: list[Path] = []
    for entry in sorted(_folders(folder)):
        if (entry / DATABASE).is_file():
            runs.append(entry)
            continue
        inside = Found((), ()) if entry.is_symlink() else _below(entry)
        runs += inside.runs
        foreign += inside.foreign if inside.runs else (entry,)
    return Found(tuple(runs), tuple(foreign))


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
