"""What a full, read-only or vanished disk does to a run: named, in one line, wherever a write came upon it.

A run writes at a hundred places, and each can fail for the disk's sake at any moment. So no place deals with that alone: the
errors pass up to one handler, which tells those of the disk from all others and says what was kept and how to go on.
Nothing is lost by that, because a session counts only once it is whole (see `run_store`).
"""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.errors import StorageError

_OF_THE_DISK: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENODEV, errno.ENXIO)
)
_OF_THE_DISK_SQLITE: Final = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
)


def storage_fault(error: BaseException) -> str | None:
    """What the disk did, in words; None where an error is not the disk's."""
    if isinstance(error, StorageError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    if isinstance(error, sqlite3.OperationalError):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte: the rest says where in SQLite it was found
        return str(error) if code in _OF_THE_DISK_SQLITE else None
    return None


@contextmanager
def storage_named(run: Path, how_to_go_on: Callable[[], str]) -> Iterator[None]:
    """Turn what the disk of a run does inside the block into one line.

    Raises:
        StorageError: a file of the run could not be written, or the run's folder is gone.
    """
    try:
        yield
    except (OSError, sqlite3.OperationalError, StorageError) as error:
        fault = "the folder is gone" if not run.is_dir() else storage_fault(error)
        if fault is None:
            raise
        raise StorageError(f"{run}: cannot be written ({fault}); {how_to_go_on()}") from error


def free_bytes(folder: Path) -> int:
    """Room on the disk that a folder is on, or will be once it is made."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def flush(path: Path) -> None:
    """Have a file, or a folder's list of names, safe on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(folder: Path) -> None:
    """A folder with all that is in it."""
    for path in folder.rglob("*"):
        flush(path)
    flush(folder)
