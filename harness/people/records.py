"""The database of the two seats: people by pseudonym, what they were given, and their recordings, part by part.

A browser can be closed, a laptop can sleep, a server can die, in the middle of a sentence. So a recording is sent while it
is made, in numbered parts; a part is on the disk before it is acknowledged, and one that is sent twice is stored once. A
recording counts only when its speaker has heard it and wants to keep it.

Voices are personal data. Whoever withdraws leaves nothing: rows are overwritten (`secure_delete`), the journal is emptied,
and files are removed. Only the number of people who withdrew stays.
"""

import json
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.people.track import Part
from harness.reports.listening.invitations import SCHEMA as LINKS
from harness.reports.listening.invitations import Invitations, hashed

DATABASE: Final = "seats.sqlite"
TAKES: Final = "takes"
LARGEST_PART: Final = 960_000
"""Most bytes of a part: ten seconds at 48 kHz, where the page sends one a second."""
MOST_PARTS: Final = 900
"""Most parts of a recording: 15 minutes at one a second; no turn lasts longer than three."""
_SCHEMA = f"""{LINKS}
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
"""
_PART_NAME = re.compile(r"part-(\d{5})-(\d{1,15})\.pcm")

SeatName = Literal["caller", "supporter"]
TakeKind = Literal["calibration", "turn", "reply"]
TakeState = Literal["open", "ended", "kept", "discarded"]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in a seat, by pseudonym. `automatic`: a program, whose recordings are never a person's."""

    id: str
    seat: SeatName
    automatic: bool
    began_s: float
    tab: str
    """The page that is open; an older one of the same person sends nothing more."""


@dataclass(frozen=True, slots=True)
class Take:
    """One recording. `what`: the prompt or conversation that it answers, empty for a loop-back trial.

    `ended`: the page's record of its end (`played`, `pressed`, `clock`, `reason`); `found`: the server's findings; `decided`:
    its speaker's corrections.
    """

    id: str
    person: str
    kind: TakeKind
    what: str
    tab: str
    rate_hz: int
    settings: Mapping[str, Any]
    began_s: float
    state: TakeState
    ended: Mapping[str, Any]
    found: Mapping[str, Any]
    decided: Mapping[str, Any]


