"""The SQLite file of a run: created completely or not at all, and read only after a check that this harness understands it.

All faults of a run's folder are found when it is opened and before a byte is written. An older run is brought up to date in
memory first; the file changes only after that copy has been checked. Where the file cannot change (read-only media, or another
process is working on the run) the copy in memory is read. What a user named by mistake is never written over.
"""

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from pydantic_core import from_json

from harness.agents.secrets import redact
from harness.errors import StorageError, UserError
from harness.files import own_file, own_folder
from harness.scenarios.context import Context
from harness.store.disk import storage_fault
from harness.store.manifest import RunManifest, read_manifest
from harness.store.migrations import LAYOUT, VERSION, migrate, version_of
from harness.store.old_load import is_old_load, read_old_load
from harness.store.session import insert_calls
from harness.wording import command

DATABASE = "run.sqlite"
SESSIONS = "sessions"
_LOCK = "run.lock"
_ASKED_S = 0.05
DAMAGE = (sqlite3.DatabaseError, ValueError, TypeError, KeyError, IndexError)
"""Errors from reading a damaged database: SQLite's own, and those of text that is not as it was written."""


def create_database(folder: Path, manifest: RunManifest, contexts: Sequence[Context]) -> sqlite3.Connection:
    """A run's database in a folder that has none; it gets its name only once it is complete."""
    unfinished = folder / f"{DATABASE}.new"
    journal = Path(f"{unfinished}-journal")
    journal.unlink(missing_ok=True)
    unfinished.unlink(missing_ok=True)
    try:
        with closing(_connect(own_file(unfinished), "rwc")) as database, database:
            _fill(database, manifest, contexts)
        unfinished.rename(folder / DATABASE)
    finally:
        unfinished.unlink(missing_ok=True)
        journal.unlink(missing_ok=True)
    return _connect(folder / DATABASE, "rw")


def no_run_but_a_file(path: Path) -> str:
    """The sentence on a file in the place of a run's folder: most are replies that somebody wants to be compared."""
    if path.name == DATABASE:
        return f"{path}: is a run's own file; name its folder, {path.parent}"
    again = command("import-replies", path, "--pack", "PACK")
    return f"{path}: is a file and no run; if it holds replies, make a run of them first: {again}"


def nothing_but_a_killed_start(folder: Path) -> bool:
    """True if a folder contains only files that a run makes before its database; a run that was killed there has nothing to
    lose."""
    begun = (f"{DATABASE}.new", f"{DATABASE}.new-journal", _LOCK)
    return all(
        (entry.is_dir() and not any(entry.iterdir())) if entry.name in (SESSIONS, "logs") else entry.name in begun
        for entry in folder.iterdir()
    )


def _fill(database: sqlite3.Connection, manifest: RunManifest, contexts: Sequence[Context]) -> None:
    database.executescript(f"BEGIN; {LAYOUT} PRAGMA user_version = {VERSION};")
    database.execute("INSERT INTO manifest VALUES (1, ?)", (redact(manifest.model_dump_json()),))
    insert_contexts(database, enumerate(contexts))


def insert_contexts(
    database: sqlite3.Connection, placed: Iterable[tuple[int, Context]], *, or_else: Literal["", "OR IGNORE"] = ""
) -> None:
    """Store contexts at their positions; `or_else` says what becomes of one that is there already."""
    rows = [(place, c.id, c.model_dump_json(exclude_defaults=True)) for place, c in placed]
    database.executemany(f"INSERT {or_else} INTO contexts VALUES (?, ?, ?)", rows)


def open_database(folder: Path, *, files_may_be_gone: bool = False) -> sqlite3.Connection:
    """The database of the run in `folder`, in today's layout.

    Args:
        files_may_be_gone: do not check that the files of its sessions are there.

    Raises UserError: there is no run, it is damaged, of a newer harness, or incomplete; nothing has been written.
    """
    path = folder / DATABASE
    if not path.exists() and is_old_load(folder):
        return _with_load(folder)
    if folder.is_file():
        raise UserError(no_run_but_a_file(folder))
    if not path.is_file() or not path.stat().st_size:
        why = f"{DATABASE} is empty" if path.is_file() else f"no {DATABASE} in it"
        raise UserError(f"{folder}: holds no run ({why}); name the folder that `harness run` printed")
    try:
        database = _connect(path, "rw")
        try:
            return _checked(database, folder, files_may_be_gone)
        except BaseException:
            database.close()
            raise
    except DAMAGE as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise
        raise damaged(folder, error) from error


def _with_load(folder: Path) -> sqlite3.Connection:
    """The database, in memory, of a load test that an older harness played."""
    manifest, calls = read_old_load(folder)
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    _fill(database, manifest, ())
    with database:
        insert_calls(database, calls)
    database.execute("PRAGMA query_only = ON")
    return database


