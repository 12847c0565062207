"""The database of the two seats: people by pseudonym, what they were given, and their recordings, part by part.

A browser can be closed, a laptop can sleep, a server can die, in the middle of a sentence. So a recording is sent while it
is made, in numbered parts; a part is on the disk before it is acknowledged, and one that is sent twice is stored once. A
recording counts only when its speaker has heard it and wants to keep it.

Voices are personal data. Whoever withdraws leaves nothing: rows are overwritten (`secure_delete`), the journal is emptied,
and files are removed. The wish is stored first, in the same step that ends the person's link and rows, and it is forgotten
last; so a kill between the two leaves a wish that the next opening goes on with. Only the number of people who withdrew stays.
"""

import errno
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from harness.files import own_file, own_folder, own_tree
from harness.people.database import opened
from harness.people.part_files import PartFiles, StoredPart
from harness.people.track import LONGEST_S, Part, Span
from harness.reports.invited import Refused
from harness.reports.invited.links import Links, hashed
from harness.reports.invited.participants import Participants, forget_participant
from harness.store.disk import storage_fault

DATABASE: Final = "seats.sqlite"
LARGEST_PART: Final = 960_000
"""Most bytes of a part: ten seconds at 48 kHz, where the page sends one a second."""
MOST_PARTS: Final = 600
"""Most parts of a recording: the page sends three in two seconds and one more at each gap, for three minutes at most."""
MOST_TAKES: Final = 300
"""Most recordings that a person begins, discarded ones and trials included: twenty turns, each recorded anew a dozen times."""
_TRIAL_S: Final = 3_600
"""Age at which a loop-back trial that never ended is given up: it lasts ten seconds, and a server may be away meanwhile."""
_BUSY_MS: Final = 200
"""Wait for readers of the journal before it is emptied later instead: a request must not hang on another process."""

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
        """Open it, and end what a kill left of removals; raises UserError if it cannot be opened or a recording not removed."""
        own_tree(own_folder(folder))
        own_file(folder / DATABASE)  # its journals follow its mode
        self.folder = folder
        self._db = opened(folder / DATABASE)
        self._lock = threading.RLock()
        self._parts = PartFiles(folder)
        self._gone = self._parts.left()
        self.links = Links(self._write, self._read, "people")
        self.participants = Participants(self._write, self._read)
        self._settle()
        for take in self.takes():
            if take.kind == "calibration" and take.state == "open" and take.began_s < time.time() - _TRIAL_S:
                self.discard(take)
        self._sweep()
        self.empty_journal()

    def close(self) -> None:
        """Release the database file."""
        with self._lock:
            self.empty_journal()
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
        if found is None:
            raise OSError(errno.ENOSPC, "a withdrawal waits for room on the disk")
        return found

    def person(self, secret: str) -> Person | None:
        """The person with this secret; None if it is unknown."""
        if self._gone:
            self._settle()
        rows = self._read("SELECT * FROM people WHERE hash = ?", (hashed(secret),))
        return _person(rows[0]) if rows and rows[0]["id"] not in self._gone else None

    def people(self) -> list[Person]:
        """Everybody, in the order in which they began."""
        return [_person(row) for row in self._read("SELECT * FROM people ORDER BY began_s, id")]

    def open_tab(self, person: Person, tab: str) -> None:
        """Make this page the person's only one. An older page's loop-back trial ends nowhere, so its sound is removed."""
        with self._write() as db:
            db.execute("UPDATE people SET tab = ? WHERE id = ?", (tab, person.id))
        for take in self.takes(person.id):
            if take.kind == "calibration" and take.state == "open" and take.tab != tab:
                self.discard(take)

    def mark_automatic(self, person: Person) -> None:
        """Store that a program sits there; this is never undone."""
        with self._write() as db:
            db.execute("UPDATE people SET automatic = 1 WHERE id = ?", (person.id,))

    # Withdrawal

    def leave(self, person: str) -> int:
        """Remove a person with their recordings; returns the number of these. Their link stops working.

        Their pseudonym is in `leaving` until `left` says that nothing which was made of the recordings has it any more. On a
        full disk their sound goes first, which makes room for the row. If that is not enough, a mark on the disk says that
        they are gone, and the row is written as soon as there is room.

        Raises:
            UserError: a recording cannot be deleted; the next opening tries again.
        """
        try:
            self._forget(person)
        except sqlite3.Error as fault:
            if storage_fault(fault) is None:
                raise
            self._parts.leave(person, [take.id for take in self.takes(person)])
            self._gone.add(person)
            self._settle()
        self._sweep()
        return self.leaving().get(person, 0)

    def _forget(self, person: str) -> None:
        """Delete the rows of a person, and store that they are leaving."""
        with self._write() as db:
            db.execute("BEGIN IMMEDIATE")
            known = db.execute("SELECT hash FROM people WHERE id = ?", (person,)).fetchone()
            if known is not None:
                count = "SELECT ?, count(*) FROM takes WHERE person = ? AND kind != 'calibration' AND state != 'discarded'"
                db.execute(f"INSERT INTO leaving {count}", (person, person))
                db.execute("INSERT INTO withdrawn VALUES (?)", (time.time(),))
                for table, column in (("invitations", "hash"), ("link_ends", "hash")):
                    db.execute(f"DELETE FROM {table} WHERE {column} = ?", (known[0],))
                forget_participant(db, person)
                for table, column in (("takes", "person"), ("dealt", "person"), ("people", "id")):
                    db.execute(f"DELETE FROM {table} WHERE {column} = ?", (person,))

    def _settle(self) -> None:
        """Write down the withdrawals for which the disk had no room, if it has some now."""
        for person in sorted(self._gone):
            try:
                self._forget(person)
            except sqlite3.Error as fault:
                if storage_fault(fault) is None:
                    raise
                return
            self._parts.unmark(person)
            self._gone.discard(person)

    def leaving(self) -> Mapping[str, int]:
        """People who withdrew and may still be in a pack or in the run → the number of their recordings."""
        rows = self._read("SELECT person, recordings FROM leaving ORDER BY person")
        return {**dict.fromkeys(sorted(self._gone), 0), **{row[0]: row[1] for row in rows}}

    def left(self, people: Iterable[str]) -> bool:
        """Forget the pseudonyms of people who are removed everywhere; False if the database's journal still has them."""
        with self._write() as db:
            db.executemany("DELETE FROM leaving WHERE person = ?", [(person,) for person in people])
        return self.empty_journal() and not self._gone

    def empty_journal(self) -> bool:
        """Overwrite the journal, in which deleted rows stay readable; False while another process reads it."""
        with self._lock:
            (wait_ms,) = self._db.execute("PRAGMA busy_timeout").fetchone()
            self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            try:
                (busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError:
                return False
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {wait_ms}")
        return not busy

    def _sweep(self) -> None:
        self._parts.sweep(lambda: {take.id for take in self.takes() if _has_sound(take.kind, take.state)})

    @property
    def withdrawn(self) -> int:
        """The number of people who withdrew."""
        return int(self._read("SELECT count(*) FROM withdrawn")[0][0])

    # What each person was given

    def deal(self, person: Person, number: int, what: str) -> None:
        """Store that this is the person's nth item."""
        with self._write() as db:
            db.execute(
                "INSERT OR IGNORE INTO dealt SELECT id, ?, ? FROM people WHERE id = ?",
                (number, what, person.id),
            )

    def dealt(self, person: Person) -> list[str]:
        """The person's items, in order."""
        return [row[0] for row in self._read("SELECT what FROM dealt WHERE person = ? ORDER BY number", (person.id,))]

    def dealt_to_all(self) -> list[tuple[str, str]]:
        """(person, item) for everybody."""
        return [(row[0], row[1]) for row in self._read("SELECT person, what FROM dealt ORDER BY person, number")]

    # Recordings

    def open_take(self, person: Person, kind: TakeKind, what: str, rate_hz: int, settings: Mapping[str, Any], tab: str) -> Take:
        """A new recording of this person.

        Raises:
            Refused: the person has withdrawn, or has begun too many.
        """
        take = secrets.token_hex(8)
        with self._write() as db:
            (begun,) = db.execute("SELECT count(*) FROM takes WHERE person = ?", (person.id,)).fetchone()
            if begun >= MOST_TAKES:
                raise Refused("seat.refused.too_many", most=MOST_TAKES)
            made = db.execute(
                "INSERT INTO takes (id, person, kind, what, tab, rate_hz, settings, began_s, state) "
                "SELECT ?, id, ?, ?, ?, ?, ?, ?, 'open' FROM people WHERE id = ?",
                (take, kind, what, tab, rate_hz, json.dumps(settings), time.time(), person.id),
            )
        if not made.rowcount:
            raise Refused("seat.refused.removed")
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
        """Store a part, flushed to the disk; one of the same number again changes nothing, nor one of a recording that is over.

        Raises:
            Refused: with it the recording would be longer than any may be.
        """
        with self._write() as db:
            db.execute("BEGIN IMMEDIATE")  # Its row cannot go while its part is written, whichever process deletes it.
            if db.execute("SELECT 1 FROM takes WHERE id = ? AND state = 'open'", (take.id,)).fetchone() is None:
                return
            stored = self.stored_parts(take)
            if number in stored:
                return
            if not _fits(take, [*((part.first, part.end) for part in stored.values()), (first, first + len(pcm) // 2)]):
                raise Refused("seat.refused.too_long", minutes=f"{LONGEST_S / 60:.0f}")
            self._parts.add(take.id, number, first, pcm)

    def parts(self, take: Take) -> list[Part]:
        """The parts of a recording that have arrived, in order."""
        return self._parts.of(take.id)

    def stored_parts(self, take: Take) -> dict[int, StoredPart]:
        """The parts of a recording that have arrived, by number and unread."""
        return self._parts.stored(take.id)

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

        `only_from`: change nothing if it has another state by now. The sound of a loop-back trial goes with its end: it is
        recorded to be measured, and the room is in it.

        Raises:
            Refused: its speaker has withdrawn.
        """
        given = {"ended": ended, "found": found, "decided": decided}
        named = {name: json.dumps(value) for name, value in given.items() if value is not None}
        columns = "".join(f", {name} = ?" for name in named)
        silent = not _has_sound(take.kind, state)

        def changed() -> bool:
            with self._write() as db:
                done = db.execute(
                    f"UPDATE takes SET state = ?{columns} WHERE id = ? AND state = coalesce(?, state)",
                    (state, *named.values(), take.id, only_from),
                )
            return done.rowcount > 0

        try:
            done = changed()
        except sqlite3.Error as fault:
            if not silent or storage_fault(fault) is None:
                raise
            self._parts.remove(take.id)  # It is to go, and makes room for its row.
            done = changed()
        if done and silent:
            self._parts.remove(take.id)
        try:
            return self.take(take.id)
        except KeyError:
            raise Refused("seat.refused.removed") from None

    def discard(self, take: Take) -> None:
        """Remove a recording's sound. Its row stays: its conversation does not come back, and a disturbance is known."""
        try:
            found = {"disturbed": True} if self.take(take.id).found.get("disturbed") else {}
        except KeyError:
            return  # Its speaker has withdrawn meanwhile.
        self.set_take(take, "discarded", ended={}, found=found, decided={})


def _fits(take: Take, spans: Sequence[Span]) -> bool:
    """True if a recording of these spans is no longer than any may be, gaps and what came twice included."""
    lasts = max(end for _, end in spans) - min(start for start, _ in spans)
    return max(lasts, sum(end - start for start, end in spans)) <= LONGEST_S * take.rate_hz


def _has_sound(kind: TakeKind, state: TakeState) -> bool:
    return state == "open" or (state != "discarded" and kind != "calibration")


def _person(row: sqlite3.Row) -> Person:
    return Person(row["id"], row["seat"], bool(row["automatic"]), row["began_s"], row["tab"])


def _take(row: sqlite3.Row) -> Take:
    as_stored = {name: row[name] for name in ("id", "person", "kind", "what", "tab", "rate_hz", "began_s", "state")}
    return Take(**as_stored, **{name: json.loads(row[name]) for name in ("settings", "ended", "found", "decided")})
