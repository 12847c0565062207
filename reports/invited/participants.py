"""What each person agreed to, and what they said of themselves, beside their answers and under their pseudonym.

An agreement is to one text. So its study is stored with it, and a person who comes back to another text is asked again. What
somebody says of themselves goes with everything else of theirs when they withdraw.
"""

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from harness.reports.invited.links import Read, Write
from harness.study.study import Answer, Study

SCHEMA = """
CREATE TABLE IF NOT EXISTS studies (version TEXT PRIMARY KEY, study TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS participants (person TEXT PRIMARY KEY, study TEXT NOT NULL, about TEXT, at_s REAL NOT NULL);
"""


class Participants:
    """The agreements in a database, by pseudonym."""

    def __init__(self, write: Write, read: Read) -> None:
        self._write = write
        self._read = read

    def agree(self, person: str, study: Study) -> None:
        """Store that somebody agreed to a study, now; what they said of themselves stays."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO studies VALUES (?, ?)", (study.version, study.model_dump_json()))
            db.execute(
                "INSERT INTO participants VALUES (?1, ?2, NULL, ?3) ON CONFLICT (person) DO UPDATE SET study = ?2, at_s = ?3",
                (person, study.version, time.time()),
            )

    def agreed(self, person: str, study: Study) -> bool:
        """True if somebody agreed to exactly this. Whoever began before studies were stored agreed to the default."""
        rows = self._read("SELECT study FROM participants WHERE person = ?", (person,))
        return (rows[0]["study"] if rows else Study().version) == study.version

    def questions(self, person: str, study: Study) -> list[dict[str, Any]]:
        """The study's questions for the page, once for each person; none after they were answered or left out."""
        rows = self._read("SELECT 1 FROM participants WHERE person = ? AND about IS NOT NULL", (person,))
        return [] if rows else [question.model_dump() for question in study.demographics]

    def say(self, person: str, study: Study, given: Sequence[object]) -> None:
        """Store what somebody says of themselves: an answer for each question, None where they skip it."""
        pairs = zip(study.demographics, given, strict=False)
        about = {question.label: answer for question, text in pairs if (answer := question.answered(text)) is not None}
        with self._write() as db:
            db.execute("UPDATE participants SET about = ? WHERE person = ?", (json.dumps(about), person))

    def every(self) -> dict[str, Mapping[str, Answer]]:
        """Person → what they said of themselves, by the words of the question, in the order of pseudonyms."""
        rows = self._read("SELECT person, about FROM participants WHERE about IS NOT NULL ORDER BY person", ())
        return {row["person"]: json.loads(row["about"]) for row in rows}


def forget_participant(db: sqlite3.Connection, person: str) -> None:
    """Delete the agreement of a person who withdrew."""
    db.execute("DELETE FROM participants WHERE person = ?", (person,))
