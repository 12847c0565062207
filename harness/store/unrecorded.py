"""Calls of a load test as they are stored: rows without files, because their sound is removed once it is measured.

A step has hundreds of calls and all its rows are written in one transaction: one flush, and never a part of a step.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from harness.agents.secrets import redact_foreign
from harness.store.session import TIMINGS, SessionKey
from harness.timing.figures import TurnTiming


@dataclass(frozen=True, slots=True)
class UnrecordedCall:
    """One call with its turns; one that failed has a turn if it counts against the agent. Instants are monotonic."""

    key: SessionKey
    started_ns: int
    """The caller's first sample; of a failed call, when it began."""
    turn_timings: tuple[TurnTiming, ...]
    failure_kind: str | None = None
    failure_detail: str = ""
    due_ns: int | None = None
    begun_ns: int | None = None
    ended: str | None = None
    planned_turns: int | None = None
    spoken_turns: int | None = None


def insert_calls(database: sqlite3.Connection, calls: Iterable[UnrecordedCall]) -> None:
    """Store these calls; figures that a turn does not have take no room."""
    columns = (
        *(each.name for each in fields(SessionKey)), "id", "status", "failure_kind", "failure_detail", "started_ns", "due_ns",
        "begun_ns", "ended", "planned_turns", "spoken_turns", "turn_timings",
    )  # fmt: skip
    rows = (
        (
            *asdict(c.key).values(), c.key.session_id, "failed" if c.failure_kind else "finished", c.failure_kind,
            redact_foreign(c.failure_detail), c.started_ns, c.due_ns, c.begun_ns, c.ended, c.planned_turns, c.spoken_turns,
            TIMINGS.dump_json(c.turn_timings, exclude_defaults=True).decode(),
        )
        for c in calls
    )  # fmt: skip
    places = ", ".join("?" * len(columns))
    database.executemany(f"INSERT OR REPLACE INTO sessions ({', '.join(columns)}) VALUES ({places})", rows)
