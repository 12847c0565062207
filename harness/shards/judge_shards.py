"""Judging a run in parts: each shard puts its own questions, and all answers end in one store.

A question belongs to the shard that its key names, and the key holds everything that could change the answer; so the same
question never falls to two shards, whoever deals them and in whatever order. A shard keeps its answers in a file of its own,
since machines that write one SQLite file over a network would damage it, and writes nothing else: neither rows nor checks.
`harness judge RUN` then takes all answers in, puts what is left (the check, the canaries, a shard that failed), and writes the
rows as if it had asked alone.
"""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.judging import VerdictCache
from harness.store.database import locked
from harness.wording import command

SHARDS: Final = "verdicts"
"""In the run's folder: one folder a shard, with its answers."""
STORE: Final = "verdicts.sqlite"
_NAME: Final = re.compile(r"[0-9]+-of-([0-9]+)")


def folder_of(run: Path, shard: tuple[int, int]) -> Path:
    """Where a shard keeps its answers.

    Raises:
        UserError: the run was dealt to another number of shards before.
    """
    number, of = shard
    for other in _folders(run):
        dealt = _NAME.fullmatch(other.name)
        if dealt is not None and int(dealt[1]) != of:
            raise UserError(
                f"--shard {number}/{of}: {other} is of a judging in {dealt[1]} shards, and another dealing would ask twice; "
                f"go on with N = {dealt[1]}, or take its answers in first with: {command('judge', run)}"
            )
    return run / SHARDS / f"{number}-of-{of}"


def dealt_before(run: Path) -> int | None:
    """To how many shards the judging was dealt whose answers are waiting; None where none are."""
    dealt = [_NAME.fullmatch(folder.name) for folder in _folders(run)]
    return next((int(match[1]) for match in dealt if match is not None), None)


def falls_to(key: str, shard: tuple[int, int]) -> bool:
    """Whether a shard puts the question with this key (hexadecimal, as evenly spread as SHA-256 is)."""
    number, of = shard
    return int(key[:15], 16) % of == number - 1


def take_in(run: Path, cache: VerdictCache) -> int:
    """Take the answers of all shards into the run's own store; their files stay until that is done, and then go.

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
                        f"{folder / STORE}: is damaged ({error}); remove it, and its questions are put again"
                    ) from error
            for file in folder.iterdir():
                file.unlink()
        folder.rmdir()
    return added


def _folders(run: Path) -> Sequence[Path]:
    return sorted(path for path in (run / SHARDS).glob("*") if path.is_dir() and _NAME.fullmatch(path.name))
