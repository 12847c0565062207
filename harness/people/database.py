"""The tables of the seats, and their opening, on a full disk too: whoever withdraws must not wait for room."""

import secrets
import sqlite3
from pathlib import Path

from harness.errors import UserError
from harness.reports.invited.links import SCHEMA as LINKS
from harness.reports.invited.participants import SCHEMA as PARTICIPANTS
from harness.store.disk import storage_fault

_SCHEMA = f"""{LINKS}{PARTICIPANTS}
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS people (
  id TEXT PRIMARY KEY, hash TEXT UNIQUE NOT NULL, seat TEXT NOT NULL, automatic INTEGER NOT NULL, consent TEXT NOT NULL,
  began_s REAL NOT NULL, tab TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS dealt (person TEXT, number INTEGER, what TEXT NOT NULL, PRIMARY KEY (person, number));
CREATE TABLE IF NOT EXISTS takes (
  id TEXT PRIMARY KEY, person TEXT NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL, tab TEXT NOT NULL,
  rate_hz INTEGER NOT NULL, settings TEXT NOT NULL, began_s REAL NOT NULL, state TEXT NOT NULL,
  ended TEXT NOT NULL DEFAULT '{{}}', found TEXT NOT NULL DEFAULT '{{}}', decided TEXT NOT NULL DEFAULT '{{}}');
CREATE TABLE IF NOT EXISTS withdrawn (at_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS leaving (person TEXT PRIMARY KEY, recordings INTEGER NOT NULL);
"""


def opened(path: Path) -> sqlite3.Connection:
    """The database, with its tables.

    Several processes share it by a file of its own beside it. On a full disk there is none, and this process has it alone.

    Raises:
        UserError: it cannot be opened.
    """
    try:
        try:
            return _opened(path, alone=False)
        except sqlite3.OperationalError as fault:
            if storage_fault(fault) is None:
                raise
            return _opened(path, alone=True)
    except sqlite3.OperationalError as fault:
        if storage_fault(fault) is None:
            raise
        raise UserError(f"{path}: cannot be opened ({fault}); is its disk full?") from None


def _opened(path: Path, *, alone: bool) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, timeout=30)
    try:
        if alone:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA secure_delete=ON")
        with db:
            db.executescript(_SCHEMA)
            db.execute("INSERT OR IGNORE INTO secrets VALUES ('media', ?)", (secrets.token_hex(32),))
    except sqlite3.Error:
        db.close()
        raise
    return db
