"""The raters' database: every answer is on the disk before the page gets its acknowledgement.

An answer is one row, keyed by rater and position, and is never changed: sent twice, it is stored once, so a page that lost
the server in mid-answer simply sends again. A rater's secret is stored only as its hash.
"""

import json
import secrets
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from harness.files import own_file, own_folder, own_tree
from harness.reports.invited import participants
from harness.reports.invited.links import SCHEMA, Links, hashed
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import FOLDER
from harness.reports.listening.plan import Item

DATABASE = "votes.sqlite"
RECORDINGS = "completions"
"""The folder of a test with the replies that its contributors recorded."""
_ITEMS = TypeAdapter(tuple[Item, ...])
_SCHEMA = f"""{SCHEMA}{participants.SCHEMA}
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS raters (
  id TEXT PRIMARY KEY, hash TEXT UNIQUE NOT NULL, role TEXT NOT NULL, design TEXT NOT NULL, plan TEXT NOT NULL,
  began_s REAL NOT NULL, left_s REAL);
CREATE TABLE IF NOT EXISTS served (rater TEXT, position INTEGER, at_s REAL NOT NULL, PRIMARY KEY (rater, position));
CREATE TABLE IF NOT EXISTS fetched (rater TEXT, position INTEGER, place TEXT, PRIMARY KEY (rater, position, place));
CREATE TABLE IF NOT EXISTS answers (
  rater TEXT, position INTEGER, item TEXT NOT NULL, answer TEXT NOT NULL, passed INTEGER, took_s REAL NOT NULL,
  at_s REAL NOT NULL, PRIMARY KEY (rater, position));
CREATE TABLE IF NOT EXISTS failed_rounds (
  rater TEXT, round INTEGER, position INTEGER, item TEXT NOT NULL, answer TEXT NOT NULL, took_s REAL NOT NULL,
  at_s REAL NOT NULL, PRIMARY KEY (rater, round, position));
CREATE TABLE IF NOT EXISTS completions (
  id TEXT PRIMARY KEY, rater TEXT NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, audio TEXT, at_s REAL NOT NULL,
  UNIQUE (rater, context));
"""

RaterRole = Literal["rater", "contributor"]


