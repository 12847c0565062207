"""Judging of a run in parts: each shard asks its own questions, and all answers end in one store.

A question belongs to the shard that its key gives, and the key contains everything that could change the answer. A shard stores
its answers in a file of its own, since machines that write one SQLite file over a network would damage it. `harness judge run
RUN` then reads all answers, asks the rest, and writes the rows as if it had asked alone.
"""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.judging import VerdictCache
from harness.store.database import locked
from harness.store.paths import SHARDS
from harness.wording import command

STORE: Final = "verdicts.sqlite"
_NAME: Final = re.compile(r"[0-9]+-of-([0-9]+)")


def folder_of(run: Path, shard: tuple[int, int]) -> Path:
    """The folder for a shard's answers.

    Raises:
        UserError: the run was divided into another number of shards before.
    """
    number, of = shard
    for other in _folders(run):
        dealt = _NAME.fullmatch(other.name)
        if dealt is not None and int(dealt[1]) != of:
            raise UserError(
                f"--shard {number}/{of}: {other} belongs to a judging in {dealt[1]} shards; another number would ask twice; "
                f"continue with N = {dealt[1]}, or first read its answers with: {command('judge', 'run', run)}"
            )
    return run / SHARDS / f"{number}-of-{of}"


def dealt_before(run: Path) -> int | None:
    """The number of shards of the judging whose answers are not read yet; None if there are none."""
    dealt = [_NAME.fullmatch(folder.name) for folder in _folders(run)]
    return next((int(match[1]) for match in dealt if match is not None), None)


def falls_to(key: str, shard: tuple[int, int]) -> bool:
    """True if the question with this key belongs to a shard (hexadecimal, as evenly spread as SHA-256)."""
    number, of = shard
    return int(key[:15], 16) % of == number - 1


def take_in(run: Path, cache: VerdictCache) -> int:
    """Copy the answers of all shards into the run's own store, then delete their files.

    Raises:
        UserError: a shard is still being judged, or its file is damaged.
    """
    added = 0
    for folder in _folders(run):
        with locked(folder):
            if (folder / STORE).exists():
                try:
                    added += cache.take_in(folder / STORE)
                except sqlite3.DatabaseError as error:
                    raise UserError(
                        f"{folder / STORE}: is damaged ({error}); remove it, and its questions are asked again"
                    ) from error
            for file in folder.iterdir():
                file.unlink()
        folder.rmdir()
    return added


def _folders(run: Path) -> Sequence[Path]:
    return sorted(path for path in (run / SHARDS).glob("*") if path.is_dir() and _NAME.fullmatch(path.name))
