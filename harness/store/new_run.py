"""The folder of a run that begins: made whole, or left so that the same folder will do once there is room.

What a user named by mistake (a file, a folder with something else in it, another run) is never written over.
"""

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from harness.errors import StorageError, UserError
from harness.files import own_folder
from harness.scenarios.context import Context
from harness.store.database import DATABASE, SESSIONS, create_database, nothing_but_a_killed_start
from harness.store.disk import storage_fault
from harness.store.manifest import RunManifest


def new_run(folder: Path, manifest: RunManifest, contexts: Sequence[Context]) -> sqlite3.Connection:
    """The database of a new run in a new or empty folder.

    Raises:
        UserError: the folder is not empty, or cannot be written.
        StorageError: it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--out {folder}: is a file, not a directory; choose another path")
    if (folder / DATABASE).exists():
        raise UserError(f"--out {folder}: holds another run; add --resume to go on with it, or choose another path")
    if folder.exists() and not nothing_but_a_killed_start(folder):
        raise UserError(f"--out {folder}: is not empty; choose a new directory")
    try:
        for place in (folder, folder / SESSIONS, folder / "logs"):
            own_folder(place)
        return create_database(folder, manifest, contexts)
    except (OSError, sqlite3.OperationalError) as error:
        for name in (SESSIONS, "logs"):  # so that the same folder will do once there is room
            shutil.rmtree(folder / name, ignore_errors=True)
        if isinstance(error, PermissionError):
            raise UserError(
                f"--out {folder}: cannot be written ({error.strerror}); go to a folder of yours, or choose one with --out"
            ) from error
        fault = storage_fault(error) or str(error)
        raise StorageError(f"--out {folder}: cannot be written ({fault}); make room, or choose another path") from error
