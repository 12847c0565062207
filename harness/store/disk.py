"""Errors of a full, read-only or missing disk, turned into one line wherever a write fails.

A run writes at a hundred places, and each can fail because of the disk at any moment. So no place handles that alone: the
errors go up to one handler, which separates those of the disk from all others and states what was saved and how to continue.
Nothing is lost by that, because a session counts only once it is complete (see `run_store`).
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
    """The disk's fault, in words; None where an error is not from the disk."""
    if isinstance(error, StorageError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    if isinstance(error, sqlite3.OperationalError):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte: the rest is the place in SQLite
        return str(error) if code in _OF_THE_DISK_SQLITE else None
    return None


def storage_cause(error: BaseException) -> str | None:
    """The disk's fault behind an error, in words; None where no error that led to it is from the disk."""
    behind: BaseException | None = error
    while behind is not None:
        if (fault := storage_fault(behind)) is not None:
            return fault
        behind = behind.__cause__ or behind.__context__
    return None


@contextmanager
def storage_named(run: Path, how_to_go_on: Callable[[], str]) -> Iterator[None]:
    """Turn disk errors inside the block into an error of one line.

    Raises StorageError: a file of the run could not be written, or the run's folder is gone.
    """
    try:
        yield
    except (OSError, sqlite3.OperationalError, StorageError) as error:
        fault = "the folder is gone" if not run.is_dir() else storage_fault(error)
        if fault is None:
            raise
        raise StorageError(f"{run}: cannot be written ({fault}); {how_to_go_on()}") from error


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder, also of one that is not made yet."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def flush(path: Path) -> None:
    """Flush a file, or a folder's list of names, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(folder: Path) -> None:
    """Flush a folder and everything in it to the disk."""
    for path in folder.rglob("*"):
        flush(path)
    flush(folder)