def damaged(folder: Path, error: Exception) -> UserError:
    """The error, in one line, for a database that cannot be read as a run."""
    why = " ".join(str(error).split())[:200]
    return UserError(f"{folder / DATABASE}: is not a run of this harness, or is damaged ({why}); restore it from a copy")


def is_locked(folder: Path) -> bool:
    """True while another process writes the run."""
    try:
        handle = os.open(folder / _LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a run for writing. Raises UserError: another process has locked it, or the folder cannot be written."""
    try:
        handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); copy the run to where it can") from error
    try:
        try:
            _lock(handle)
        except BlockingIOError as error:
            raise UserError(f"{folder}: another harness process is writing this run; wait for it or stop it") from error
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # Whoever only asks whether the run is locked (`is_locked`) holds it for some microseconds.
        time.sleep(_ASKED_S)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _checked(database: sqlite3.Connection, folder: Path, files_may_be_gone: bool) -> sqlite3.Connection:
    (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    version = version_of(database)
    if version > VERSION:
        raise UserError(
            f"{folder}: was made by a newer harness (layout {version}, this one reads up to {VERSION}); update the harness"
        )
    if version == VERSION:
        _refuse_contradictions(database, folder, files_may_be_gone)
        return database
    copy = sqlite3.connect(":memory:")
    copy.row_factory = sqlite3.Row
    database.backup(copy)
    migrate(copy)
    _refuse_contradictions(copy, folder, files_may_be_gone)
    if os.access(folder, os.W_OK) and os.access(folder / DATABASE, os.W_OK):
        try:
            with locked(folder):
                migrate(database)
        except UserError:  # another process is working on the run
            pass
        except sqlite3.OperationalError as error:
            if storage_fault(error) is None:
                raise
        else:
            copy.close()
            return database
    database.close()
    copy.execute("PRAGMA query_only = ON")
    return copy


def _refuse_contradictions(database: sqlite3.Connection, folder: Path, files_may_be_gone: bool) -> None:
    """Compare the sessions with the manifest, and with the files beside them."""
    (text,) = database.execute("SELECT json FROM manifest").fetchone()
    manifest = read_manifest(text, folder)
    listed_as = {
        "condition": manifest.conditions,
        "agent": [agent.name for agent in manifest.agents],
        "context": manifest.context_ids,
    }
    known = {what: (frozenset(listed), listed) for what, listed in listed_as.items()}
    rows = database.execute("SELECT id, condition, agent, context_id FROM sessions").fetchall()
    for name, *place in rows:
        for (what, (among, listed)), value in zip(known.items(), place, strict=True):
            if value not in among:
                raise UserError(
                    f"{folder}: session {name} is of {what} {value!r}, which the run does not have "
                    f"({', '.join(listed[:5])}{' …' if len(listed) > 5 else ''}); restore the run from a copy"
                )
    lost = () if files_may_be_gone else sorted(sessions_without_files(database, folder))
    if lost:
        more = f" (and of {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise UserError(
            f"{folder / SESSIONS / lost[0]}: the files of this session{more} are gone; restore them, or play it again with: "
            f"{command('run', '--resume', '--out', folder)}"
        )


def sessions_without_files(database: sqlite3.Connection, folder: Path) -> frozenset[str]:
    """Ids of the sessions that have a row and no longer a folder; those of a load test never have one."""
    rows = database.execute("SELECT id FROM sessions WHERE step = ''").fetchall()
    return frozenset(name for (name,) in rows if not (folder / SESSIONS / name).is_dir())


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # By mode, because SQLite would otherwise make an empty database in place of a missing one.
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=10)
    connection.row_factory = sqlite3.Row
    with closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA synchronous=FULL")
    return connection


def new_run(folder: Path, manifest: RunManifest, contexts: Sequence[Context]) -> sqlite3.Connection:
    """The database of a new run in a new or empty folder.

    Raises UserError: the folder is not empty, or cannot be written; StorageError: it cannot be written.
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


def remove_replies(database: sqlite3.Connection, replies: Collection[tuple[str, str, int]]) -> int:
    """Delete the sessions with these replies (context, system, repeat) and all verdicts on them; returns their number."""
    gone = [
        (number,)
        for number, text in database.execute("SELECT id, json FROM judgments")
        for row in [from_json(text)]
        if any((row["context"], row[side], row.get("replicate", 0)) in replies for side in ("system_a", "system_b"))
    ]
    mine = "SELECT id FROM sessions WHERE context_id = ? AND agent = ? AND repeat = ?"
    database.execute("PRAGMA secure_delete=ON")
    with database:
        database.executemany("DELETE FROM judgments WHERE id = ?", gone)
        database.executemany(f"DELETE FROM step_failures WHERE session IN ({mine})", replies)
        database.executemany("DELETE FROM sessions WHERE context_id = ? AND agent = ? AND repeat = ?", replies)
    database.execute("VACUUM")
    return len(gone)
