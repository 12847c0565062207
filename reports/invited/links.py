"""Links for invited people: tokens that are given out once and of which only hashes are stored.

A stolen database must open no test, so a token is never on disk, and a link is named everywhere by the first digits of its
hash. A link can be ended at any time, and is checked again at every request.
"""

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.errors import UserError
from harness.wording import when

SCHEMA = """
CREATE TABLE IF NOT EXISTS invitations (hash TEXT PRIMARY KEY, role TEXT NOT NULL, rater TEXT);
CREATE TABLE IF NOT EXISTS link_ends (hash TEXT PRIMARY KEY, expires_s REAL, revoked_s REAL);
"""
LINK_ID = 8
"""Digits of the hash in a link's id: enough to distinguish a few thousand, and useless as the link itself."""
Write = Callable[[], AbstractContextManager[sqlite3.Connection]]
Read = Callable[[str, Sequence[object]], list[sqlite3.Row]]


@dataclass(frozen=True, slots=True)
class Link:
    """The record of a link; `id` names it but does not open the test. `rater`: the person who began with it."""

    id: str
    role: str
    rater: str | None
    expires_s: float | None
    revoked_s: float | None

    def ended(self, now_s: float) -> Literal["revoked", "expired"] | None:
        """The reason why the link has ended; None while it works."""
        if self.revoked_s is not None:
            return "revoked"
        return "expired" if self.expires_s is not None and now_s >= self.expires_s else None

    @property
    def state(self) -> str:
        """Its state in words, for the person who gave it out."""
        ended = self.ended(time.time())
        until = "" if self.expires_s is None or ended else f", until {moment(self.expires_s)}"
        return f"{ended or 'open'}{until}, {f'begun as {self.rater}' if self.rater else 'not used'}"


@dataclass(frozen=True, slots=True)
class Invitation:
    """A new link for one person, whose token is shown once. `path`: of its page on the server."""

    id: str
    role: str
    path: str


class Links:
    """The links in a database. `people`: its table of those who began, with columns `id` and `hash`."""

    def __init__(self, write: Write, read: Read, people: str) -> None:
        self._write = write
        self._read = read
        self._query = (
            f"SELECT invitations.hash, invitations.role, {people}.id AS rater, expires_s, revoked_s FROM invitations "
            f"LEFT JOIN link_ends ON link_ends.hash = invitations.hash LEFT JOIN {people} ON {people}.hash = invitations.hash"
        )

    def invite(self, count: int, role: str, page: str = "", expires_s: float | None = None) -> list[Invitation]:
        """New links to a page, valid until `expires_s` (None: forever); only hashes of their tokens are stored."""
        tokens = [secrets.token_urlsafe(18) for _ in range(count)]
        with self._write() as db:
            db.executemany("INSERT INTO invitations VALUES (?, ?, NULL)", [(hashed(token), role) for token in tokens])
            db.executemany("INSERT INTO link_ends VALUES (?, ?, NULL)", [(hashed(token), expires_s) for token in tokens])
        return [Invitation(hashed(token)[:LINK_ID], role, f"{page}/invitation/{token}") for token in tokens]

    def invited_as(self, token: str) -> Link | None:
        """The link of a token, even if it has ended; None for an unknown token."""
        found = [_link(row) for row in self._read(f"{self._query} WHERE invitations.hash = ?", (hashed(token),))]
        return found[0] if found else None

    def every(self) -> list[Link]:
        """All links in the order of their creation."""
        return [_link(row) for row in self._read(f"{self._query} ORDER BY invitations.rowid", ())]

    def revoke(self, which: str) -> int:
        """End one link (by its id), or `all`, immediately; returns the number of those that ended by it."""
        now_s = time.time()
        ended = [link.id for link in self.every() if which in ("all", link.id) and link.ended(now_s) is None]
        with self._write() as db:
            db.executemany(
                "INSERT INTO link_ends SELECT hash, NULL, ?1 FROM invitations WHERE substr(hash, 1, ?2) = ?3 "
                "ON CONFLICT (hash) DO UPDATE SET revoked_s = ?1 WHERE revoked_s IS NULL",
                [(now_s, LINK_ID, link) for link in ended],
            )
        return len(ended)


def end_links(every: Iterable[tuple[str, Links]], which: str, folder: Path) -> int:
    """End one link (by its id), or `all`, immediately, even while pages are served; returns their number.

    Raises:
        UserError: none has that id, or it has ended already.
    """
    ended = sum(links.revoke(which) for _, links in every)
    if not ended and which != "all":
        raise UserError(f"{which}: {folder} has no open link with this id; harness people list {folder} lists them")
    return ended


def list_links(every: Iterable[tuple[str, Links]]) -> list[str]:
    """A line for each link of some databases by name; the links themselves are not stored."""
    return ["  ".join(filter(None, (link.id, name, link.role, link.state))) for name, links in every for link in links.every()]


def moment(at_s: float) -> str:
    """A time as its reader's clock shows it."""
    return when(datetime.fromtimestamp(at_s, UTC).astimezone())


def hashed(secret: str) -> str:
    """The hash under which a secret is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _link(row: sqlite3.Row) -> Link:
    return Link(row["hash"][:LINK_ID], row["role"], row["rater"], row["expires_s"], row["revoked_s"])
