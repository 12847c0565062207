"""The layout of a run's database, and the steps from older layouts to the present one.

A run outlives the harness that made it, so the database carries the version of its layout (`PRAGMA user_version`; 0 is
the first layout) and every change of layout is one step here, in order, each in one transaction together with the new
version number: a crash in between leaves the previous layout complete. Data that a step cannot convert are left out and not
guessed, and a note in the run says so. A step is never edited once runs exist that were converted by it.
"""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.store.judgment import no_reply_rule

LAYOUT: Final = """
CREATE TABLE manifest (only INTEGER PRIMARY KEY CHECK (only = 1), json TEXT NOT NULL);
CREATE TABLE contexts (position INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, json TEXT NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, context_id TEXT NOT NULL, context_hash TEXT NOT NULL, agent TEXT NOT NULL,
  profile_hash TEXT NOT NULL, mode TEXT NOT NULL, condition TEXT NOT NULL, repeat INTEGER NOT NULL,
  status TEXT NOT NULL, failure_kind TEXT, failure_detail TEXT NOT NULL DEFAULT '',
  written_text TEXT, understood_text TEXT, heard_text TEXT, heard_words TEXT, timing TEXT, started_ns INTEGER,
  turn_timings TEXT, machine TEXT, ended TEXT, planned_turns INTEGER, spoken_turns INTEGER,
  step TEXT NOT NULL DEFAULT '', due_ns INTEGER, begun_ns INTEGER);
CREATE TABLE judgments (id INTEGER PRIMARY KEY, judge TEXT NOT NULL, context TEXT NOT NULL, json TEXT NOT NULL);
CREATE INDEX judgments_by_judge ON judgments (judge);
CREATE TABLE judge_checks (judge TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE people_references (context TEXT, id TEXT, json TEXT NOT NULL, PRIMARY KEY (context, id));
CREATE TABLE step_failures (session TEXT, step TEXT, kind TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (session, step));
CREATE TABLE notes (code TEXT, text TEXT);
"""
"""Layout of a new run: always the same as the result of the last step."""

JUDGED_ACROSS_CONDITIONS: Final = "judged_across_conditions"
"""Code of the note of a run whose judges read replies of several conditions or repeats as one."""


@dataclass(frozen=True, slots=True)
class Note:
    """A fact about the whole run that readers of its figures should know."""

    code: str
    text: str


def version_of(database: sqlite3.Connection) -> int:
    """The version of a database's layout."""
    (stored,) = database.execute("PRAGMA user_version").fetchone()
    return max(1, int(stored))


def migrate(database: sqlite3.Connection) -> None:
    """Bring a database to `VERSION`, one transaction per step. The caller must have locked the run."""
    for older in range(version_of(database), VERSION):
        database.execute("BEGIN IMMEDIATE")
        with database:
            _STEPS[older - 1](database)
            database.execute(f"PRAGMA user_version = {older + 1}")


def _judge_each_condition(database: sqlite3.Connection) -> None:
    """1 → 2: a verdict states the condition and repeat of the two replies.

    Where a run had one of each, both are known. Where it had more, machine judges read a mix, so their verdicts are deleted,
    while people's, who cannot be asked again, stay under the run's first condition. Silence was one row per pair for any
    number of judges; now it is one row for each judge, in that judge's place.
    """
    # Whole tables were added to layout 1 without a new version number.
    database.execute(
        "CREATE TABLE IF NOT EXISTS people_references (context TEXT, id TEXT, json TEXT NOT NULL, PRIMARY KEY (context, id))"
    )
    database.execute(
        "CREATE TABLE IF NOT EXISTS step_failures (session TEXT, step TEXT, kind TEXT NOT NULL, detail TEXT NOT NULL,"
        " PRIMARY KEY (session, step))"
    )
    database.execute("CREATE TABLE notes (code TEXT, text TEXT)")
    (text,) = database.execute("SELECT json FROM manifest").fetchone()
    manifest = json.loads(text)
    if len(manifest["conditions"]) > 1 or manifest["repeats"] > 1:
        gone = database.execute("DELETE FROM judgments WHERE json_extract(json, '$.source') = 'judge'").rowcount
        if gone:
            told = (
                "judged before conditions had separate boards; judge again with: harness judge run RUN "
                "(answers are stored, nothing is asked twice)"
            )
            database.execute("INSERT INTO notes VALUES (?, ?)", (JUDGED_ACROSS_CONDITIONS, told))
    _silence_for_each_judge(database)
    database.execute(
        "UPDATE judgments SET json = json_set(json, '$.condition', ?, '$.replicate', 0)", (manifest["conditions"][0],)
    )


def _silence_for_each_judge(database: sqlite3.Connection) -> None:
    silent = database.execute("SELECT context, json FROM judgments WHERE judge = 'rule:no-reply'").fetchall()
    judges = database.execute(
        "SELECT DISTINCT judge FROM judgments WHERE json_extract(json, '$.source') = 'judge' AND judge != 'rule:no-reply'"
    ).fetchall()
    database.executemany(
        "INSERT INTO judgments (judge, context, json) VALUES (?, ?, json_set(?, '$.judge', ?))",
        [(name, context, text, name) for (judge,) in judges for name in [no_reply_rule(judge)] for context, text in silent],
    )
    database.execute("DELETE FROM judgments WHERE judge = 'rule:no-reply'")


def _with_columns(*columns: str) -> Callable[[sqlite3.Connection], None]:
    """A step that adds columns to the sessions; what older runs did not store is not known of them."""

    def step(database: sqlite3.Connection) -> None:
        for column in columns:
            database.execute(f"ALTER TABLE sessions ADD COLUMN {column}")

    return step


_STEPS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (
    _judge_each_condition,
    _with_columns("machine TEXT"),  # before merged runs existed, there was one machine
    _with_columns("ended TEXT", "planned_turns INTEGER", "spoken_turns INTEGER"),
    _with_columns("step TEXT NOT NULL DEFAULT ''", "due_ns INTEGER", "begun_ns INTEGER"),
)
"""The n-th converts layout n to n + 1."""

VERSION: Final = len(_STEPS) + 1
"""The layout that this harness reads and writes."""