class SeatStore:
    """The database and the folder of recordings, safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._db = sqlite3.connect(folder / DATABASE, check_same_thread=False, timeout=30)
        self._db.row_factory = sqlite3.Row
        self._lock = threading.RLock()
        with self._lock, self._db:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA secure_delete=ON")
            self._db.executescript(_SCHEMA)
            self._db.execute("INSERT OR IGNORE INTO secrets VALUES ('media', ?)", (secrets.token_hex(32),))
        self.invitations = Invitations(self._write, self._read, "people")

    def close(self) -> None:
        """Release the database file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._db:
            yield self._db

    def _read(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    @property
    def media_secret(self) -> bytes:
        """The key of the sounds' addresses and of every order that is drawn; the same after a restart."""
        return bytes.fromhex(self._read("SELECT value FROM secrets WHERE name = 'media'")[0][0])

    # People

    def begin(self, secret: str, seat: SeatName, automatic: bool, consent: str) -> Person:
        """A new person with this secret, who agreed to `consent`; the existing one if the secret is known."""
        with self._write() as db:
            db.execute(
                "INSERT OR IGNORE INTO people (id, hash, seat, automatic, consent, began_s) VALUES (?, ?, ?, ?, ?, ?)",
                (f"p{secrets.token_hex(3)}", hashed(secret), seat, int(automatic), consent, time.time()),
            )
        found = self.person(secret)
        assert found is not None
        return found

    def person(self, secret: str) -> Person | None:
        """The person with this secret; None if it is unknown."""
        rows = self._read("SELECT * FROM people WHERE hash = ?", (hashed(secret),))
        return _person(rows[0]) if rows else None

    def people(self) -> list[Person]:
        """Everybody, in the order in which they began."""
        return [_person(row) for row in self._read("SELECT * FROM people ORDER BY began_s, id")]

    def open_tab(self, person: Person, tab: str) -> None:
        """Make this page the person's only one."""
        with self._write() as db:
            db.execute("UPDATE people SET tab = ? WHERE id = ?", (tab, person.id))

    def mark_automatic(self, person: Person) -> None:
        """Store that a program sits there; this is never undone."""
        with self._write() as db:
            db.execute("UPDATE people SET automatic = 1 WHERE id = ?", (person.id,))

    def withdraw(self, person: str) -> int:
        """Remove everything of a person; returns the number of recordings removed. Their link stops working."""
        takes = [take.id for take in self.takes(person)]
        with self._write() as db:
            known = db.execute("SELECT hash FROM people WHERE id = ?", (person,)).fetchone()
            if known is not None:
                db.execute("INSERT INTO withdrawn VALUES (?)", (time.time(),))
                for table, column in (("invitations", "hash"), ("link_ends", "hash")):
                    db.execute(f"DELETE FROM {table} WHERE {column} = ?", (known[0],))
            for table, column in (("takes", "person"), ("dealt", "person"), ("people", "id")):
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (person,))
        with self._lock:
            for take in takes:
                shutil.rmtree(self._take_folder(take), ignore_errors=True)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(takes)

    @property
    def withdrawn(self) -> int:
        """The number of people who withdrew."""
        return int(self._read("SELECT count(*) FROM withdrawn")[0][0])

    # What each person was given

    def deal(self, person: Person, number: int, what: str) -> None:
        """Store that this is the person's nth item."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO dealt VALUES (?, ?, ?)", (person.id, number, what))

    def dealt(self, person: Person) -> list[str]:
        """The person's items, in order."""
        return [row[0] for row in self._read("SELECT what FROM dealt WHERE person = ? ORDER BY number", (person.id,))]

    def dealt_to_all(self) -> list[tuple[str, str]]:
        """(person, item) for everybody."""
        return [(row[0], row[1]) for row in self._read("SELECT person, what FROM dealt ORDER BY person, number")]

    # Recordings

    def open_take(self, person: Person, kind: TakeKind, what: str, rate_hz: int, settings: Mapping[str, Any], tab: str) -> Take:
        """A new recording of this person."""
        take = secrets.token_hex(8)
        self._take_folder(take).mkdir(parents=True)
        with self._write() as db:
            db.execute(
                "INSERT INTO takes (id, person, kind, what, tab, rate_hz, settings, began_s, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open')",
                (take, person.id, kind, what, tab, rate_hz, json.dumps(settings), time.time()),
            )
        return self.take(take)

    def take(self, take: str) -> Take:
        """One recording; KeyError if there is none."""
        rows = self._read("SELECT * FROM takes WHERE id = ?", (take,))
        if not rows:
            raise KeyError(take)
        return _take(rows[0])

    def takes(self, person: str | None = None) -> list[Take]:
        """All recordings, or one person's, in the order in which they began."""
        who = "" if person is None else "WHERE person = ?"
        rows = self._read(f"SELECT * FROM takes {who} ORDER BY began_s, id", () if person is None else (person,))
        return [_take(row) for row in rows]

    def add_part(self, take: Take, number: int, first: int, pcm: bytes) -> None:
        """Store a part, flushed to the disk; the same one again changes nothing, nor one of a recording that was removed."""
        path = self._take_folder(take.id) / f"part-{number:05d}-{first}.pcm"
        with self._lock:  # Or a part that arrives while its recording is removed could outlive it.
            if path.exists() or not path.parent.exists():
                return
            writing = path.with_suffix(f".{secrets.token_hex(4)}")
            with writing.open("wb") as out:
                out.write(pcm)
                out.flush()
                os.fsync(out.fileno())
            writing.rename(path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def parts(self, take: Take) -> list[Part]:
        """The parts of a recording that have arrived, in order."""
        found = {}
        for path in self._take_folder(take.id).glob("part-*.pcm"):
            if (name := _PART_NAME.fullmatch(path.name)) is not None:
                samples: NDArray[np.int16] = np.frombuffer(path.read_bytes(), dtype="<i2").astype(np.int16)
                found[int(name[1])] = Part(int(name[2]), samples)
        return [found[number] for number in sorted(found)]

    def part_numbers(self, take: Take) -> frozenset[int]:
        """The numbers of the parts that have arrived."""
        names = (_PART_NAME.fullmatch(path.name) for path in self._take_folder(take.id).glob("part-*.pcm"))
        return frozenset(int(name[1]) for name in names if name is not None)

    def set_take(
        self,
        take: Take,
        state: TakeState,
        *,
        only_from: TakeState | None = None,
        ended: Mapping[str, Any] | None = None,
        found: Mapping[str, Any] | None = None,
        decided: Mapping[str, Any] | None = None,
    ) -> Take:
        """Store a recording's new state with what is known of it now; None leaves a part as it is.

        `only_from`: change nothing if it has another state by now.
        """
        given = {"ended": ended, "found": found, "decided": decided}
        named = {name: json.dumps(value) for name, value in given.items() if value is not None}
        columns = "".join(f", {name} = ?" for name in named)
        with self._write() as db:
            db.execute(
                f"UPDATE takes SET state = ?{columns} WHERE id = ? AND state = coalesce(?, state)",
                (state, *named.values(), take.id, only_from),
            )
        return self.take(take.id)

    def discard(self, take: Take) -> None:
        """Remove a recording's sound. Its row stays: its conversation does not come back, and a disturbance is known."""
        found = {"disturbed": True} if self.take(take.id).found.get("disturbed") else {}
        self.set_take(take, "discarded", found=found, decided={})
        with self._lock:
            shutil.rmtree(self._take_folder(take.id), ignore_errors=True)

    def _take_folder(self, take: str) -> Path:
        return self.folder / TAKES / take


def _person(row: sqlite3.Row) -> Person:
    return Person(row["id"], row["seat"], bool(row["automatic"]), row["began_s"], row["tab"])


def _take(row: sqlite3.Row) -> Take:
    as_stored = {name: row[name] for name in ("id", "person", "kind", "what", "tab", "rate_hz", "began_s", "state")}
    return Take(**as_stored, **{name: json.loads(row[name]) for name in ("settings", "ended", "found", "decided")})
