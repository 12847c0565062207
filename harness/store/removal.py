"""Replies deleted from a run's database, as a person's withdrawal asks: the rows of their sessions and every verdict on them.

Deleted rows stay readable in the free pages of an SQLite file, so they are overwritten and the file is written anew. The
files of the sessions are the caller's to delete, afterwards: a row without files would be a damaged run, files without a row
are only left over.
"""

import sqlite3
from collections.abc import Collection

from pydantic_core import from_json


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