@dataclass(frozen=True, slots=True)
class Rater:
    """A person, by pseudonym. `design` is the test's hash: an answer belongs to one test."""

    id: str
    role: RaterRole
    plan: tuple[Item, ...]
    left_s: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer with its item. `took_s` is the time since it was first shown, less the time to hear it once."""

    rater: str
    position: int
    item: Item
    answer: Mapping[str, object]
    passed: bool | None
    took_s: float
    at_s: float


class VoteStore:
    """The database, safe to share between threads: one writer at a time, every answer flushed to disk; readers never wait."""

    def __init__(self, folder: Path) -> None:
        own_tree(own_folder(folder))
        own_file(folder / DATABASE)  # its journals follow its mode
        self.folder = folder
        self._db = sqlite3.connect(folder / DATABASE, check_same_thread=False, timeout=30)
        self._db.row_factory = sqlite3.Row
        # The times at which steps were shown survive a killed server without a flush; only a power cut would lose them.
        self._traces = sqlite3.connect(folder / DATABASE, check_same_thread=False, timeout=30)
        self._reads = sqlite3.connect(folder / DATABASE, check_same_thread=False, timeout=30)
        self._reads.row_factory = sqlite3.Row
        self._lock = threading.Lock()
        self._read_lock = threading.Lock()
        with self._lock, self._db:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            # Whoever withdraws leaves nothing in free pages.
            self._db.execute("PRAGMA secure_delete=ON")
            self._db.executescript(_SCHEMA)
            self._traces.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("INSERT OR IGNORE INTO secrets VALUES ('media', ?)", (secrets.token_hex(32),))
        self.links = Links(self._write, self._read, "raters")
        self.participants = participants.Participants(self._write, self._read)

    def close(self) -> None:
        self._reads.close()
        self._traces.close()
        self._db.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._db:
            yield self._db

    def _read(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._read_lock:
            return self._reads.execute(query, values).fetchall()

    @property
    def media_secret(self) -> bytes:
        """The key of the sounds' addresses, so that none can be guessed; the same after a restart."""
        return bytes.fromhex(self._read("SELECT value FROM secrets WHERE name = 'media'")[0][0])

    def begin(self, secret: str, role: RaterRole, design: str, plan: Sequence[Item]) -> Rater:
        """A new rater with this secret; the existing one if the secret is known."""
        known = self.rater(secret)
        if known is not None:
            return known
        with self._write() as db:
            number = db.execute("SELECT count(*) FROM raters").fetchone()[0] + 1
            db.execute(
                "INSERT OR IGNORE INTO raters VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (
                    f"rater-{number:04d}",
                    hashed(secret),
                    role,
                    design,
                    _ITEMS.dump_json(tuple(plan)).decode(),
                    time.time(),
                ),
            )
        found = self.rater(secret)
        assert found is not None
        return found

    def rater(self, secret: str) -> Rater | None:
        """The rater with this secret; None if it is unknown."""
        rows = self._read("SELECT * FROM raters WHERE hash = ?", (hashed(secret),))
        return _rater(rows[0]) if rows else None

    def design(self) -> ListeningDesign | None:
        """The test of these answers; None before the first rater."""
        rows = self._read("SELECT design FROM raters ORDER BY began_s LIMIT 1")
        return ListeningDesign.model_validate_json(rows[0][0]) if rows else None

    def raters(self) -> list[Rater]:
        return [_rater(row) for row in self._read("SELECT * FROM raters ORDER BY id")]

    def position(self, rater: Rater) -> int:
        """The first step without answer; the plan's length if all are answered."""
        return int(self._read("SELECT count(*) FROM answers WHERE rater = ?", (rater.id,))[0][0])

    def serve(self, rater: Rater, position: int) -> float:
        """Store the time of a step's first showing, and return it."""
        now = time.time()
        with self._lock, self._traces as db:
            db.execute("INSERT OR IGNORE INTO served VALUES (?, ?, ?)", (rater.id, position, now))
            row = db.execute("SELECT at_s FROM served WHERE rater = ? AND position = ?", (rater.id, position)).fetchone()
        return float(row[0])

    def fetch(self, rater: Rater, position: int, place: str) -> None:
        """Store that a sound of a step was sent."""
        with self._lock, self._traces as db:
            db.execute("INSERT OR IGNORE INTO fetched VALUES (?, ?, ?)", (rater.id, position, place))

    def fetched(self, rater: Rater, position: int) -> frozenset[str]:
        """The sounds of a step that were sent."""
        rows = self._read("SELECT place FROM fetched WHERE rater = ? AND position = ?", (rater.id, position))
        return frozenset(row[0] for row in rows)

    def answer(
        self,
        rater: Rater,
        position: int,
        answer: Mapping[str, object],
        passed: bool | None,
        took_s: float,
        item: Item | None = None,
    ) -> None:
        """Store an answer to the current step; any other changes nothing. `item`: as asked, if not as planned."""
        asked = item or rater.plan[position]
        with self._write() as db:
            # Checked inside the write: another tab may have reset the step at the same time.
            db.execute(
                "INSERT INTO answers SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 "
                "WHERE (SELECT count(*) FROM answers WHERE rater = ?1) = ?2",
                (
                    rater.id, position, asked.model_dump_json(), json.dumps(answer, ensure_ascii=True),
                    None if passed is None else int(passed), took_s, time.time(),
                ),
            )  # fmt: skip

    def passed(self, rater: Rater, steps: range) -> list[bool]:
        """The results of the checks among these steps."""
        query = "SELECT passed FROM answers WHERE rater = ? AND position >= ? AND position < ? ORDER BY position"
        return [bool(row[0]) for row in self._read(query, (rater.id, steps.start, steps.stop))]

    def set_aside(self, rater: Rater, steps: range) -> None:
        """Ask these last steps again; their answers stay on file, separate from the valid ones."""
        which = (rater.id, steps.start)
        with self._write() as db:
            moved = db.execute(
                "INSERT INTO failed_rounds SELECT rater, "
                "(SELECT count(DISTINCT round) FROM failed_rounds WHERE rater = ?1), position, item, answer, took_s, at_s "
                "FROM answers WHERE rater = ?1 AND position >= ?2 "
                "AND (SELECT count(*) FROM answers WHERE rater = ?1) = ?3",
                (*which, steps.stop),
            )
            if moved.rowcount <= 0:
                return
            for table in ("answers", "served", "fetched"):
                db.execute(f"DELETE FROM {table} WHERE rater = ? AND position >= ?", which)

    def void(self, context: str, system: str) -> int:
        """Delete every answer about a reply that was withdrawn, and make the steps that ask about it breaks, also those not
        asked yet; returns the number of answers."""

        def about_it(item: Item) -> bool:
            return any((slot.context, slot.system) == (context, system) for slot in item.slots)

        nothing = Item(role="break")
        with self._write() as db:
            voided = 0
            for table in ("answers", "failed_rounds"):
                rows = db.execute(f"SELECT rowid, item FROM {table}").fetchall()
                gone = [(nothing.model_dump_json(), row[0]) for row in rows if about_it(Item.model_validate_json(row[1]))]
                db.executemany(f"UPDATE {table} SET item = ?, answer = '{{}}', passed = NULL WHERE rowid = ?"
                               if table == "answers" else
                               f"UPDATE {table} SET item = ?, answer = '{{}}' WHERE rowid = ?", gone)  # fmt: skip
                voided += len(gone)
            for rater, plan in db.execute("SELECT id, plan FROM raters").fetchall():
                items = _ITEMS.validate_json(plan)
                if any(about_it(item) for item in items):
                    kept = tuple(nothing if about_it(item) else item for item in items)
                    db.execute("UPDATE raters SET plan = ? WHERE id = ?", (_ITEMS.dump_json(kept).decode(), rater))
        with self._lock:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return voided

    def has(self, rater: str) -> bool:
        """True if somebody of that name began and has not withdrawn."""
        return bool(self._read("SELECT 1 FROM raters WHERE id = ? AND hash NOT LIKE 'gone-%'", (rater,)))

    def forget(self, rater: str) -> int:
        """Delete all that a rater gave or said of themselves; returns the number of answers.

        The name stays taken, so that nobody else gets it, and says nothing any more.
        """
        spoken = [row["audio"] for row in self.completions_of(rater) if row["audio"]]
        with self._write() as db:
            given = db.execute("SELECT count(*) FROM answers WHERE rater = ?", (rater,)).fetchone()[0]
            for table in ("answers", "failed_rounds", "served", "fetched", "completions"):
                db.execute(f"DELETE FROM {table} WHERE rater = ?", (rater,))
            participants.forget_participant(db, rater)
            gone = (f"gone-{secrets.token_hex(16)}", time.time(), rater)
            db.execute("UPDATE raters SET hash = ?, plan = '[]', began_s = 0, left_s = ? WHERE id = ?", gone)
        for name in spoken:
            (self.folder / RECORDINGS / name).unlink(missing_ok=True)
        with self._lock:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(given)

    def failed_rounds(self, rater: Rater) -> int:
        """The number of times that steps were asked again."""
        return int(self._read("SELECT count(DISTINCT round) FROM failed_rounds WHERE rater = ?", (rater.id,))[0][0])

    def leave(self, rater: Rater) -> None:
        with self._write() as db:
            db.execute("UPDATE raters SET left_s = ? WHERE id = ?", (time.time(), rater.id))

    def answers(self) -> list[Answer]:
        rows = self._read("SELECT * FROM answers ORDER BY rater, position")
        return [
            Answer(
                r["rater"], r["position"], Item.model_validate_json(r["item"]), json.loads(r["answer"]),
                None if r["passed"] is None else bool(r["passed"]), r["took_s"], r["at_s"],
            )
            for r in rows
        ]  # fmt: skip

    def coverage(self) -> dict[tuple[str, ...], int]:
        """The number of assignments of each conversation and set of systems to raters who have not left."""
        counts: Counter[tuple[str, ...]] = Counter()
        for rater in self.raters():
            if rater.left_s is None:
                counts.update(
                    (item.context, *sorted(slot.system for slot in item.slots))
                    for item in rater.plan
                    if item.role == "main" and item.context is not None
                )
        return dict(counts)

    def add_completion(self, rater: Rater, context: str, text: str, audio: str | None) -> bool:
        """Store a person's own reply; returns False if this person already gave one for the conversation."""
        with self._write() as db:
            done = db.execute(
                "INSERT OR IGNORE INTO completions VALUES (?, ?, ?, ?, ?, ?)",
                (secrets.token_hex(8), rater.id, context, text, audio, time.time()),
            )
        return done.rowcount == 1

    def set_completion_text(self, completion: str, text: str) -> None:
        """Store the transcript of a spoken reply."""
        with self._write() as db:
            db.execute("UPDATE completions SET text = ? WHERE id = ?", (text, completion))

    def completions_of(self, rater: str) -> list[sqlite3.Row]:
        """The same of one contributor."""
        return [row for row in self.completions() if row["rater"] == rater]

    def completions(self) -> list[sqlite3.Row]:
        """id, rater, context, text, audio, at_s."""
        return self._read("SELECT * FROM completions ORDER BY at_s")


def tests_of(run: Path) -> Iterator[VoteStore]:
    """The run's listening tests in the order of their names, each open until the next is asked for."""
    for path in sorted((run / FOLDER).glob(f"*/{DATABASE}")):
        with closing(VoteStore(path.parent)) as votes:
            yield votes


@lru_cache(maxsize=1_000)
def _plan(text: str) -> tuple[Item, ...]:
    """The plan in a text, cached because it never changes and every request of its rater needs it."""
    return _ITEMS.validate_json(text)


def _rater(row: sqlite3.Row) -> Rater:
    return Rater(row["id"], row["role"], _plan(row["plan"]), row["left_s"])
